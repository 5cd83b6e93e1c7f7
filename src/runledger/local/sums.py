"""The block checksums of a segment, which its seal holds."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from runledger.local.directory import File
from runledger.local.layout import BLOCK_BYTES

if TYPE_CHECKING:
    from runledger.local.pace import Pace

__all__ = ["Sums"]

_AHEAD = 4 * BLOCK_BYTES


class Sums:
    """``blocks`` are the size in bytes and the CRC-32 of each block of ``file`` up to the offset ``end``.

    They may be made while the segment still grows, of bytes that are durable: those do not change any more.
    """

    def __init__(self, file: File) -> None:
        self.file = file
        self.end = 0
        self.blocks: list[tuple[int, str]] = []

    def advance(self, durable: int, pace: Pace) -> None:
        """Sum up what is whole of it below the offset ``durable``, a little at a time; no lock is needed.

        Raises:
            DiskRefused: it cannot be read, or is closed by now.
        """
        while True:
            size = min(_AHEAD, durable - self.end)
            before = self.end
            self._sum(self.file.pread(size, before), last=False)
            if self.end == before:
                return
            pace.turn()

    def finish(self, offset: int) -> None:
        """Sum up the rest, up to where the segment ends."""
        self._sum(self.file.pread(offset - self.end, self.end), last=True)

    def _sum(self, data: bytes, *, last: bool) -> None:
        """A block ends with the line in which its last byte lies, or with the segment."""
        begin = 0
        while begin < len(data) and (last or begin + BLOCK_BYTES < len(data)):
            end = data.find(b"\n", min(begin + BLOCK_BYTES, len(data) - 1)) + 1
            if not end:
                break  # a line that is longer than what was read
            self.blocks.append((end - begin, f"{crc32(memoryview(data)[begin:end]):08x}"))
            begin = end
        self.end += begin
