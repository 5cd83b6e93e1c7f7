"""One line of a segment: bytes <-> record, header and seal.

A line's checksum covers the bytes before its last member, seeded with its segment's id. So it binds a record to its
segment: an old block of another file, or a ledger stored as a step's result, never passes.
"""

# No postponed annotations: see record.py.
import re
from zlib import crc32

import msgspec

from runledger.errors import NewerVersion
from runledger.local.layout import FORMAT
from runledger.record import Record

__all__ = [
    "BadLine",
    "Header",
    "Seal",
    "all_checked",
    "decode",
    "decode_many",
    "encode",
    "header_of",
    "line_of",
    "seal_of",
    "seed_of",
]

_CRC = b',"crc":"'
_CRC_BYTES = len(_CRC) + 8 + 2

_encode_json = msgspec.json.Encoder().encode
_decode_record = msgspec.json.Decoder(Record)


class Header(msgspec.Struct, tag="segment", tag_field="t", omit_defaults=True, forbid_unknown_fields=True):
    """A segment's first line. ``steps`` counts the intents before it, ``previous`` is the segment before it."""

    format: int
    ledger: str
    segment: str
    first: int
    at: str
    steps: int = 0
    previous: str | None = None
    crc: str = ""


class Seal(msgspec.Struct, tag="seal", tag_field="t", omit_defaults=True, forbid_unknown_fields=True):
    """A sealed segment's last line: the checksum of each block of whole lines, from the file's first byte on."""

    records: int
    blocks: list[tuple[int, str]]
    crc: str = ""


_decode_header = msgspec.json.Decoder(Header)


class BadLine(ValueError):
    """A line that is not what was written.

    ``whole`` where it still is one JSON object, or has its end: no torn write leaves that.
    """

    def __init__(self, reason: str, *, whole: bool = False) -> None:
        super().__init__(reason)
        self.whole = whole


def seed_of(segment: str) -> int:
    """The checksum seed of a segment, by its id."""
    return crc32(segment.encode())


def line_of(struct: msgspec.Struct, seed: int) -> bytes:
    """The finished line of a record, header or seal, with its checksum and line feed."""
    body = _encode_json(struct)[:-1]
    return b'%s,"crc":"%08x"}\n' % (body, crc32(body, seed))


encode = line_of


def all_checked(lines: list[bytes], seed: int) -> bool:
    """Whether the checksum of each line holds."""
    return all(line[-_CRC_BYTES:] == b',"crc":"%08x"}' % crc32(line[:-_CRC_BYTES], seed) for line in lines)


def _checked(line: bytes, seed: int) -> bool:
    return (
        line[-_CRC_BYTES:-10] == _CRC
        and line[-2:] == b'"}'
        and line[-10:-2] == b"%08x" % crc32(memoryview(line)[:-_CRC_BYTES], seed)
    )


_WRITTEN_TO_ITS_END = rb'\{"t":"[^\x00-\x1f]*,"crc":"[^\x00-\x1f]{8}"\}'


def _bad(line: bytes) -> BadLine:
    if re.fullmatch(_WRITTEN_TO_ITS_END, line):
        return BadLine("checksum does not match", whole=True)
    try:
        whole = line[:5] == b'{"t":' and isinstance(msgspec.json.decode(line), dict)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        whole = False
    return BadLine("checksum does not match" if whole else "not a whole record", whole=whole)


def _newer(what: str, error: Exception) -> NewerVersion:
    if isinstance(error, RecursionError):
        # Not damage: of a line of ours it is the caller's stack that is nearly used up.
        return NewerVersion(
            f"{what} nests deeper than can be read here",
            hint="No version of runledger writes more than 200 levels. If your program is deep inside calls, "
            "open the ledger higher up.",
        )
    return NewerVersion(f"{what} was written by a later version of runledger: {error}")


def decode(line: bytes, seed: int, what: str = "a record") -> Record:
    """The record of a line without its line feed; ``what`` it is, for the errors.

    Raises:
        BadLine: the checksum does not match.
        NewerVersion: it matches, and the kind or a field is unknown.
    """
    if not _checked(line, seed):
        raise _bad(line)
    try:
        return _decode_record.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _newer(what, error) from error


def decode_many(lines: memoryview) -> list[Record]:
    """The records of a block whose own checksum was verified."""
    try:
        return _decode_record.decode_lines(lines)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _newer("a record", error) from error


def header_of(line: bytes) -> Header:
    """A segment's header, by its first line.

    Raises:
        BadLine: damaged; a header is written before the segment gets its name, so no crash leaves it unfinished.
        NewerVersion: a later format.
    """
    good = _checked(line, 0) and line.startswith(b'{"t":"segment",')
    try:
        version = msgspec.json.decode(line, type=_FormatOnly).format
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        version = None
    if version is not None and version > FORMAT:
        raise NewerVersion(f"a segment has format {version}, this version reads up to {FORMAT}")
    if not good:
        raise BadLine("the segment's header is damaged", whole=True)
    try:
        return _decode_header.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _newer("a segment's header", error) from error


class _FormatOnly(msgspec.Struct):
    format: int


def seal_of(line: bytes, seed: int, what: str = "a segment's seal") -> Seal | None:
    """The seal of a segment, None where the line is not a sound one; ``what`` it is, for the errors."""
    if line[:11] != b'{"t":"seal"' or not _checked(line, seed):
        return None
    try:
        return msgspec.json.decode(line, type=Seal)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _newer(what, error) from error
