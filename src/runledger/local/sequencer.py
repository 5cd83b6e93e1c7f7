"""The order of records: what happens between the append lock and the sync.

A batch goes through here like this: take the append lock, read what others appended, look at the state file, let
``decisions`` answer each request on that view, write all records in one call, free the lock, sync once, answer. The
lock is held for microseconds and the sync is outside of it, so that several processes share syncs too.

So whatever is long is read before: a journal that was not read yet, and what comes while another holds the lock. A lone
request with nothing new before it is written record by record, and the disk begins on each while it is folded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from runledger.decisions import decide
from runledger.errors import DiskRefused, ForkedHandle, LedgerBusy, LedgerClosed, LedgerError, LedgerFailed
from runledger.interrupts import is_from_outside
from runledger.local.directory import File
from runledger.local.files import Files
from runledger.local.group_commit import Ticket
from runledger.local.layout import APPEND_LOCK
from runledger.local.owner import FIRST_LOCK_S, OwnerLock
from runledger.local.reader import Reader
from runledger.local.transaction import LocalTransaction, new_owner_id
from runledger.local.unadopted import refuse_unadopted
from runledger.log import event
from runledger.options import Options
from runledger.store import Claim, Settle

__all__ = ["Sequencer"]

QUICK_SYNC_S = 1e-3
"""A running mean of the last syncs below this, in seconds, counts as quick; an unknown disk does not."""

PAUSE_S = 20e-6
LONGEST_PAUSE_S = 2e-3
"""Between tries of the append lock: a wait in the kernel would be fairer, and could not be bounded."""


class Sequencer:
    """One handle's way into the order of records, for the ledger in ``files``, with the handle's ``options``.

    ``reader`` has the view and ``tx`` writes on it; ``io`` guards both against the handle's own other threads.
    ``failed`` is the sync that failed: nothing more is acknowledged after it. ``forked``: this is a forked child's
    copy, ``closed``: it was let go; either refuses every call. ``later`` is asked to run ``flush`` after so many
    seconds, for records that ride.
    """

    def __init__(
        self,
        files: Files,
        reader: Reader,
        tx: LocalTransaction,
        options: Options,
        later: Callable[[float], None],
    ) -> None:
        self.files = files
        self.reader = reader
        self.tx = tx
        self.options = options
        self.io = threading.RLock()
        self.failed: DiskRefused | None = None
        self.forked = False
        self.closed = False
        self._later = later
        self._sync_s = 1.0
        self._append_lock: File | None = None
        self._owner_lock: OwnerLock | None = None

    def check_usable(self) -> None:
        """Refuse a handle that is closed, failed, or a forked child's copy."""
        if self.failed is None and not self.closed and not self.forked:
            return
        if self.forked:
            raise ForkedHandle("this ledger handle belongs to the parent process")
        if self.closed:
            raise LedgerClosed("this ledger handle is closed")
        if self.failed is not None:
            facts = self.failed.__dict__
            raise LedgerFailed(
                f"this handle has failed, nothing more is acknowledged by it: {self.failed.message}",
                path=facts.get("path"),
                errno=facts.get("errno"),
            ) from self.failed

    def is_quick(self) -> bool:
        """Whether recent syncs were so short that an event loop may as well do them itself."""
        return self._sync_s < QUICK_SYNC_S

    def is_at_work(self) -> bool:
        """Whether the calling thread is in the middle of something here, and was interrupted in it."""
        return self.io._is_owned()  # type: ignore[attr-defined,no-any-return]  # noqa: SLF001 - as Condition asks it

    # --- a batch ------------------------------------------------------------------------------------------------

    def lead(self, batch: list[Ticket]) -> None:
        """Answer each ticket of a batch, or refuse it; with more than one, what refuses one is tried on each alone."""
        try:
            self.check_usable()
            with self.io:
                file, upto = self._order(batch)
        except Exception as error:
            if is_from_outside(error):
                raise
            self._refuse(batch, error)
            return
        if file is not None:
            try:
                self.sync(file, upto)
            except DiskRefused as error:
                for ticket in batch:
                    ticket.error = ticket.error or error
        for ticket in batch:
            ticket.settled = True

    def _refuse(self, batch: list[Ticket], error: Exception) -> None:
        """Nobody is told of anything in it; a record of a lone request may have been written, and is then in doubt. The
        numbers of its claims may soon be another's."""
        for ticket in batch:
            if isinstance(ticket.request, Claim):
                memo = ticket.request.memo
                lsn = memo.pop("lsn", 0)
                if self.tx.active.get(lsn) is memo:
                    del self.tx.active[lsn]
        alone = isinstance(error, DiskRefused) or not isinstance(error, LedgerError)
        if len(batch) > 1 and alone and self.failed is None:
            for ticket in batch:
                self.lead([ticket])
            return
        for ticket in batch:
            ticket.error, ticket.settled = error, True

    def sync(self, file: File, upto: int) -> None:
        """Make everything up to ``upto`` durable. A sync that failed is never tried again: the pages that it was about
        may be marked clean by now.

        Raises:
            DiskRefused: the handle is dead from now on.
        """
        began = time.monotonic()
        try:
            file.datasync()
        except DiskRefused as error:
            self.failed = error
            event("error", "ledger.failed", path=error.__dict__.get("path"), reason=error.message)
            raise
        self._sync_s += (time.monotonic() - began - self._sync_s) / 8
        journal = self.reader.journal
        if journal is not None and upto > journal.durable:
            journal.durable = upto

    def _order(self, batch: list[Ticket]) -> tuple[File | None, int]:
        """Decide and write; the file to sync and the LSN that it then is durable up to, if anybody waits for one."""
        reader, tx = self.reader, self.tx
        if self._owner_lock is None or reader.stale:
            self._prepare(batch)
        before = reader.view.lsn
        lock = self.take_append_lock()
        try:
            reader.refresh()
            reader.stale = True
            alone = len(batch) == 1
            look = type(batch[0].request) is not Settle if alone else _asks_for_a_look(batch)
            if look or reader.journal is None or not reader.journal.clean:
                tx.catch_up(look=look)
            # Beside others the disk begins when the lock is free: to tell it takes a while, in which they wait.
            tx.eager = alone and batch[0].durable and reader.view.lsn == before
            rests_on = self._decide(batch)
            journal = reader.journal
            if journal is None:
                reader.stale = False
                return None, 0
            waits = rests_on > journal.durable
            if journal.pending or not journal.named:
                journal.append()
            if waits and journal.unproven:
                journal.rewrite()
            upto = journal.lsn
            reader.stale = False
            if waits:
                return journal.file, upto
        finally:
            tx.eager = False
            lock.unlock()
        if upto > journal.durable:
            for ticket in batch:
                if ticket.flushes:
                    self._later(self.options.flush_interval)
                    break
        return None, 0

    def _prepare(self, batch: list[Ticket]) -> None:
        """Have what a writer needs, and read all that is there: nobody has to wait for that under the append lock."""
        if self._owner_lock is None:
            refuse_unadopted(self.files, self.reader, batch)
            self.become_owner()
        if self.reader.stale:
            self.reader.read_ahead()

    def _decide(self, batch: list[Ticket]) -> int:
        """Answer or refuse each; the LSN that has to be durable before anybody is told."""
        tx, highest = self.tx, 0
        for ticket in batch:
            try:
                ticket.answer, rests_on = decide(tx, ticket.request)
            except DiskRefused:
                raise
            except LedgerError as error:
                if is_from_outside(error):
                    raise
                ticket.error = error
            else:
                if rests_on > highest and ticket.durable:
                    highest = rests_on
        return highest

    def flush(self) -> None:
        """Sync what rides."""
        with self.io:
            journal = self.reader.journal
            if self.failed is not None or journal is None or journal.file is None or self.reader.stale:
                return
            file, upto = journal.file, journal.lsn
            if upto <= journal.durable:
                return
            journal.rewrite()
        try:
            self.sync(file, upto)
        except DiskRefused:
            return  # every later call says so

    # --- locks --------------------------------------------------------------------------------------------------

    def become_owner(self) -> None:
        """Make the directories and take this owner's lock, once."""
        with self.io:
            if self._owner_lock is not None:
                return
            self.check_usable()
            self.files.make()
            assert self.files.owners is not None
            # An attempt that was interrupted may have left its file: this one has another name.
            self.tx.owner = new_owner_id()
            seconds = min(FIRST_LOCK_S, self.options.lock_timeout)
            self._owner_lock = OwnerLock.take(self.files.owners, self.tx.owner, seconds=seconds)
            self.reader.for_writing()

    def take_append_lock(self) -> File:
        """Under ``io``: the file to ``unlock``."""
        lock = self._append_lock
        if lock is None:
            assert self.files.ledger is not None
            lock = self._append_lock = self.files.ledger.open(APPEND_LOCK, write=True, create=True)
            assert lock is not None
        try:
            if not lock.lock():
                self._wait_for(lock)
            try:
                self.files.check_in_place()
            except DiskRefused as error:
                self.failed = error
                raise
        except BaseException:
            lock.unlock()  # it may have been taken just before a signal's handler raised
            raise
        return lock

    def would_wait(self) -> bool:
        """Whether somebody is in the order of records just now: an event loop must not stand still for it."""
        if not self.io.acquire(blocking=False):
            return True
        try:
            lock = self._append_lock
            if lock is None or self.closed or self.forked:
                return False
            if not lock.lock():
                return True
            lock.unlock()
            return False
        finally:
            self.io.release()

    def _wait_for(self, lock: File) -> None:
        """Try until it is free; what others appended is read meanwhile. Raises LedgerBusy where that takes too long."""
        ends = time.monotonic() + self.options.lock_timeout
        pause = PAUSE_S
        self.reader.read_ahead()
        while not lock.lock():
            if time.monotonic() > ends:
                raise LedgerBusy(
                    f"{lock.path}: another process has held the append lock for {self.options.lock_timeout:g} s",
                    hint=f"A stopped process may hold it; to see which: fuser {lock.path}",
                )
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_PAUSE_S)

    # --- the end ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of everything; the owner's lock after what it stands for."""
        self.closed = True
        with self.io:
            self.reader.close_journal()
            if self._append_lock is not None:
                self._append_lock.close()
            if self._owner_lock is not None:
                self._owner_lock.release()
            self.reader.close()

    def forget_after_fork(self) -> None:
        """In a forked child: this handle is the parent's. Its descriptors are closed, which frees no lock of it."""
        self.forked = True
        self.io = threading.RLock()  # a thread of the parent may have held it, and is not here to let it go
        if self._append_lock is not None:
            self._append_lock.close()


def _asks_for_a_look(batch: list[Ticket]) -> bool:
    """Whether one of them needs to know what others wrote into the state file; what ends a step does not."""
    for ticket in batch:  # noqa: SIM110  # a generator costs as much as all the rest of this
        if type(ticket.request) is not Settle:
            return True
    return False
