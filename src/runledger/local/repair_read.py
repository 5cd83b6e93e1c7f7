"""Reading files of which nothing is certain: what is no regular file, what the disk refuses, what one bit spoiled."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from runledger.errors import DiskRefused
from runledger.local.directory import Directory, File, is_misshapen
from runledger.local.layout import LONGEST_LINE
from runledger.local.mending import is_sound, mended_run

__all__ = ["Lines", "is_odd", "opened", "pread", "small"]

CHUNK = 1 << 20
BLOCK = 4 << 10
LONGEST_RUN = 4 << 20
"""In bytes; bad lines are put right together up to here."""


def opened(directory: Directory, name: str) -> File | None:
    """The file, None where it is missing or none.

    Raises:
        DiskRefused: for a cause that is not the file's own, such as a permission.
    """
    try:
        return directory.open(name)
    except DiskRefused as error:
        if is_misshapen(error):
            return None
        raise


def is_odd(directory: Directory, name: str) -> bool:
    """Whether something that is no file stands under the name of one."""
    file = opened(directory, name)
    if file is not None:
        file.close()
    return file is None and directory.stat(name) is not None


def pread(file: File, size: int, offset: int) -> bytes:
    """As ``File.pread``, with zeros for blocks that the disk cannot read any more."""
    try:
        return file.pread(size, offset)
    except DiskRefused as error:
        if error.__dict__.get("errno") != errno.EIO:
            raise
    size = min(size, max(0, file.stat().size - offset))
    return b"".join(_block(file, min(BLOCK, size - at), offset + at) for at in range(0, size, BLOCK))


def _block(file: File, size: int, offset: int) -> bytes:
    try:
        return file.pread(size, offset)
    except DiskRefused:
        return bytes(size)


def small(directory: Directory, name: str, limit: int) -> bytes | None:
    """The whole of a small file, None where it is missing, none, or too large."""
    file = opened(directory, name)
    if file is None:
        return None
    try:
        data = pread(file, min(limit, file.stat().size) + 1, 0)
    finally:
        file.close()
    return data if len(data) <= limit else None


class Lines:
    """The lines of a segment in pieces, bad ones put right where one bit explains them; ``put_right`` says where."""

    def __init__(self, file: File, offset: int, seed: int) -> None:
        self._file = file
        self._offset = offset
        self._seed = seed
        self.put_right: list[int] = []

    def pieces(self) -> Iterator[bytes]:
        """Everything from the offset on, in order; what was put right is as long as what stood there."""
        bad, at = b"", self._offset
        for line in self._lines():
            if (line[-1:] == b"\n" and is_sound(line[:-1], self._seed)) or not line.strip(b"\n\0"):
                yield self._mended(bad, at - len(bad))
                yield line
                bad = b""
            else:
                bad += line
            at += len(line)
            if len(bad) > LONGEST_RUN:
                yield self._mended(bad, at - len(bad))
                bad = b""
        yield self._mended(bad, at - len(bad))

    def _mended(self, bad: bytes, begin: int) -> bytes:
        better = mended_run(bad, self._seed) if bad else None
        if better is None:
            return bad
        self.put_right += [begin + at for at, (a, b) in enumerate(zip(bad, better, strict=True)) if a != b]
        return better

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        at = self._offset
        while data := pread(self._file, CHUNK, at):
            at += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line + b"\n"
            if len(rest) > LONGEST_LINE:
                yield rest
                rest = b""
        if rest:
            yield rest
