"""The segments of one ledger: read from a record on, read further, append at the tail.

Callers serialise; ``append`` and what leads to it happen under the append lock. After an exception inside them the
journal's idea of the tail is worthless: it is thrown away and loaded again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from zlib import crc32

from runledger.clock import now
from runledger.errors import DiskRefused, LedgerCorrupt
from runledger.local import frame
from runledger.local.directory import Directory, File
from runledger.local.frame import Header, Seal
from runledger.local.layout import (
    BLOCK_BYTES,
    EXTENT,
    FIRST_EXTENT,
    FORMAT,
    RESERVE,
    SEGMENT_BYTES,
    segment_first,
    segment_name,
)
from runledger.local.segment import (
    Lines,
    TornTail,
    Walk,
    corrupt,
    is_sealed_at,
    lost_whole,
    open_segment,
    read_sealed,
    read_tail,
    scan,
)
from runledger.record import Intent, Record, Torn
from runledger.view import Damage

__all__ = ["Behind", "Journal", "segments"]

READ_ON = 4 << 10


class Behind(Exception):
    """A compaction dropped the segment that was to be read next; the reader starts again from the checkpoint."""


def segments(directory: Directory) -> list[int]:
    """The first LSNs of all segments, ascending."""
    return sorted(first for name in directory.names() if (first := segment_first(name)) is not None)


class Journal:
    """The position of one reader or writer in the journal of ``directory``.

    ``lsn`` and ``steps`` are those of the last record read or stamped, ``durable`` the highest LSN known to be on the
    disk. ``torn`` is what a crash left behind the last record, until ``recover`` cut it; ``clean`` is False where bytes
    stand there that are neither a record nor filler, under the append lock the work of a crash.
    """

    def __init__(
        self, directory: Directory, ledger: str, *, write: bool, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        self.directory = directory
        self.ledger = ledger
        self.write_mode = write
        self.segment_bytes = segment_bytes
        self.file: File | None = None
        self.header: Header | None = None
        self.seed = 0
        self.offset = 0
        self.capacity = 0
        self.sealed = False
        self.lsn = 0
        self.steps = 0
        self.durable = 0
        self.torn: TornTail | None = None
        self.clean = True
        self._unproven: list[tuple[int, int]] = []
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._retired: list[File] = []
        self._named = False

    # --- reading ------------------------------------------------------------------------------------------------

    def load(self, lsn: int, steps: int, *, kept: bool = False) -> Iterator[list[Record | Damage]]:
        """Everything after the record ``lsn``, and with it the position at the tail; ``kept``: of what is still kept.

        A segment that cannot be used (a damaged header, one of another place or ledger) is damage to a reader; a writer
        refuses, since what it wrote behind such a segment could not be told apart from what was there.

        Raises:
            Behind: a segment went away meanwhile.
            LedgerCorrupt: a writer found a segment that cannot be used.
        """
        firsts = segments(self.directory)
        begin = max((i for i, first in enumerate(firsts) if first <= lsn + 1), default=0)
        firsts = firsts[begin:]
        self.lsn, self.steps, self.durable = lsn, steps, lsn
        if not firsts:
            return
        walk = Walk(lsn, steps)
        if firsts[0] > lsn + 1 and kept:
            walk.lsn, walk.steps = firsts[0] - 1, self._steps_before(firsts[0])
        elif firsts[0] > lsn + 1:
            yield self._missing(walk, firsts[0])
        before: str | None = None
        for i, first in enumerate(firsts):
            found = self._open(first, before if first == walk.lsn + 1 else None)
            if isinstance(found, LedgerCorrupt):
                before = None
                yield self._unusable(walk, firsts[i:], found)
            else:
                before = found[1].segment
                yield from self._load_segment(found, firsts[i + 1] if i + 1 < len(firsts) else None, walk)
        self.lsn, self.steps = walk.lsn, walk.steps

    def _open(self, first: int, after: str | None = None) -> tuple[File, Header, int] | LedgerCorrupt:
        """The segment that begins with ``first``; to a reader, why it cannot be used."""
        name, ledger = segment_name(first), self.ledger or None
        try:
            found = open_segment(self.directory, name, first, ledger, after=after, write=self.write_mode)
        except LedgerCorrupt as error:
            if self.write_mode:
                raise
            return error
        if found is None:
            raise Behind
        return found

    def _load_segment(
        self, found: tuple[File, Header, int], following: int | None, walk: Walk
    ) -> Iterator[list[Record | Damage]]:
        """What is new in a segment; the last one, which none is ``following``, stays open."""
        file, header, start = found
        self.ledger = header.ledger
        if header.first > walk.lsn + 1:
            yield self._missing(walk, header.first, header)
        skip = walk.lsn if header.first <= walk.lsn else 0
        if skip:
            walk.lsn, walk.steps = header.first - 1, header.steps
        if following is None:
            self._take(file, header, start)
            yield from self._load_tail(start, walk, skip)
            return
        for items in read_sealed(file, header, start, walk, following - 1, self._steps_before(following)):
            yield _after(items, skip)
        file.close()
        self.durable = walk.lsn

    def _load_tail(self, start: int, walk: Walk, skip: int) -> Iterator[list[Record | Damage]]:
        assert self.file is not None
        assert self.header is not None
        for item in read_tail(self.file, self.header, start, walk):
            if isinstance(item, TornTail):
                self.torn = item
            elif isinstance(item, Damage):
                yield [item]
            elif not item.records:
                self.offset = item.end  # of the damage
            else:
                self._passed(item)
                yield _after(list(item.records), skip)
        self.sealed = is_sealed_at(self.file, self.offset, self.seed)
        self.clean = self.sealed or (
            self.file.pread(1, self.offset) in {b"", b"\n"} and self.file.pread(1, self.offset - 1) == b"\n"
        )

    def _missing(self, walk: Walk, first: int, header: Header | None = None) -> list[Record | Damage]:
        """A segment that should be there and is not."""
        steps = header.steps if header is not None else self._steps_before(first)
        name = segment_name(walk.lsn + 1)
        found = Damage(
            file=f"{self.directory.path}/{name}",
            offset=0,
            first=walk.lsn + 1,
            last=first - 1,
            reason="the segment is missing",
            intents=max(0, steps - walk.steps),
            moves=first - 1 - walk.lsn,
        )
        walk.lsn, walk.steps = first - 1, steps
        return [found]

    def _unusable(self, walk: Walk, firsts: list[int], error: LedgerCorrupt) -> list[Record | Damage]:
        """The first of these segments is lost as a whole, up to the next one, or to the last number legible in it."""
        reason = error.__dict__["damage"][0].reason
        file = self.directory.open(segment_name(firsts[0]))
        if file is None:
            raise Behind
        last = firsts[1] - 1 if len(firsts) > 1 else None
        steps = self._steps_before(firsts[1]) if last is not None else None
        try:
            return [lost_whole(file, walk, last, steps, reason)]
        finally:
            file.close()

    def _steps_before(self, first: int) -> int:
        """The intents before a segment; 0 where it cannot tell."""
        found = self._open(first)
        if isinstance(found, LedgerCorrupt):
            return 0
        found[0].close()
        return found[1].steps

    def _take(self, file: File, header: Header, start: int) -> None:
        """Stand at the start of the last segment; an old descriptor may be in someone's sync, so it is closed later."""
        if self.file is not None:
            self._retired.append(self.file)
        self.file, self.header, self.seed = file, header, frame.seed_of(header.segment)
        self.offset, self.capacity, self.sealed = start, file.stat().size, False
        self._unproven = []
        self._named = False

    def _passed(self, lines: Lines) -> None:
        """Keep where each record begins that no later record calls durable."""
        records = lines.records
        durable = max(self.durable, records[-1].durable)
        self.durable = durable
        kept = [(lsn, at) for lsn, at in self._unproven if lsn > durable]
        kept += [(x.lsn, at) for x, at in zip(records, lines.offsets, strict=True) if x.lsn > durable]
        self._unproven = kept
        self.offset = lines.end

    def read_on(self) -> list[Record]:
        """What others appended since. Without the lock a line may still be in the writing: it is left for later.

        Raises:
            Behind: the next segment was compacted away, or the first one came meanwhile.
        """
        if self.file is None and segments(self.directory):
            raise Behind
        if self.file is not None and self.file.pread(1, self.offset) == b"\n":
            self.clean = True
            return []
        found: list[Record] = []
        self.clean = True
        while self.file is not None:
            data = self._ahead(self.file)
            if data and data[0] == 0x0A:
                return found
            if data:
                walk = Walk(self.lsn, self.steps)
                lines = scan(data, self.offset, self.seed, walk)
                if lines.records:
                    self.lsn, self.steps, self.offset = walk.lsn, walk.steps, lines.end
                    self.durable = max(self.durable, lines.records[-1].durable)
                    found += lines.records
                    continue
                if not is_sealed_at(self.file, self.offset, self.seed):
                    self.clean = False
                    return found
                self.sealed = True
            if not self._next_segment():
                return found
        return found

    def _ahead(self, file: File) -> bytes:
        """What follows, up to filler or the file's end."""
        data = file.pread(READ_ON, self.offset)
        while len(data) % READ_ON == 0 and data and data[0] != 0x0A and b"\n\n" not in data:
            more = file.pread(max(READ_ON, len(data)), self.offset + len(data))
            if not more:
                break
            data += more
        return data

    def _next_segment(self) -> bool:
        """Move to the segment that begins with the next record; a rolled one is durable before its successor exists."""
        first = self.lsn + 1
        opened = open_segment(
            self.directory,
            segment_name(first),
            first,
            self.ledger,
            after=self.header.segment if self.header is not None else None,
            write=self.write_mode,
        )
        if opened is None:
            if any(later > first for later in segments(self.directory)):
                raise Behind
            return False
        self._take(*opened)
        self.durable = max(self.durable, self.lsn)
        return True

    # --- recovery -----------------------------------------------------------------------------------------------

    def examine(self) -> list[Record | Damage]:
        """Under the append lock: tell a torn tail from damage at the place where reading stopped."""
        assert self.file is not None
        assert self.header is not None
        walk = Walk(self.lsn, self.steps)
        found: list[Record | Damage] = []
        for items in self._load_tail(self.offset, walk, 0):
            found += items
        self.lsn, self.steps = walk.lsn, walk.steps
        if self.sealed:
            found += self.read_on()  # others rolled it meanwhile
        return found

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
        if self.file.pread(1, self.offset) == b"\0":
            self.file.pwrite(b"\n" * (self.file.stat().size - self.offset), self.offset)
            self.file.datasync()

    def rewrite(self) -> None:
        """Under the append lock: write again what was read and is not known to be durable. After a failed sync the
        page cache holds pages marked clean that never reached the disk: only a fresh write gets them there."""
        if self._unproven and self.file is not None:
            begin = self._unproven[0][1]
            self.file.pwrite(self.file.pread(self.offset - begin, begin), begin)
            self._unproven = []

    # --- appending ----------------------------------------------------------------------------------------------

    def stamp(self, record: Record) -> None:
        """Give a record its number and keep its line for ``append``."""
        if self.file is None or self.sealed or self.offset + self._pending_bytes >= self.segment_bytes:
            self.append()
            self._roll()
        self.lsn += 1
        record.lsn = self.lsn
        record.at = now()
        record.durable = self.durable
        if type(record) is Intent:
            self.steps += 1
        record.steps = self.steps
        line = frame.encode(record, self.seed)
        self._pending.append(line)
        self._pending_bytes += len(line)
        if type(record) is Intent:
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

    def append(self) -> None:
        """Write what is pending in one call; durable after ``File.datasync``.

        Raises:
            DiskRefused: nothing of it may be relied on.
        """
        if self.file is not None and not self._named:
            # Whoever gave the segment its name may have died before it synced the directory.
            self.directory.sync()
            self._named = True
        if not self._pending:
            return
        assert self.file is not None
        data = b"".join(self._pending)
        try:
            self._reserve(0)
        except DiskRefused:
            if self.offset + len(data) > self.file.stat().size:
                raise
        self.file.pwrite(data, self.offset)
        self.offset += len(data)
        self._pending = []
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
        self._named = True
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
        blocks: list[tuple[int, str]] = []
        data = self.file.pread(self.offset, 0)
        begin = 0
        while begin < len(data):
            end = data.find(b"\n", min(begin + BLOCK_BYTES, len(data) - 1)) + 1
            blocks.append((end - begin, f"{crc32(memoryview(data)[begin:end]):08x}"))
            begin = end
        line = frame.line_of(Seal(records=self.lsn - self.header.first + 1, blocks=blocks), self.seed)
        self._end_with(line)

    def _end_with(self, seal: bytes) -> None:
        assert self.file is not None
        self.file.pwrite(seal, self.offset)
        self.file.truncate(self.offset + len(seal))
        self.file.sync()

    def trim(self) -> None:
        """Under the append lock, on leaving: drop the filler, so that ``tail`` shows records."""
        if self.file is not None and not self.sealed and not self._pending:
            self.file.truncate(self.offset)

    def close(self) -> None:
        """Close the segments' files."""
        for file in (self.file, *self._retired):
            if file is not None:
                file.close()
        self.file = None
        self._retired = []


def _after(items: list[Record | Damage], skip: int) -> list[Record | Damage]:
    """The items that are news to a reader that knows everything up to ``skip``."""
    if not skip:
        return items
    return [x for x in items if (x.last if isinstance(x, Damage) else x.lsn) > skip]
