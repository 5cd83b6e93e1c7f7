"""A journal in a folder, written record by record, and small verbs that spoil it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from runledger.fold import advance
from runledger.local.directory import Directory
from runledger.local.journal import Journal
from runledger.local.segment import TornTail
from runledger.record import Commit, Intent, Record
from runledger.view import Damage, View

LEDGER = "00112233445566ff"


class Read(NamedTuple):
    """What a fresh reader makes of the files."""

    items: list[Record | Damage]
    torn: TornTail | None
    view: View

    @property
    def lsns(self) -> list[int]:
        """The numbers of the records that were read."""
        return [x.lsn for x in self.items if not isinstance(x, Damage)]

    @property
    def damage(self) -> list[Damage]:
        """The stretches that are lost."""
        return [x for x in self.items if isinstance(x, Damage)]

    @property
    def verdict(self) -> str:
        """``clean``, ``torn`` or ``damaged``."""
        return "damaged" if self.damage else "torn" if self.torn is not None else "clean"


def intent(key: str | None, **more: Any) -> Intent:
    """An intent of the step ``pay``."""
    return Intent(lsn=0, at="", run="r-1", name="pay", key=key, **more)


def commit(of: int, key: str | None, **more: Any) -> Commit:
    """Its commit."""
    return Commit(lsn=0, at="", run="r-1", of=of, name="pay", key=key, **more)


class Journals:
    """The journal of one folder, as its only writer has it and as a later reader finds it."""

    def __init__(self, folder: Path, *, segment_bytes: int = 8 << 20) -> None:
        self.folder = folder
        self.writer = Journal(self._directory(), LEDGER, write=True, segment_bytes=segment_bytes)

    def _directory(self) -> Directory:
        directory = Directory.at(str(self.folder))
        assert directory is not None
        return directory

    def write(self, *records: Record, durable: bool = True) -> None:
        """Append all of them in one call, and sync unless told not to."""
        for record in records:
            self.writer.stamp(record)
        self.writer.append()
        if durable:
            assert self.writer.file is not None
            self.writer.file.datasync()
            self.writer.durable = self.writer.lsn

    # --- the bytes --------------------------------------------------------------------------------------

    @property
    def segments(self) -> list[Path]:
        """The segments, in order."""
        return sorted(self.folder.glob("*.jsonl"))

    @property
    def tail(self) -> Path:
        """The last segment."""
        return self.segments[-1]

    def line(self, lsn: int) -> tuple[Path, int, int]:
        """Where the line of a record is: its segment, and where it begins and ends, line feed included."""
        for path in self.segments:
            data = path.read_bytes()
            found = re.search(rb'^\{"t":"\w+","lsn":%d,.*\n' % lsn, data, re.MULTILINE)
            if found is not None:
                return path, found.start(), found.end()
        raise AssertionError(f"no line has the LSN {lsn}")

    def put(self, path: Path, offset: int, data: bytes) -> None:
        """Overwrite bytes in place."""
        with path.open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def flip(self, lsn: int, at: bytes) -> None:
        """Flip one bit of the first byte of ``at`` in the line of a record; no line feed comes of it."""
        path, begin, end = self.line(lsn)
        offset = path.read_bytes().index(at, begin, end)
        self.put(path, offset, bytes([at[0] ^ 1]))

    def blank(self, lsn: int) -> None:
        """Put filler where a record was: its write never reached the disk."""
        path, begin, end = self.line(lsn)
        self.put(path, begin, b"\n" * (end - begin))

    def drop(self, lsn: int) -> None:
        """Take a line out, as an editor would; what follows moves up."""
        path, begin, end = self.line(lsn)
        data = path.read_bytes()
        path.write_bytes(data[:begin] + data[end:])

    def cut(self, lsn: int, size: int) -> None:
        """End the file ``size`` bytes into the line of a record."""
        path, begin, _ = self.line(lsn)
        path.write_bytes(path.read_bytes()[: begin + size])

    # --- reading ----------------------------------------------------------------------------------------

    @contextmanager
    def opened(self, *, write: bool = False) -> Iterator[tuple[Journal, Read]]:
        """A fresh reader, or the next writer, with what it read."""
        journal = Journal(self._directory(), LEDGER, write=write)
        try:
            items = [item for some in journal.load(0, 0) for item in some]
            view = View(ledger=LEDGER)
            for item in items:
                advance(view, item)
            yield journal, Read(items, journal.torn, view)
        finally:
            journal.close()
            journal.directory.close()

    def read(self) -> Read:
        """What a fresh reader makes of the files; nothing is written."""
        with self.opened() as (_, read):
            return read

    def close(self) -> None:
        """Let go of the files."""
        self.writer.close()
        self.writer.directory.close()
