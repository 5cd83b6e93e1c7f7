"""A view of one ledger's files that is kept up to date by reading on: checkpoint, then the rest of the journal.

It writes nothing and takes no lock. The store reads through it under the append lock, where what it sees is all there
is, and ahead of it, so that little is left to read then; anybody else sees a recent moment.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from runledger.errors import LedgerCorrupt, LedgerError
from runledger.fold import advance_all
from runledger.interrupts import is_from_outside
from runledger.local import checkpoint
from runledger.local.files import Files
from runledger.local.frame import Header
from runledger.local.journal import Behind, Journal
from runledger.local.layout import CHECKPOINT, HISTORY, SEGMENT_BYTES
from runledger.local.snapshot import Snapshot
from runledger.record import Record
from runledger.view import Counted, Damage, Identity, OpenStep, Settled, View

if TYPE_CHECKING:
    from runledger.local.history import History

__all__ = ["Reader"]

LOADS = 20
"""Times to begin again when a compaction overtakes the reading, before it is called damage."""

AHEAD = 5
FEW = 64
"""Times to read on without the lock, until what was left was fewer records than that."""

COLLECTED_FROM = 10_000
"""Settled steps of one loading, from which on the garbage collector has its turn at once."""

PORTION = 250
"""Settled steps that are dropped together: some tenths of a millisecond."""


class Reader:
    """``view`` is what the files say; ``stale`` that it must be read again from the checkpoint on before it is used.

    ``files`` are the directories, ``journal`` the position in the segments, None until something is read or where
    nothing is, ``snapshot`` the state file. ``write``: what is opened may be written to, in segments of
    ``segment_bytes``; a writer refuses what a reader would call damage. ``base`` is the LSN of the checkpoint that the
    view rests on: settled steps up to there are in the history. ``counting``: settled steps are not kept, only counted,
    until one is asked for; memory is then bounded by the open steps, however long the journal is.
    """

    def __init__(
        self, files: Files, *, write: bool, segment_bytes: int = SEGMENT_BYTES, counting: bool = False
    ) -> None:
        self.counting = counting
        self.files = files
        self.write = write
        self.segment_bytes = segment_bytes
        self.view = View(ledger="")
        self.journal: Journal | None = None
        self.snapshot: Snapshot | None = None
        self.stale = True
        self.base = 0
        self._header: Header | None = None
        self._history: History | None = None
        self._missed: tuple[Identity, int] | None = None
        self._to_forget: list[Identity] = []

    def for_writing(self) -> None:
        """Read again, with what a writer needs open."""
        self.write = self.stale = True
        if self._history is not None:
            self._history.close()
            self._history = None

    def refresh(self) -> None:
        """Read what is new.

        Raises:
            LedgerCorrupt, NewerVersion, DiskRefused: the files cannot be read as a ledger of this version.
        """
        journal = self.journal
        if journal is not None and not self.stale:
            # What is read and not yet folded is lost to the view where a signal's handler raises in between.
            self.stale = True
            try:
                records = () if journal.is_unchanged() else journal.read_on()
            except Behind:
                pass
            else:
                if records:
                    self._advance(self.view, records)
                self.stale = False
                header = journal.header
                if header is not None and header is not self._header:
                    self._header = header
                    self.forget_folded()
                elif self._to_forget:
                    self.forget_some()
                return
        for again in range(LOADS):
            try:
                self._load()
            except Behind:
                time.sleep(0.001 * again)
            else:
                return
        raise LedgerCorrupt(
            f"{self.files.root}/.run/ledger: segments go away faster than they can be read", damage=[]
        )

    def read_ahead(self) -> None:
        """Read what is there already, before the append lock is taken: under it only what came since is left to read.

        Whatever seems wrong without the lock may be somebody's write that is not whole yet: it is read again under it.
        """
        loads = self.stale or self.journal is None
        try:
            for _ in range(AHEAD):
                before = self.view.lsn
                self.refresh()
                if self.view.lsn - before < FEW:
                    break
        except LedgerError as error:
            if is_from_outside(error):
                raise
            self.stale = True
        if loads and self.view.damage:
            self.stale = True

    def _load(self) -> None:
        self.stale = True
        self.journal = None  # not closed: another thread may be syncing its segment
        self.files.find()
        if self.files.run is not None and self.snapshot is None:
            self.snapshot = Snapshot(self.files.run)
        elif self.snapshot is not None:
            self.snapshot.forget()
        self.view, self.base, self._to_forget = View(ledger=""), 0, []
        if self.files.ledger is None:
            self.stale = False
            return
        folded = self._checkpoint()
        if folded is not None:
            self.view, self.base = folded, folded.lsn
        journal = Journal(
            self.files.ledger, self.view.ledger, write=self.write, segment_bytes=self.segment_bytes
        )
        view = self.view
        if self.counting:
            view.settled = Counted()
        for items in journal.load(view.lsn, view.steps):
            self._advance(view, items)
        if view.damage and (self._is_overtaken() or self.counting):
            journal.close()
            self.counting = False  # what is lost is told by the steps that are known
            raise Behind
        if folded is not None and self.write and (journal.file is None or journal.lsn < self.base):
            raise LedgerCorrupt(
                f"{self.files.ledger.path}: the journal ends at LSN {journal.lsn}, and the "
                f"checkpoint covers {self.base}",
                hint="To see all of it: runledger verify. To make it usable again: runledger repair",
                damage=[],
            )
        view.ledger = journal.ledger or view.ledger
        self.journal = journal
        self._header = journal.header
        self.stale = False
        if len(view.settled) > COLLECTED_FROM and gc.isenabled():
            gc.collect()  # it is soon due with so many new objects, and then in the middle of a step

    def _advance(self, view: View, items: Iterable[Record | Damage]) -> None:
        try:
            advance_all(view, items)
        except LedgerCorrupt as error:
            assert self.files.ledger is not None
            raise LedgerCorrupt(
                f"{self.files.ledger.path}: {error.message}", hint=error.hint, damage=[]
            ) from error

    def _is_overtaken(self) -> bool:
        """Whether what seems lost was dropped by a compaction that came between the checkpoint and the segments."""
        newer = self._checkpoint()
        return newer is not None and newer.lsn > self.base

    def _checkpoint(self) -> View | None:
        """The checkpoint, or the copy of it in the history where it is missing or damaged. Where neither can be read, a
        reader takes what is left of the journal, and what is missing before that for lost."""
        assert self.files.ledger is not None
        try:
            return checkpoint.read(self.files.ledger) or self._checkpoint_of_history()
        except LedgerCorrupt:
            try:
                folded = self._checkpoint_of_history()
            except LedgerCorrupt:
                folded = None
            if folded is None and self.write:
                raise
            return folded

    def _checkpoint_of_history(self) -> View | None:
        history = self.open_history("")
        if history is None:
            return None
        kept = history.meta().checkpoint
        return checkpoint.decode(kept, history.path) if kept else None

    # --- settled steps ------------------------------------------------------------------------------------------

    def settled(self, identity: Identity) -> Settled | None:
        """The outcome of a step, from the journal or from the folded history.

        Raises:
            LedgerCorrupt: the history is damaged or gone, so that "never started" cannot be told.
        """
        if self.counting:
            self.counting, self.stale = False, True
            self.refresh()
        found = self.view.settled.get(identity)
        if found is not None or not self.base or self._missed == (identity, self.base):
            return found
        found = self.history().get(identity)
        if found is None:
            # A claim asks twice, for a hint and under the append lock. What was folded since is in the view, or beyond
            # another base.
            self._missed = identity, self.base
        return found

    def find(self, name: str, key: str) -> Settled | OpenStep | None:
        """What is known of a step of this run, or of one whose key lives for ever, after reading what is new."""
        self.refresh()
        view = self.view
        run = view.run.id if view.run is not None else ""
        for scope in (run, ""):
            identity = Identity(scope, name, key)
            found = view.open.get(view.keys.get(identity, 0)) or self.settled(identity)
            if found is not None:
                return found
        return None

    def history(self) -> History:
        """The folded history that the view's checkpoint rests on."""
        history = self._history or self.open_history(self.view.ledger)
        if history is None or not history.covers(self.base):
            raise self._without_history("missing or older than the checkpoint")
        self._history = history
        return history

    def lost_history(self) -> LedgerCorrupt | None:
        """The refusal that every step will get because the history is gone; whether it is sound is not looked at."""
        ledger = self.files.ledger
        gone = bool(self.base) and ledger is not None and ledger.stat(HISTORY) is None
        return self._without_history("missing") if gone else None

    def _without_history(self, how: str) -> LedgerCorrupt:
        return LedgerCorrupt(
            f"{self.files.root}/.run/ledger/{HISTORY}: the folded history is {how} ({CHECKPOINT}, LSN {self.base}); "
            "no key can be told to be new",
            hint="Put it back from a copy. To go on without it, with the loss on record: runledger repair",
            damage=[],
        )

    def folded(self) -> Iterator[Settled]:
        """Every outcome in the folded history, on a connection of its own."""
        from runledger.local.history import History

        assert self.files.ledger is not None
        history = History.open(
            os.path.join(self.files.ledger.path, HISTORY), self.view.ledger, read_only=not self.write
        )
        if history is not None:
            try:
                yield from history.entries()
            finally:
                history.close()

    def open_history(self, ledger: str) -> History | None:
        """The history if there is one; kept open with this reader."""
        ledger_directory = self.files.ledger
        if (
            self._history is None
            and ledger_directory is not None
            and ledger_directory.stat(HISTORY) is not None
        ):
            from runledger.local.history import History  # most short commands have none to load

            path = os.path.join(ledger_directory.path, HISTORY)
            self._history = History.open(path, ledger, read_only=not self.write)
        return self._history

    def forget_folded(self) -> None:
        """Begin to drop settled steps that a compaction has put into the history; memory stays bounded by the tail.

        Each further ``refresh`` goes on with it: to drop many at once would keep a step waiting. What is in both places
        meanwhile is the same in both.
        """
        if self.files.ledger is None:
            return
        try:
            folded = checkpoint.read(self.files.ledger)
        except LedgerCorrupt:
            return  # whoever needs it says so
        if folded is None or folded.lsn <= self.base or folded.lsn > self.view.lsn:
            return
        self.base = folded.lsn
        if not self.counting:
            self._to_forget = list(self.view.settled)
            self.forget_some()

    def forget_some(self) -> bool:
        """Drop a portion of what is folded; whether there is more."""
        settled, portion = self.view.settled, self._to_forget[-PORTION:]
        for identity in portion:
            step = settled.get(identity)
            if step is not None and step.lsn <= self.base:
                del settled[identity]
        del self._to_forget[-PORTION:]
        return bool(self._to_forget)

    def unfolded(self) -> int:
        """How many settled steps are not in the history yet, about."""
        return len(self.view.settled) - len(self._to_forget)

    # --- the end ------------------------------------------------------------------------------------------------

    def close_journal(self) -> None:
        """Let go of the journal's files; the next ``refresh`` opens them again."""
        if self.journal is not None:
            self.journal.close()
            self.journal = None

    def close(self) -> None:
        """Let go of all files."""
        self.close_journal()
        if self._history is not None:
            self._history.close()
            self._history = None
        self.files.close()
        self.stale = True
