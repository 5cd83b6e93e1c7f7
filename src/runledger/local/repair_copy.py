"""Copies of a spoiled ledger's files, whole and synced; what one bit explains is put right on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from zlib import crc32

from runledger.errors import DiskRefused
from runledger.local import frame
from runledger.local.directory import Directory, File, is_misshapen
from runledger.local.frame import Seal
from runledger.local.layout import OWNERS, RESULTS, segment_name
from runledger.local.mending import is_sound
from runledger.local.repair_read import CHUNK, Lines, opened, pread
from runledger.local.repair_segments import Found
from runledger.local.segment import seal_in

__all__ = ["copy_file", "copy_folders", "copy_segment", "write_file"]

_TAIL = 18


def copy_segment(
    source: Directory, found: Found, target: Directory, *, sealed: bool
) -> tuple[list[int], bool]:
    """Copy a segment under its right name; one that must be ``sealed`` and is not gets a seal that says nothing.

    Returns the offsets in ``source`` of the bytes that were put right, and whether the seal had to be made.
    """
    assert found.header is not None
    file = opened(source, found.name)
    assert file is not None
    lines = Lines(file, found.start, found.seed)
    header, seed = frame.line_of(found.header, 0), frame.seed_of(found.header.segment)
    try:
        pieces = lines.pieces() if seed == found.seed else _begun_with(lines.pieces(), found.seed, seed)
        write_file(target, segment_name(found.header.first), _joined(header, pieces))
    finally:
        file.close()
    return lines.put_right, sealed and _seal(target, segment_name(found.header.first), seed)


def _seal(target: Directory, name: str, seed: int) -> bool:
    file = target.open(name, write=True)
    assert file is not None
    try:
        if seal_in(file, seed) is not None:
            return False
        size = file.stat().size
        feed = b"" if file.pread(1, size - 1) == b"\n" else b"\n"
        file.pwrite(feed + frame.line_of(Seal(records=0, blocks=[]), seed), size)
        file.sync()
    finally:
        file.close()
    return True


def _begun_with(pieces: Iterable[bytes], was: int, seed: int) -> Iterator[bytes]:
    """The same lines with checksums that begin with another seed."""
    for piece in pieces:
        for line in piece.splitlines(keepends=True):
            if is_sound(line[:-1], was):
                body = line[: -_TAIL - 1]
                yield b'%s,"crc":"%08x"}\n' % (body, crc32(body, seed))
            else:
                yield line


def _joined(first: bytes, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces that are worth a call."""
    some, size = [first], len(first)
    for piece in pieces:
        some.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield b"".join(some)
            some, size = [], 0
    yield b"".join(some)


def write_file(target: Directory, name: str, pieces: Iterable[bytes]) -> None:
    """A new file of these bytes, synced; its name is durable with the directory's sync."""
    file = target.open(name, write=True, create=True, exclusive=True)
    assert file is not None
    try:
        offset = 0
        for piece in pieces:
            file.pwrite(piece, offset)
            offset += len(piece)
        file.sync()
    finally:
        file.close()


def copy_file(source: Directory, name: str, target: Directory) -> None:
    """Copy a file as it is, where it is one."""
    file = opened(source, name)
    if file is not None:
        try:
            write_file(target, name, _chunks(file))
        finally:
            file.close()


def _chunks(file: File) -> Iterator[bytes]:
    offset = 0
    while data := pread(file, CHUNK, offset):
        yield data
        offset += len(data)


def copy_folders(source: Directory, target: Directory) -> list[str]:
    """The kept results as they are, and the names of the owners: a lock that is free proves a death. Returns the names
    that no folder stands under."""
    odd = []
    for name in (RESULTS, OWNERS):
        try:
            before = source.child(name)
        except DiskRefused as error:
            if not is_misshapen(error):
                raise
            odd.append(name)
            continue
        if before is not None:
            _copy_folder(before, target, name)
    return odd


def _copy_folder(before: Directory, target: Directory, name: str) -> None:
    after = target.child(name, create=True)
    assert after is not None
    try:
        for one in before.names():
            copy_file(before, one, after)
        after.sync()
    finally:
        before.close()
        after.close()
