"""Keeps the state file up to date after what was recorded; never fails a step that is already on the disk."""

from __future__ import annotations

import threading
import time

from runledger.errors import LedgerError
from runledger.local.ordered import AppendLock, Ordered
from runledger.local.sequencer import Sequencer
from runledger.log import event

__all__ = ["StateKeeper"]

TRIES = 5
"""Times to begin again when somebody else changes the file between our look and our replacement."""

EVERY_S = 1.0
"""A handle asks so often, in seconds, whether the file may be moved by activity alone: ``Snapshot.due`` says it."""

MANY = 100
"""Records between two versions, from which on no brief is made: the next version is there before anybody reads one, and
makes it void."""


class StateKeeper:
    """Writes the snapshot of one handle's view, one at a time."""

    def __init__(self, sequencer: Sequencer) -> None:
        self._sequencer = sequencer
        self._writing = threading.RLock()  # it knows its owner: a handler never waits for what it interrupted
        self._busy = False
        self._shown: int | None = None

    def after_records(self, *, moved: bool = False) -> None:
        """Write if something is due: at once after a move or a doubt, else once a second. After a move it is shown on
        return, by whomever."""
        if moved and not self._is_mine():
            with self._writing:
                pass  # somebody may have been writing it, but not have been done
        if self.is_due():
            self.write()

    def is_due(self) -> bool:
        """Whether something was recorded that the state file should show by now."""
        tx = self._sequencer.tx
        return tx.urgent or (tx.unshown and time.monotonic() >= tx.shown_at + EVERY_S)

    def is_writing(self) -> bool:
        """Whether a thread of this process is writing it now: some fifty system calls and two syncs."""
        return self._busy

    def write(self, *, closing: bool = False) -> bool:
        """Bring the state file up to date; False, with a warning, where it cannot be written. On ``closing``,
        activity of a later second than the file tells of is written even if the last write is not a second old."""
        sequencer = self._sequencer
        if sequencer.failed is not None or sequencer.forked or self._is_mine():
            return False
        if not self._take(wait=closing or sequencer.tx.urgent):
            return False
        try:
            self._busy = True
            written = any(self._write_once(closing=closing) for _ in range(TRIES))
        except LedgerError as error:
            event("warning", "snapshot.not_written", reason=error.message)
            return False
        else:
            if written:
                self._renew_brief(closing=closing)
            return written
        finally:
            self._busy = False
            self._writing.release()  # no call before it: there a handler might keep everybody waiting for ever

    def _take(self, *, wait: bool) -> bool:
        """Take the turn, to be released; False where another thread has it."""
        try:
            return self._writing.acquire(blocking=wait)
        except BaseException:
            if self._is_mine():  # a handler raised as soon as it was taken
                self._writing.release()
            raise

    def _is_mine(self) -> bool:
        """Whether the calling thread is writing, and was interrupted in it."""
        return self._writing._is_owned()  # type: ignore[attr-defined,no-any-return]  # noqa: SLF001 - as Condition asks it

    def _renew_brief(self, *, closing: bool) -> None:
        """Not between two versions of a busy handle, but always on closing: that one may be the last."""
        from runledger.local.brief_maker import renew  # what it tells is told by nothing else here

        reader = self._sequencer.reader
        before, self._shown = self._shown, reader.view.lsn
        if closing or before is None or self._shown - before < MANY:
            renew(reader, self._sequencer.io)

    def _write_once(self, *, closing: bool) -> bool:
        """Prepare without the append lock, replace under it; False to begin again."""
        sequencer, tx, reader = self._sequencer, self._sequencer.tx, self._sequencer.reader
        with sequencer.io:
            snapshot, journal = reader.snapshot, reader.journal
            if snapshot is None or journal is None or journal.file is None or reader.stale:
                return True
            urgent = tx.urgent
            if not urgent and not snapshot.due() and not (closing and snapshot.is_behind(reader.view)):
                tx.shown_at = time.monotonic()
                return True
            tx.shown_at = time.monotonic()
            tx.unshown = tx.urgent = False
            file, lsn, durable = journal.file, journal.lsn, journal.durable
            if durable < lsn:
                journal.rewrite()
            prepared = snapshot.prepare(reader.view, tx.in_doubt())
        if prepared is None:
            return True
        if durable < lsn:
            sequencer.sync(file, lsn)
        with sequencer.io, AppendLock(sequencer):
            done = snapshot.replace(prepared, lsn)
        if done:
            snapshot.directory.sync()
            return True
        tx.urgent = True
        with sequencer.io, Ordered(sequencer):
            return False
