"""Reading a segment: from bytes to records, and one verdict on where they stop.

What a crash leaves (a torn tail) and what it never leaves (damage) are told apart here, and only here:

- In a sealed segment every bad byte is damage, since the segment was whole and synced before the next one existed.
- In the last segment bad bytes are damage when a later valid record was written knowing that they were durable, or when
  they still are one whole JSON object, or would be sound but for one bit: a torn write cannot give that. Otherwise they
  are unsynced writes of a crash.

A valid record beyond a hole proves nothing by itself: syncs may persist a later write and lose an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from zlib import crc32

import msgspec

from runledger.errors import NewerVersion
from runledger.local import frame
from runledger.local.directory import File
from runledger.local.frame import BadLine, Header
from runledger.local.layout import LONGEST_LINE
from runledger.local.mending import is_sound, mended_run
from runledger.local.salvage import Walk, damage_at, may_be_intent
from runledger.record import Intent, Record
from runledger.view import Damage

__all__ = [
    "Lines",
    "TornTail",
    "is_sealed_at",
    "read_sealed",
    "read_tail",
    "scan",
    "seal_in",
]

CHUNK = 1 << 20

TOGETHER = 700
"""Lines of so many bytes are decoded together, fewer one by one."""

_FILLER = b"\n\0"
_SEAL = b'{"t":"seal"'


class TornTail(msgspec.Struct, frozen=True):
    """Unsynced writes of a crash: ``size`` bytes from ``offset`` on that are no record."""

    offset: int
    size: int


class Lines(msgspec.Struct, frozen=True):
    """A stretch of good lines: records, where each begins, and where the last one ends."""

    records: list[Record]
    offsets: list[int]
    end: int
    bad: BadLine | None


def scan(data: bytes, base: int, seed: int, walk: Walk, path: str = "") -> Lines:
    """The good lines at the start of ``data`` (at offset ``base`` of ``path``), up to filler, an unfinished line or a
    bad one."""
    records, offsets, at = _sound_start(data, base, seed, walk)
    decode = frame.decode
    while True:
        end = data.find(b"\n", at)
        if end <= at or data.startswith(_SEAL, at):
            break
        try:
            record = decode(data[at:end], seed)
        except BadLine as bad:
            return Lines(records, offsets, base + at, bad)
        except NewerVersion as error:
            where = f"{path}, offset {base + at}, LSN {walk.lsn + 1}"
            raise NewerVersion(f"{where}: {error.message}", hint=error.hint) from error
        if record.lsn != walk.lsn + 1:
            return Lines(
                records, offsets, base + at, BadLine(f"LSN {record.lsn} where {walk.lsn + 1} is due")
            )
        walk.lsn = record.lsn
        walk.steps = record.steps
        records.append(record)
        offsets.append(base + at)
        at = end + 1
    return Lines(records, offsets, base + at, None)


def _sound_start(data: bytes, base: int, seed: int, walk: Walk) -> tuple[list[Record], list[int], int]:
    """All lines up to the filler, decoded together, and where they end: where there are many and each is sound; else
    none, and they are looked at one by one."""
    end = data.find(b"\n\n") + 1 or data.rfind(b"\n") + 1
    if end < TOGETHER:
        return [], [], 0
    block = data[:end]
    lines = block.split(b"\n")[:-1]
    if lines[-1].startswith(_SEAL):
        block = block[: -len(lines.pop()) - 1]
    if not lines or not frame.all_checked(lines, seed):
        return [], [], 0
    try:
        records = frame.decode_many(memoryview(block))
    except NewerVersion:
        return [], [], 0  # line by line will tell which it is
    if (
        records[0].lsn != walk.lsn + 1
        or records[-1].lsn != walk.lsn + len(records)
        or len(records) != len(lines)
    ):
        return [], [], 0
    walk.lsn, walk.steps = records[-1].lsn, records[-1].steps
    return records, list(accumulate((len(line) + 1 for line in lines[:-1]), initial=base)), len(block)


def read_sealed(
    file: File, header: Header, start: int, walk: Walk, last: int, steps_after: int
) -> Iterator[list[Record | Damage]]:
    """All of a sealed segment, whose last record must be ``last``; memory is bounded by a block.

    Blocks whose checksum holds are decoded whole; any other is read line by line.
    """
    seed = frame.seed_of(header.segment)
    size = file.stat().size
    offset = 0
    seal = seal_in(file, seed)
    for length, checksum in seal.blocks if seal is not None else ():
        if not 0 < length <= size - offset:
            break
        data = file.pread(length, offset)
        if len(data) != length or checksum != f"{crc32(data):08x}":
            break
        try:
            records = frame.decode_many(memoryview(data)[start:] if offset == 0 else memoryview(data))
        except NewerVersion:
            break  # or damage that was there before the seal: line by line will tell
        if records:
            if records[0].lsn != walk.lsn + 1 or records[-1].lsn != walk.lsn + len(records):
                break
            walk.lsn, walk.steps = records[-1].lsn, records[-1].steps
            yield records  # type: ignore[misc]  # a list of records is read as one of items
        offset += length
    offset = max(offset, start)
    if walk.lsn < last:
        yield from _read_lines(file, seed, offset, size, walk, last, steps_after)


def seal_in(file: File, seed: int) -> frame.Seal | None:
    """The seal at the end of a segment, None where there is no sound one."""
    size = file.stat().size
    tail = file.pread(min(size, 256 << 10), max(0, size - (256 << 10)))
    begin = tail.rfind(b"\n", 0, len(tail) - 1) + 1
    return _seal_of(file, tail[begin:-1], seed) if tail.endswith(b"\n") else None


def _read_lines(
    file: File, seed: int, offset: int, size: int, walk: Walk, last: int, steps_after: int
) -> Iterator[list[Record | Damage]]:
    """A sealed segment line by line: every stretch of bad bytes becomes one ``Damage`` up to the next good record."""
    while walk.lsn < last:
        data = _whole_lines(file, offset, size)
        if offset + len(data) == size and not data.endswith(b"\n"):
            data += b"\n"  # a last line may have lost nothing but its line feed
        lines = scan(data, offset, seed, walk, file.path)
        end = min(lines.end, size)
        if lines.records:
            yield list(lines.records)
        if lines.bad is None and end > offset and end < size:
            offset = end
            continue
        if lines.bad is None and is_sealed_at(file, end, seed):
            return
        found = _next_good(file, end, size, seed, walk.lsn)
        upto, steps, resume = (last, steps_after, size) if found is None else found
        if upto > walk.lsn:
            reason = str(lines.bad) if lines.bad is not None else "records are missing"
            yield [damage_at(file, end, resume, walk, min(upto, last), steps, reason)]
        offset = resume


def _whole_lines(file: File, offset: int, size: int) -> bytes:
    """The next chunk, extended until it holds a whole line."""
    want = CHUNK
    while True:
        data = file.pread(min(want, size - offset), offset)
        cut = data.rfind(b"\n") + 1
        if cut or len(data) < want or want >= LONGEST_LINE:
            return data[:cut] if cut else data
        want *= 4


def _next_good(file: File, offset: int, size: int, seed: int, after: int) -> tuple[int, int, int] | None:
    """The next valid record numbered beyond ``after + 1``: the last LSN lost before it, the intents up to there, and
    where it begins."""
    for begin, record in _good_lines(file, offset, size, seed):
        if record.lsn > after:
            return record.lsn - 1, record.steps - (type(record) is Intent), begin
    return None


def _good_lines(file: File, offset: int, size: int, seed: int) -> Iterator[tuple[int, Record]]:
    while offset < size:
        data = _whole_lines(file, offset, size)
        if not data:
            return
        at = 0
        for line in data.split(b"\n"):
            if line[:5] == b'{"t":' and not line.startswith(_SEAL):
                with suppress(BadLine):
                    yield (
                        offset + at,
                        frame.decode(line, seed, f"{file.path}, offset {offset + at}: a record"),
                    )
            at += len(line) + 1
        offset += len(data)


def read_tail(file: File, header: Header, start: int, walk: Walk) -> Iterator[Lines | Damage | TornTail]:
    """The last segment from ``start`` on: its lines, damage among them, and at the end what a crash left, if
    anything."""
    seed = frame.seed_of(header.segment)
    size = file.stat().size
    offset = start
    while offset < size:
        data = _whole_lines(file, offset, size)
        lines = scan(data, offset, seed, walk, file.path)
        if lines.records:
            yield lines
        more = lines.bad is None and lines.end - offset == len(data) and len(data) > 0
        offset = lines.end
        if more:
            continue
        size_bad = _content_end(file, offset, size) - offset
        if size_bad <= 0 or is_sealed_at(file, offset, seed):
            return
        found = _proof(file, offset, size, seed, walk.lsn) or _untorn(file, offset, seed, walk, lines.bad)
        if scan(_whole_lines(file, offset, size), offset, seed, Walk(walk.lsn, walk.steps)).records:
            continue  # a writer has put the next record here since it was looked at
        if found is None:
            yield TornTail(offset, size_bad)
            return
        yield damage_at(
            file, offset, found[2], walk, found[0], found[1], str(lines.bad or "records are missing")
        )
        offset = found[2]
        yield Lines([], [], offset, None)


def _untorn(
    file: File, offset: int, seed: int, walk: Walk, bad: BadLine | None
) -> tuple[int, int, int] | None:
    """As ``_proof``, of bad bytes at the end that no torn write leaves: one JSON object, or whole but for one bit."""
    lines = file.pread(CHUNK, offset).split(b"\n", 2)
    feed = b"\n" if len(lines) > 1 else b""
    if bad is not None and bad.whole:
        following = _next_good(file, offset, file.stat().size, seed, walk.lsn)
        end = offset + len(lines[0] + feed)
        return following or (walk.lsn + 1, walk.steps + may_be_intent(lines[0]), end)
    for data in (lines[0] + feed, b"\n".join(lines[:2]) + b"\n" * (len(lines) > 2)):
        last = _last_in(mended_run(data, seed), seed)
        if last is not None and last.lsn > walk.lsn:
            return last.lsn, last.steps, offset + len(data)
    return None


def _last_in(data: bytes | None, seed: int) -> Record | None:
    """The last record of a stretch that was mended."""
    for line in reversed((data or b"").split(b"\n")):
        if is_sound(line, seed) and not line.startswith(_SEAL):
            return frame.decode(line, seed)
    return None


def is_sealed_at(file: File, offset: int, seed: int) -> bool:
    """Whether a sound seal stands at ``offset``: the segment is finished, the next one takes what follows."""
    if file.pread(len(_SEAL), offset) != _SEAL:
        return False
    line = file.pread(256 << 10, offset).split(b"\n", 1)[0]
    return _seal_of(file, line, seed) is not None


def _seal_of(file: File, line: bytes, seed: int) -> frame.Seal | None:
    return frame.seal_of(line, seed, f"{file.path}: its seal")


def _proof(file: File, offset: int, size: int, seed: int, after: int) -> tuple[int, int, int] | None:
    """The next good record, if some record beyond the hole was written when the hole was known durable."""
    first: tuple[int, int, int] | None = None
    for begin, record in _good_lines(file, offset, size, seed):
        if record.lsn <= after:
            continue
        if first is None:
            first = record.lsn - 1, record.steps - (type(record) is Intent), begin
        if record.durable > after:
            return first
    return None


def _content_end(file: File, offset: int, size: int) -> int:
    """Where the last byte that is not filler ends."""
    end = offset
    while offset < size:
        data = file.pread(min(CHUNK, size - offset), offset)
        if not data:
            break
        kept = len(data.rstrip(_FILLER))
        if kept:
            end = offset + kept
        offset += len(data)
    return end
