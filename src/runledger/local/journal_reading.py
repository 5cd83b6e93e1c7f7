"""The segments of one ledger as they are read: from a record on, and further as others append."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from runledger.errors import DiskRefused, LedgerCorrupt
from runledger.local import frame
from runledger.local.directory import Directory, File
from runledger.local.frame import Header
from runledger.local.layout import LONGEST_LINE, segment_first, segment_name
from runledger.local.opening import open_segment
from runledger.local.salvage import Walk, lost_whole
from runledger.local.segment import (
    Lines,
    TornTail,
    is_sealed_at,
    read_sealed,
    read_tail,
    scan,
)
from runledger.record import Record
from runledger.view import Damage

__all__ = ["CHECKSUM_BYTES", "Behind", "JournalReader", "segments"]

READ_ON = 4 << 10

CHECKSUM_BYTES = 20
"""Of the end of a line, its checksum among them: enough to know the line by."""


class Behind(Exception):
    """A compaction dropped the segment that was to be read next; the reader starts again from the checkpoint."""


def segments(directory: Directory) -> list[int]:
    """The first LSNs of all segments, ascending."""
    return sorted(first for name in directory.names() if (first := segment_first(name)) is not None)


class JournalReader:
    """The position of one reader, or of a writer as long as it reads, in the journal of ``directory``.

    It stands in the segment ``file`` of ``ledger``, with its ``header``, the ``seed`` of its checksums, and ``sealed``
    if it is: the last record ends at ``offset``, and what is prepared for more at ``capacity``. ``write``: files are
    opened for writing, and what cannot be used is refused.

    ``lsn`` and ``steps`` are those of the last record read or stamped, ``durable`` the highest LSN known to be on the
    disk. ``torn`` is what a crash left behind the last record, until ``recover`` cut it; ``clean`` is False where bytes
    stand there that are neither a record nor filler, under the append lock the work of a crash. ``unproven`` is where
    each record begins that was read and that no later one calls durable, and ``named`` that the segment's name is.
    """

    def __init__(self, directory: Directory, ledger: str, *, write: bool) -> None:
        self.directory = directory
        self.ledger = ledger
        self.write = write
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
        self._last = b""
        self.unproven: list[tuple[int, int]] = []
        self.named = False

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
        self.ledger = self.ledger or self._ledger_of(firsts)
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
                before = None
                for items in self._load_segment(found, firsts[i + 1] if i + 1 < len(firsts) else None, walk):
                    yield items
                    # Behind damage a segment may be missing that nothing else tells of.
                    before = found[1].segment if items and not isinstance(items[-1], Damage) else None
        self.lsn, self.steps = walk.lsn, walk.steps

    def _ledger_of(self, firsts: list[int]) -> str:
        """The ledger that the first, the second and the last segment are of, or most of them: one may be foreign."""
        headers = [
            found[1] for first in {firsts[0], *firsts[1:2], firsts[-1]} if (found := self._glance(first))
        ]
        votes = Counter(header.ledger for header in sorted(headers, key=lambda header: header.first))
        return max(votes, key=votes.__getitem__, default="")

    def _glance(self, first: int) -> tuple[File, Header, int] | None:
        """A segment's header, of whichever ledger; None where it cannot be used."""
        try:
            found = open_segment(self.directory, segment_name(first), first, None)
        except LedgerCorrupt:
            return None
        if found is not None:
            found[0].close()
        return found

    def _open(self, first: int, after: str | None = None) -> tuple[File, Header, int] | LedgerCorrupt:
        """The segment that begins with ``first``; to a reader, why it cannot be used."""
        name, ledger = segment_name(first), self.ledger or None
        try:
            found = open_segment(self.directory, name, first, ledger, after=after, write=self.write)
        except LedgerCorrupt as error:
            if self.write:
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
        self.torn = None
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
        self._last = self.file.pread(CHECKSUM_BYTES, self.offset - CHECKSUM_BYTES)
        # Filler at the tail proves nothing: a crash can lose a record's first sector and keep a later one.
        self.clean = self.torn is None and (
            self.sealed
            or (
                self.file.pread(1, self.offset) in {b"", b"\n"}
                and self.file.pread(1, self.offset - 1) == b"\n"
            )
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
        found = error.__dict__["damage"][0]
        try:
            file = self.directory.open(segment_name(firsts[0]))
            if file is None:
                raise Behind
        except DiskRefused:
            file = None
        last = firsts[1] - 1 if len(firsts) > 1 else None
        steps = self._steps_before(firsts[1]) if last is not None else None
        try:
            return [lost_whole(file, found.file, walk, last, steps, found.reason)]
        finally:
            if file is not None:
                file.close()

    def _steps_before(self, first: int) -> int:
        """The intents before a segment; 0 where it cannot tell."""
        found = self._open(first)
        if isinstance(found, LedgerCorrupt):
            return 0
        found[0].close()
        return found[1].steps

    def _take(self, file: File, header: Header, start: int) -> None:
        """Stand at the start of the last segment. The old one may be in somebody's sync: its last holder closes it."""
        self.file, self.header, self.seed = file, header, frame.seed_of(header.segment)
        self.offset, self.capacity, self.sealed = start, file.stat().size, False
        self.unproven, self._last = [], b""
        self.named = False

    def _passed(self, lines: Lines) -> None:
        """Keep where each record begins that no later record calls durable."""
        records = lines.records
        durable = max(self.durable, records[-1].durable)
        self.durable = durable
        kept = [(lsn, at) for lsn, at in self.unproven if lsn > durable]
        kept += [(x.lsn, at) for x, at in zip(records, lines.offsets, strict=True) if x.lsn > durable]
        self.unproven = kept
        self.offset = lines.end

    def read_on(self) -> list[Record]:
        """What others appended since. Without the lock a line may still be in the writing: it is left for later.

        Raises:
            Behind: the next segment was compacted away, the first one came meanwhile, or what was read last is gone.
        """
        if self.file is None and segments(self.directory):
            raise Behind
        found: list[Record] = []
        moved = False
        self.clean = self.torn is None
        while self.file is not None:
            data = self._ahead(self.file)
            if data and data[0] == 0x0A:
                return found
            if data:
                walk = Walk(self.lsn, self.steps)
                lines = scan(data, self.offset, self.seed, walk, self.file.path)
                if lines.records:
                    self.torn, self.clean = None, True  # what seemed torn was a line in the writing
                    self.lsn, self.steps = walk.lsn, walk.steps
                    ends = lines.end - self.offset
                    self._last = data[max(0, ends - CHECKSUM_BYTES) : ends]
                    self.offset = lines.end
                    if moved:  # a descriptor that was opened after somebody's sync failed does not tell of it
                        self._passed(lines)
                    self.durable = max(self.durable, lines.records[-1].durable)
                    found += lines.records
                    continue
                if not is_sealed_at(self.file, self.offset, self.seed):
                    self.clean = False
                    return found
                self.sealed = True
            if not self._next_segment():
                return found
            moved = True
        return found

    def is_unchanged(self) -> bool:
        """Whether filler follows the last line read, which still stands where it stood: after a sync that failed the
        cache may lose records that were read from it, and others write their own there.

        Raises:
            Behind: it does not stand there.
        """
        if self.file is None:
            return False
        last = self._last
        found = self.file.pread(len(last) + 1, self.offset - len(last))
        if found == last + b"\n":
            self.clean = self.torn is None
            return True
        if not found.startswith(last):
            raise Behind
        return False

    def _ahead(self, file: File) -> bytes:
        """What follows, up to filler or the file's end."""
        data = file.pread(READ_ON, self.offset)
        while len(data) % READ_ON == 0 and data and data[0] != 0x0A and b"\n\n" not in data:
            if len(data) >= LONGEST_LINE:
                break  # what is beyond is read when this is done with
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
            write=self.write,
        )
        if opened is None:
            if any(later > first for later in segments(self.directory)):
                raise Behind
            return False
        self._take(*opened)
        self.durable = max(self.durable, self.lsn)
        return True

    def close(self) -> None:
        """Let go of the segment's file: whoever is in its sync may still have it."""
        self.file = None


def _after(items: list[Record | Damage], skip: int) -> list[Record | Damage]:
    """The items that are news to a reader that knows everything up to ``skip``."""
    if not skip:
        return items
    return [x for x in items if (x.last if isinstance(x, Damage) else x.lsn) > skip]
