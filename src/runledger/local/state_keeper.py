"""Keeps the state file up to date after what was recorded; never fails a step that is already on the disk."""

from __future__ import annotations

import threading
import time

from runledger.errors import LedgerError
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
        self._writing = threading.Lock()
        self._writer = 0
        self._shown: int | None = None

    def after_records(self, *, moved: bool = False) -> None:
        """Write if something is due: at once after a move or a doubt, else once a second. After a move it is shown on
        return, by whomever."""
        if moved and self._begin(wait=True):
            self._end()  # somebody may have been writing it, but not have been done
        if self.is_due():
            self.write()

    def is_due(self) -> bool:
        """Whether something was recorded that the state file should show by now."""
        tx = self._sequencer.tx
        return tx.urgent or (tx.unshown and time.monotonic() >= tx.shown_at + EVERY_S)

    def is_writing(self) -> bool:
        """Whether a thread of this process is writing it now: some fifty system calls and two syncs."""
        return self._writer != 0

    def write(self, *, closing: bool = False) -> bool:
        """Bring the state file up to date; False, with a warning, where it cannot be written. On ``closing``,
        activity of a later second than the file tells of is written even if the last write is not a second old."""
        sequencer = self._sequencer
        if (
            sequencer.failed is not None
            or sequencer.forked
            or not self._begin(wait=closing or sequencer.tx.urgent)
        ):
            return False
        try:
            written = any(self._write_once(closing=closing) for _ in range(TRIES))
        except LedgerError as error:
            event("warning", "snapshot.not_written", reason=error.message)
            return False
        else:
            if written:
                self._renew_brief(closing=closing)
            return written
        finally:
            self._end()

    def _begin(self, *, wait: bool) -> bool:
        """Take the turn; False where another thread has it. A signal's handler never waits for what it interrupted."""
        here = threading.get_ident()
        if self._writer == here or not self._writing.acquire(blocking=wait):
            return False
        self._writer = here
        return True

    def _end(self) -> None:
        self._writer = 0
        self._writing.release()

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
        with sequencer.io, sequencer.append_lock():
            done = snapshot.replace(prepared, lsn)
        if done:
            snapshot.directory.sync()
            return True
        tx.urgent = True
        with sequencer.ordered():
            return False
