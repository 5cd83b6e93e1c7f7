"""What the rows of the history hold, and the checksums that bind them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import msgspec

from runledger.errors import LedgerCorrupt, NewerVersion
from runledger.local.layout import FORMAT
from runledger.view import Identity, Settled

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "CHECKPOINT_ROW",
    "DIGESTS",
    "FACTS_ROW",
    "SCHEMA",
    "Facts",
    "Row",
    "corrupt",
    "crc_of",
    "digest_of",
    "encode_facts",
    "entry_of",
    "facts_in",
    "hashes_of",
    "identity_of",
    "meta_row",
    "row_of",
]

SCHEMA = """
CREATE TABLE meta (id INTEGER PRIMARY KEY, body BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE outcomes (lsn INTEGER PRIMARY KEY, entry BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE keys (id BLOB PRIMARY KEY, lsn INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE witness (id BLOB PRIMARY KEY) WITHOUT ROWID;
"""
"""Outcomes are appended; only the two trees of hashes, which are small, are written all over."""

FACTS_ROW, CHECKPOINT_ROW = 1, 2

DIGESTS = 1 << 128


class Facts(msgspec.Struct, forbid_unknown_fields=True):
    """What the history says of itself: folded up to ``lsn``, ``count`` steps, the digest of their set."""

    format: int
    ledger: str
    lsn: int = 0
    count: int = 0
    digest: str = "0" * 32
    folds: int = 0


class _Format(msgspec.Struct):
    format: int


class Row(NamedTuple):
    """An outcome as it is stored: found by ``id``, known to the witness as ``other``."""

    id: bytes
    other: bytes
    lsn: int
    entry: bytes


_new = tuple.__new__
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Settled).decode
_decode_format = msgspec.json.Decoder(_Format).decode
_decode_facts = msgspec.json.Decoder(Facts).decode


def corrupt(path: str, reason: str) -> LedgerCorrupt:
    """The history is not what was written."""
    return LedgerCorrupt(
        f"{path} is damaged: {reason}",
        hint="To see all of it: runledger verify",
        damage=[{"file": path, "offset": 0, "lsn": 0, "reason": reason}],
    )


def encode_facts(facts: Facts) -> tuple[bytes, int]:
    """The body of the facts, and its checksum."""
    body = _encode(facts)
    return body, crc32(body)


def _facts_of(path: str, body: bytes) -> Facts:
    """The facts of a body whose checksum is right."""
    try:
        version = _decode_format(body).format
        if version > FORMAT:
            raise NewerVersion(f"{path} has format {version}, this version reads up to {FORMAT}")
        return _decode_facts(body)
    except msgspec.DecodeError as error:
        raise NewerVersion(f"{path} was written by a later version of runledger: {error}") from error


def facts_in(path: str, cursor: sqlite3.Cursor) -> Facts:
    """What the history says of itself."""
    return _facts_of(path, meta_row(path, cursor, FACTS_ROW))


def meta_row(path: str, cursor: sqlite3.Cursor, row: int) -> bytes:
    """A row that there is one of, its checksum proved."""
    found = cursor.execute("SELECT body, crc FROM meta WHERE id = ?", (row,)).fetchone()
    if found is None or type(found[0]) is not bytes or crc32(found[0]) != found[1]:
        raise corrupt(path, "what it says of itself does not match its checksum")
    body: bytes = found[0]
    return body


@cache
def _hash() -> Any:
    from hashlib import blake2b  # not at the top: a ledger without a history needs none

    return blake2b


def hashes_of(identity: Identity) -> tuple[bytes, bytes]:
    """Two independent hashes of a step's identity: for the outcome's row, and for the witness."""
    scope, name, key = identity
    text = f"{len(scope)}:{len(name)}:{scope}{name}{key}"
    both = _hash()(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    return both[:16], both[16:]


def identity_of(step: Settled) -> Identity:
    """The identity of a keyed step."""
    return _new(Identity, (step.run if step.scope == "run" else "", step.name, step.key or ""))


def row_of(step: Settled) -> Row:
    """The row of an outcome."""
    key, other = hashes_of(identity_of(step))
    return Row(key, other, step.lsn, _encode(step))


def crc_of(key: bytes, entry: bytes) -> int:
    """The checksum of an outcome's row."""
    return crc32(entry, crc32(key))


def entry_of(path: str, key: bytes, entry: object, crc: int) -> Settled:
    """The outcome that a row holds, whichever step it is of."""
    if type(entry) is not bytes or type(key) is not bytes or crc_of(key, entry) != crc:
        raise corrupt(path, f"the checksum of step {key!r} does not match")
    try:
        return _decode(entry)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NewerVersion(f"{path}: a step was written by a later version: {error}") from error


def digest_of(key: bytes, entry: bytes) -> int:
    """A row's part in the digest of the set: a sum, so that rows come and go in any order."""
    return int.from_bytes(_hash()(entry, digest_size=16, key=key).digest(), "big")
