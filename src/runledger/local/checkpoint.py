"""``checkpoint.json``: the view as of the last compaction, except the settled steps: the history keeps those.

One JSON document, checksummed like a record, bounded by the open steps and by the state file's foreign text.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Raw

from runledger.errors import DiskRefused, LedgerCorrupt, NewerVersion
from runledger.local.directory import Directory
from runledger.local.layout import CHECKPOINT, FORMAT
from runledger.view import Identity, View

__all__ = ["LARGEST", "decode", "encode", "read", "write"]

LARGEST = 256 << 20
"""In bytes; a larger one is neither written nor read."""

_PREFIX, _SUFFIX = "checkpoint.", ".tmp"
_CRC = b',"crc":"'
_END = len(_CRC) + 8 + len(b'"}\n')


class _Document(msgspec.Struct, tag="checkpoint", tag_field="t", forbid_unknown_fields=True):
    format: int
    view: Raw
    crc: str = ""


_LEFT_OUT = {"settled", "keys"}
"""``settled`` is in the history, ``keys`` follows from ``open``."""

_LEAST = View(ledger="")


@cache  # made for the first checkpoint: most short commands meet none
def _view_decoder() -> msgspec.json.Decoder[Any]:
    """Of all other fields, whatever a view comes to have: one that is forgotten would be lost by compaction."""
    kept = msgspec.defstruct(
        "_Kept",
        [
            (f.name, f.type) if f.required else (f.name, f.type, getattr(_LEAST, f.name))
            for f in msgspec.structs.fields(View)
            if f.name not in _LEFT_OUT
        ],
        forbid_unknown_fields=True,
    )
    return msgspec.json.Decoder(kept)


_encode = msgspec.json.Encoder().encode


def encode(view: View) -> bytes:
    """The checkpoint's text of a view."""
    bare = msgspec.structs.replace(view, settled={}, keys={})
    # Empty fields are left out, so that what stands there is what ``_view_decoder`` knows.
    body = _encode({"t": "checkpoint", "format": FORMAT, "view": bare})[:-1]
    return b'%s%s%08x"}\n' % (body, _CRC, crc32(body))


def decode(data: bytes, name: str) -> View:
    """The view of a checkpoint's text; ``name`` is the file's, for the errors.

    Raises:
        LedgerCorrupt: it is not what was written.
        NewerVersion: it is, by a later version.
    """
    body = data[:-_END]
    if data.startswith(b'{"t":"segment",') or data[-_END:] != b'%s%08x"}\n' % (_CRC, crc32(body)):
        raise _corrupt(name, "checksum does not match")
    try:
        document = msgspec.json.decode(data, type=_Document)
        if document.format > FORMAT:
            raise NewerVersion(f"{name} has format {document.format}, this version reads up to {FORMAT}")
        kept: Any = _view_decoder().decode(document.view)
    except (msgspec.DecodeError, RecursionError) as error:
        raise NewerVersion(f"{name} was written by a later version of runledger: {error}") from error
    view = View(**{field: getattr(kept, field) for field in kept.__struct_fields__})
    if any(lsn != step.lsn for lsn, step in view.open.items()):
        raise _corrupt(name, "a step is listed under the number of another one")
    for lsn, step in sorted(view.open.items()):
        if step.key is not None:
            view.keys[Identity(step.run if step.scope == "run" else "", step.name, step.key)] = lsn
    return view


def _corrupt(name: str, reason: str) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"{name} is damaged: {reason}",
        hint="To see all of it: runledger verify",
        damage=[{"file": name, "offset": 0, "lsn": 0, "reason": reason}],
    )


def read(directory: Directory) -> View | None:
    """The checkpoint of the ledger in ``directory``, None where there is none."""
    data = directory.read(CHECKPOINT, LARGEST)
    return None if data is None else decode(data, f"{directory.path}/{CHECKPOINT}")


def write(directory: Directory, data: bytes) -> None:
    """Replace the checkpoint by an encoded one, durably; for the holder of the compaction lock alone.

    Raises:
        DiskRefused: nothing has changed, or the new one is in place and may not survive a power cut.
    """
    if len(data) > LARGEST:
        raise DiskRefused(
            f"cannot write {directory.path}/{CHECKPOINT}: it would be larger than {LARGEST} bytes",
            path=f"{directory.path}/{CHECKPOINT}",
            errno=None,
        )
    for name in directory.names():
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
            directory.unlink(name)  # of a compaction that was killed
    temporary = f"{_PREFIX}{os.urandom(8).hex()}{_SUFFIX}"
    file = directory.open(temporary, write=True, create=True, exclusive=True)
    assert file is not None
    try:
        try:
            file.pwrite(data, 0)
            file.sync()
        finally:
            file.close()
        directory.rename(temporary, CHECKPOINT)
    except BaseException:
        directory.unlink(temporary)
        raise
    directory.sync()
