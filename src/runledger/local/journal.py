"""The segments of one ledger, appended to at the tail.

Callers serialise; ``append`` and what leads to it happen under the append lock. After an exception inside them the
journal's idea of the tail is worthless: it is thrown away and loaded again.
"""

from __future__ import annotations

import errno
import os

from runledger.clock import now
from runledger.errors import DiskRefused, UsageError
from runledger.local import frame
from runledger.local.directory import Directory
from runledger.local.frame import Header, Seal
from runledger.local.journal_reading import CHECKSUM_BYTES, Behind, JournalReader, segments
from runledger.local.layout import (
    EXTENT,
    FIRST_EXTENT,
    FORMAT,
    LONGEST_LINE,
    RESERVE,
    SEGMENT_BYTES,
    segment_name,
)
from runledger.local.opening import corrupt
from runledger.local.sums import Sums
from runledger.record import Intent, Record, Torn

__all__ = ["Behind", "Journal", "segments"]


class Journal(JournalReader):
    """The position of one writer in the journal of ``directory``.

    ``segment_bytes`` is where a segment ends, ``pending`` are the lines that ``append`` writes, ``sums`` the checksums
    of the segment that were made ahead, if any; those of another one are made anew.
    """

    def __init__(
        self, directory: Directory, ledger: str, *, write: bool, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        super().__init__(directory, ledger, write=write)
        self.segment_bytes = segment_bytes
        self.pending: list[bytes] = []
        self._pending_bytes = 0
        self.sums: Sums | None = None

    # --- recovery -----------------------------------------------------------------------------------------------

    def recover(self) -> Torn | None:
        """Under the append lock: make the tail writable. The torn bytes become filler, durably, before anything is
        appended: so no later crash can bring a piece of them back behind a new record."""
        torn, self.torn, self.clean = self.torn, None, True
        if torn is None or self.file is None:
            self._fill()
            return None
        self.file.pwrite(b"\n" * (self.file.stat().size - torn.offset), torn.offset)
        self.file.datasync()
        return Torn(
            lsn=0, at="", segment=self.file.path.rpartition("/")[2], offset=torn.offset, size=torn.size
        )

    def _fill(self) -> None:
        """A crash may leave an extension whose size grew before its filler: no record was there. What damage left of
        the last line may lack its line feed: the next record must not be glued to it."""
        if self.file is None or self.sealed:
            return
        if self.file.pread(1, self.offset - 1) != b"\n":
            self.file.pwrite(b"\n", self.offset)
            self.offset += 1
            self._last = b""
        if self.file.pread(1, self.offset) == b"\0":
            self.file.pwrite(b"\n" * (self.file.stat().size - self.offset), self.offset)
            self.file.datasync()

    def rewrite(self) -> None:
        """Under the append lock: write again what was read and is not known to be durable. After a failed sync the
        page cache holds pages marked clean that never reached the disk: only a fresh write gets them there.

        Raises:
            DiskRefused: the cache has dropped some of them meanwhile; what is left must not become durable.
        """
        if self.unproven and self.file is not None:
            begin = self.unproven[0][1]
            data = self.file.pread(self.offset - begin, begin)
            starts = [at - begin for _, at in self.unproven]
            lines = [data[at : data.find(b"\n", at)] for at in starts]
            if not frame.all_checked(lines, self.seed):
                raise DiskRefused(
                    f"cannot write {self.file.path} again: records that were read from it are gone",
                    hint="A sync failed, and they never reached the disk. Open the ledger again.",
                    path=self.file.path,
                    errno=errno.EIO,
                )
            self.file.pwrite(data, begin)
            self.unproven = []

    # --- appending ----------------------------------------------------------------------------------------------

    def stamp(self, record: Record) -> None:
        """Give a record its number and keep its line for ``append``.

        Raises:
            UsageError: its line would be longer than a reader takes; it has no number then.
        """
        if self.file is None or self.sealed or self.offset + self._pending_bytes >= self.segment_bytes:
            self.append()
            self._roll()
        self.lsn += 1
        record.lsn = self.lsn
        record.at = now()
        record.durable = self.durable
        is_intent = type(record) is Intent
        if is_intent:
            self.steps += 1
        record.steps = self.steps
        line = frame.encode(record, self.seed)
        if len(line) > LONGEST_LINE:
            self.lsn -= 1
            self.steps -= is_intent
            raise UsageError(f"a record of {len(line)} bytes is too long: it may have {LONGEST_LINE}")
        self.pending.append(line)
        self._pending_bytes += len(line)
        if is_intent and self.offset + self._pending_bytes + RESERVE > self.capacity:
            self._reserve(RESERVE)

    def _reserve(self, more: int) -> None:
        """Have filler for what is pending and ``more`` bytes, in whole extents.

        Raises:
            DiskRefused: no room; nothing of what is pending was written.
        """
        assert self.file is not None
        need = self.offset + self._pending_bytes + more
        if need <= self.capacity:
            return
        self.capacity = self.file.stat().size
        if need > self.capacity:
            extent = FIRST_EXTENT if self.capacity < EXTENT else EXTENT
            grown = -(-need // extent) * extent
            self.file.pwrite(b"\n" * (grown - self.capacity), self.capacity)
            self.capacity = grown

    def append(self, *, begin: bool = False) -> None:
        """Write what is pending in one call; durable after ``File.datasync``, which is to follow soon where the disk is
        told to ``begin``.

        Raises:
            DiskRefused: nothing of it may be relied on.
        """
        if self.file is not None and not self.named:
            # Whoever gave the segment its name may have died before it synced the directory.
            self.directory.sync()
            self.named = True
        if not self.pending:
            return
        assert self.file is not None
        data = b"".join(self.pending)
        if self.offset + len(data) > self.capacity:
            try:
                self._reserve(0)
            except DiskRefused:
                if self.offset + len(data) > self.file.stat().size:
                    raise
        self.file.pwrite(data, self.offset)
        if begin:
            self.file.begin_writeback(len(data), self.offset)
        self.offset += len(data)
        self._last = data[-CHECKSUM_BYTES:]
        self.pending = []
        self._pending_bytes = 0

    def begin(self) -> None:
        """Make the first segment of a new ledger."""
        self._roll()

    def roll(self) -> None:
        """End the segment and begin the next, unless it holds no record yet."""
        if self.header is not None and self.lsn >= self.header.first:
            self._roll()

    def roll_behind(self, lsn: int, steps: int) -> None:
        """End the segment and begin the next behind ``lsn``: up to there every number is written or lost."""
        if self.header is not None and not self.sealed and self.header.first == lsn + 1:
            return  # it holds no record yet
        if self.file is not None:
            self._finish() if self.sealed else self._seal()
        self.sealed = True
        self.lsn, self.steps = lsn, steps
        self._roll()

    def _roll(self) -> None:
        """Order: the old segment is whole and synced before the next one has a name; a name is given to a file that is
        already synced, so a segment's header is never unfinished."""
        if self.file is not None:
            self._finish() if self.sealed else self._seal()
        self.sealed = True
        first = self.lsn + 1
        header = Header(
            format=FORMAT,
            ledger=self.ledger,
            segment=os.urandom(8).hex(),
            first=first,
            at=now(),
            steps=self.steps,
            previous=self.header.segment if self.header is not None else None,
        )
        line = frame.line_of(header, 0)
        name = segment_name(first)
        temporary = f"{name}.{header.segment}.tmp"
        file = self.directory.open(temporary, write=True, create=True, exclusive=True)
        assert file is not None
        try:
            file.pwrite(line + b"\n" * (FIRST_EXTENT - len(line)), 0)
            file.sync()
            if self.directory.stat(name) is not None:
                raise corrupt(
                    f"{self.directory.path}/{name}", 0, first, "it is there before its first record"
                )
            self.directory.rename(temporary, name)
        except BaseException:
            file.close()
            self.directory.unlink(temporary)
            raise
        self.directory.sync()
        file.path = f"{self.directory.path}/{name}"
        self._take(file, header, len(line))
        self.named = True
        self.durable = self.lsn

    def _finish(self) -> None:
        """Whoever sealed the segment died before its successor was there, perhaps before the seal was on the disk."""
        assert self.file is not None
        self.rewrite()
        line = self.file.pread(EXTENT, self.offset).partition(b"\n")[0] + b"\n"
        self._end_with(line)

    def _seal(self) -> None:
        assert self.file is not None
        assert self.header is not None
        self.rewrite()
        sums = self.sums if self.sums is not None and self.sums.file is self.file else Sums(self.file)
        sums.finish(self.offset)
        line = frame.line_of(Seal(records=self.lsn - self.header.first + 1, blocks=sums.blocks), self.seed)
        self._end_with(line)
        self.sums = None

    def _end_with(self, seal: bytes) -> None:
        assert self.file is not None
        self.file.pwrite(seal, self.offset)
        self.file.truncate(self.offset + len(seal))
        self.file.sync()

    def trim(self) -> None:
        """Under the append lock, on leaving: drop the filler, so that ``tail`` shows records."""
        if self.file is not None and not self.sealed and not self.pending:
            self.file.truncate(self.offset)
