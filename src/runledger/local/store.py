"""The store on files: puts requests in order under the append lock, and answers when what they rest on is durable.

A batch goes through here like this: take the append lock, read what others appended, look at the state file, let
``decisions`` answer each request on that view, write all records in one call, free the lock, sync once, answer. The
lock is held for microseconds and the sync is outside of it, so that several processes share syncs too.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import msgspec

from runledger.decisions import decide
from runledger.errors import (
    DiskRefused,
    ForkedHandle,
    LedgerBusy,
    LedgerClosed,
    LedgerError,
    LedgerFailed,
)
from runledger.fold import identity_of
from runledger.local import compactor, results
from runledger.local.directory import File
from runledger.local.files import Files
from runledger.local.group_commit import GroupCommit, Ticket
from runledger.local.known import known, records
from runledger.local.layout import APPEND_LOCK
from runledger.local.owner import OwnerLock, facts
from runledger.local.reader import Reader
from runledger.local.transaction import LocalTransaction
from runledger.local.worker import Worker
from runledger.log import event
from runledger.options import Options
from runledger.record import Closed, Record
from runledger.run_state import RUNNING
from runledger.store import Aborted, Claim, Committed, Fate, Happened, Known, Move, Note, Payload, Request, Resolution, Settle, Verdict
from runledger.view import Damage, OpenStep, Saved, Settled

__all__ = ["LocalStore"]

_stores: weakref.WeakSet[LocalStore] = weakref.WeakSet()


class LocalStore:
    """A writer on the ledger below ``root``; see ``store.Store``. Nothing is made on disk before the first record.

    Thread-safe. A forked child's copy refuses every call. After a failed sync every call raises ``LedgerFailed``.
    """

    def __init__(self, root: str, *, commit: str = "durable", options: Options | None = None) -> None:
        self.options = options or Options()
        self.files = Files(root)
        self.reader = Reader(self.files, write=True, segment_bytes=self.options.segment_bytes)
        self.riding = commit == "riding"
        self.tx = LocalTransaction(self.reader, facts(), commit)
        self._io = threading.RLock()
        self._worker = Worker()
        self._group = GroupCommit(self._lead, self._call_leader)
        self._append_lock: File | None = None
        self._owner_lock: OwnerLock | None = None
        self._failed: DiskRefused | None = None
        self._forked = False
        self._closed = False
        self._writing_snapshot = threading.Lock()
        self._compacting = threading.Lock()
        _stores.add(self)

    # --- the port -----------------------------------------------------------------------------------------------

    def claim(self, claim: Claim) -> Verdict:
        hit = self._committed_already(claim)
        if hit is not None:
            return hit
        return cast("Verdict", self._perform(claim))

    def settle(self, settle: Settle) -> int:
        return cast("int", self._perform(self._with_results_kept(settle)))

    def mark(self, note: Note) -> int:
        return cast("int", self._perform(self._with_results_kept(note)))

    def resolve(self, resolution: Resolution) -> int:
        return cast("int", self._perform(self._with_results_kept(resolution)))

    def transition(self, move: Move) -> int:
        return cast("int", self._perform(move))

    def withdraw(self, claim: Claim) -> None:
        lsn = claim.memo.get("lsn")
        if lsn is None or lsn not in self.tx.active:
            return
        try:
            self.settle(Settle(lsn=lsn, outcome=Aborted(reason="interrupted before the body began")))
        except LedgerError:
            self.tx.active.discard(lsn)

    def forget(self, lsn: int) -> None:
        self.tx.active.discard(lsn)

    def nowait(self, request: Request, done: Callable[[Any, BaseException | None], None]) -> None:
        def finished(answer: Any, error: BaseException | None) -> None:
            done(answer, error)
            self._worker.call(self._afterwards)

        def enqueue() -> None:
            try:
                self._check_usable()
                ticket = Ticket(self._with_results_kept(request), self._waits(request), finished)
            except LedgerError as error:
                done(None, error)
            else:
                self._group.enqueue(ticket)

        if type(request) is Claim:
            try:
                hit = self._committed_already(request)
            except LedgerError as error:
                done(None, error)
                return
            if hit is not None:
                done(hit, None)
                return
        if _carries_large(request):
            self._worker.call(enqueue)
        else:
            enqueue()

    def lookup(self, name: str, key: str) -> Settled | OpenStep | None:
        with self._io:
            self._check_usable()
            self.reader.refresh()
            view = self.reader.view
            run = view.run.id if view.run is not None else ""
            for scope in ("run", "ledger"):
                identity = identity_of(scope, run, name, key)
                assert identity is not None
                found = view.open.get(view.keys.get(identity, 0)) or self.reader.settled(identity)
                if found is not None:
                    return found
        return None

    def payload(self, held: Settled | Saved) -> Payload | None:
        if held.file is not None:
            with self._io:
                self.files.find()
                assert self.files.ledger is not None
                return Payload(results.load(self.files.ledger, held.file, held.size or 0), held.typed)
        raw = held.result if isinstance(held, Settled) else held.state
        return None if raw is None else Payload(bytes(raw), held.typed)

    def known(self) -> Known:
        with self._io:
            self._check_usable()
            return known(self.reader, self.tx.owner, self.tx.active)

    def records(self, after: int = 0) -> Iterator[Record | Damage]:
        return records(self.files.root, after)

    def compact(self) -> dict[str, Any]:
        self._check_usable()
        with self._compacting:
            return compactor.compact(self)

    # --- one request --------------------------------------------------------------------------------------------

    def _perform(self, request: Request) -> Any:
        self._check_usable()
        try:
            return self._group.submit(Ticket(request, self._waits(request)))
        finally:
            self._afterwards()

    def _waits(self, request: Request) -> bool:
        """Whether the answer waits for a sync; if not, what rides is synced soon, or with the next record that is."""
        if type(request) is Claim:
            return not request.idempotent
        if type(request) is Note:
            return not request.riding
        if type(request) is Settle:
            return not request.riding and not (self.riding and type(request.outcome) is Happened)
        return not (type(request) is Move and request.what == "heartbeat")

    def _check_usable(self) -> None:
        if self._forked:
            raise ForkedHandle("this ledger handle belongs to the parent process")
        if self._closed:
            raise LedgerClosed("this ledger handle is closed")
        if self._failed is not None:
            raise LedgerFailed(
                f"an earlier sync failed, nothing more is acknowledged: {self._failed.message}",
                path=getattr(self._failed, "path", None),
                errno=getattr(self._failed, "errno", None),
            ) from self._failed

    def _with_results_kept(self, request: Any) -> Any:
        """Large values go to their files first: durable before the record that refers to them, and not under the lock."""
        payload, put = _payload_of(request)
        if payload is None:
            return request
        if len(payload.json) > self.options.result_bytes:
            raise ValueTooLarge(len(payload.json), self.options.result_bytes)
        if len(payload.json) > results.INLINE_BYTES:
            self.files.make()
            assert self.files.ledger is not None
            digest = results.save(self.files.ledger, payload.json)
            return put(msgspec.structs.replace(payload, json=b"", file=digest, size=len(payload.json)))
        return request

    def _committed_already(self, claim: Claim) -> Committed | None:
        """The quick way for a repeat: a commit is for ever, so no lock is needed to see one, only a RUNNING run."""
        if claim.key is None:
            return None
        with self._io:
            self._check_usable()
            reader = self.reader
            if reader.stale or reader.journal is None or reader.snapshot is None or not self.tx.opened:
                return None
            reader.refresh()
            run = reader.view.run
            if run is None or run.state != RUNNING or reader.snapshot.problem is not None or reader.snapshot.changed():
                return None
            identity = identity_of(claim.scope, run.id, claim.name, claim.key)
            assert identity is not None
            if identity in reader.view.keys:
                return None
            settled = reader.settled(identity)
            if settled is None or settled.status != "committed" or settled.lsn > reader.journal.durable:
                return None
            if claim.inputs is not None and settled.inputs is not None and claim.inputs != settled.inputs:
                return None
            return Committed(settled)

    # --- a batch ------------------------------------------------------------------------------------------------

    def _call_leader(self) -> None:
        self._worker.call(self._group.lead_waiting)

    def _lead(self, batch: list[Ticket]) -> None:
        try:
            self._check_usable()
            with self._io:
                file, upto = self._order(batch)
        except LedgerError as error:
            if len(batch) > 1 and isinstance(error, DiskRefused) and self._failed is None:
                for ticket in batch:
                    self._lead([ticket])
                return
            _refuse(batch, error)
            return
        if file is not None:
            try:
                file.datasync()
            except DiskRefused as error:
                self._failed = error
                event("error", "ledger.failed", path=error.__dict__.get("path"), reason=error.message)
                _refuse([t for t in batch if t.error is None], error)
                return
            journal = self.reader.journal
            if journal is not None:
                journal.durable = max(journal.durable, upto)
        for ticket in batch:
            ticket.settled = True

    def _order(self, batch: list[Ticket]) -> tuple[File | None, int]:
        """Decide and write; the file to sync and the LSN that it then is durable up to, if anybody waits for one."""
        self._refuse_unadopted(batch)
        self.become_owner()
        lock = self._take_append_lock()
        try:
            self.reader.refresh()
            self.reader.stale = True
            self.tx.catch_up()
            for ticket in batch:
                try:
                    ticket.answer, ticket.rests_on = decide(self.tx, ticket.request)
                except DiskRefused:
                    raise
                except LedgerError as error:
                    ticket.error = error
            journal = self.reader.journal
            if journal is None:
                self.reader.stale = False
                return None, 0
            journal.append()
            rests_on = max((t.rests_on for t in batch if t.durable), default=0)
            waited_for = rests_on > journal.durable
            if waited_for:
                journal.rewrite()
            elif journal.lsn > journal.durable and any(not t.durable for t in batch) and not self._rides(batch):
                self._worker.call_later(self.options.flush_interval, self._flush)
            self.reader.stale = False
            return (journal.file, journal.lsn) if waited_for else (None, 0)
        finally:
            lock.unlock()

    def _rides(self, batch: list[Ticket]) -> bool:
        """Whether all that is left unsynced are commits that wait for the next intent by the user's own choice."""
        return self.riding and all(type(t.request) is Settle and not t.request.riding for t in batch if not t.durable)

    def _refuse_unadopted(self, batch: list[Ticket]) -> None:
        """A state file that no journal speaks for forbids steps before anything is made on disk."""
        if self.files.ledger is None and any(type(t.request) is not Move for t in batch):
            self.reader.refresh()
            snapshot = self.reader.snapshot
            if self.files.ledger is None and snapshot is not None:
                snapshot.look(self.reader.view, keep=False)
                if snapshot.problem is not None:
                    raise snapshot.problem

    def become_owner(self) -> None:
        if self._owner_lock is None:
            self.files.make()
            assert self.files.owners is not None
            self._owner_lock = OwnerLock.take(self.files.owners, self.tx.owner)
            self.reader.stale = True

    def _take_append_lock(self) -> File:
        lock = self._append_lock
        if lock is None:
            assert self.files.ledger is not None
            lock = self._append_lock = self.files.ledger.open(APPEND_LOCK, write=True, create=True)
            assert lock is not None
        if lock.lock():
            return lock
        ends = time.monotonic() + self.options.lock_timeout
        pause = 20e-6
        while not lock.lock():
            if time.monotonic() > ends:
                raise LedgerBusy(
                    f"{lock.path}: another process has held the append lock for {self.options.lock_timeout:g} s",
                    hint="A stopped process may hold it; find it with: fuser " + lock.path,
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 2e-3)
        return lock

    def _flush(self) -> None:
        """Sync what rides; on the worker's thread."""
        with self._io:
            journal = self.reader.journal
            if self._failed is not None or journal is None or journal.file is None or self.reader.stale:
                return
            file, upto = journal.file, journal.lsn
            if upto <= journal.durable:
                return
        try:
            file.datasync()
        except DiskRefused as error:
            self._failed = error
            event("error", "ledger.failed", path=error.__dict__.get("path"), reason=error.message)
            return
        journal.durable = max(journal.durable, upto)

    @contextmanager
    def ordered(self) -> Iterator[LocalTransaction]:
        """A place in the order of records for what is no request: compaction and leaving."""
        self.become_owner()
        with self._io:
            lock = self._take_append_lock()
            try:
                self.reader.refresh()
                self.reader.stale = True
                self.tx.catch_up()
                yield self.tx
                if self.reader.journal is not None:
                    self.reader.journal.append()
                self.reader.stale = False
            finally:
                lock.unlock()

    def held(self) -> threading.RLock:
        """The handle's own lock, for who changes the view in place."""
        return self._io

    def fate(self, step: OpenStep) -> Fate:
        """Whether the holder of an open step is alive, and how that is known."""
        return self.tx.fate(step)

    # --- afterwards ---------------------------------------------------------------------------------------------

    def _afterwards(self) -> None:
        """What follows a durable record and never fails it: the snapshot, and a compaction when the journal is long."""
        tx = self.tx
        if not tx.unshown and not tx.urgent:
            return
        if tx.urgent or time.monotonic() >= tx.shown_at + 1.0:
            self.write_snapshot()
        limit = self.options.compact_after
        if limit and len(self.reader.view.settled) >= limit and self._compacting.acquire(blocking=False):
            self._compacting.release()
            self._start_compaction()

    def write_snapshot(self) -> bool:
        """Bring the state file up to date; False, with a warning, where it cannot be written."""
        if self._failed is not None or self._forked or not self._writing_snapshot.acquire(blocking=False):
            return False
        try:
            return self._write_snapshot()
        except LedgerError as error:
            event("warning", "snapshot.not_written", reason=error.message)
            return False
        finally:
            self._writing_snapshot.release()

    def _write_snapshot(self) -> bool:
        for _ in range(5):
            with self._io:
                snapshot, journal = self.reader.snapshot, self.reader.journal
                if snapshot is None or journal is None or self.reader.stale:
                    return False
                if not self.tx.urgent and not snapshot.due():
                    return False
                self.tx.shown_at = time.monotonic()
                self.tx.unshown, urgent, self.tx.urgent = False, self.tx.urgent, False
                lsn, durable, file = journal.lsn, journal.durable, journal.file
                prepared = snapshot.prepare(self.reader.view, self.tx.in_doubt())
            if prepared is None:
                return True
            if durable < lsn and file is not None:
                file.datasync()
            with self._io:
                lock = self._take_append_lock()
                try:
                    done = snapshot.replace(prepared, lsn)
                finally:
                    lock.unlock()
                if not done:
                    self.tx.urgent = self.tx.urgent or urgent
                    self._look_again()
                    continue
            snapshot.directory.sync()
            return True
        return False

    def _look_again(self) -> None:
        """The state file changed under us: take in what it says before it is replaced."""
        with self.ordered():
            pass

    def _start_compaction(self) -> None:
        def run() -> None:
            with self._compacting:
                try:
                    compactor.compact(self)
                except LedgerError as error:
                    event("warning", "compaction.put_off", reason=error.message)

        threading.Thread(target=run, name="runledger-compaction", daemon=True).start()

    # --- the end ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        if self._closed or self._forked:
            return
        try:
            if self._failed is None and self.tx.opened:
                self._leave()
        finally:
            self._closed = True
            self._worker.end()
            with self._compacting, self._io:
                self.reader.close()
                if self._append_lock is not None:
                    self._append_lock.close()
                if self._owner_lock is not None:
                    self._owner_lock.release()
                self.files.close()

    def _leave(self) -> None:
        """Say that this owner left in good order, and make everything durable."""
        with self.ordered() as tx:
            tx.write(Closed(lsn=0, at=""))
            journal = self.reader.journal
            assert journal is not None and journal.file is not None
            journal.append()
            journal.rewrite()
            try:
                journal.file.datasync()
            except DiskRefused as error:
                self._failed = error
                raise
            journal.durable = journal.lsn
            journal.trim()
        self.write_snapshot()

    def forget_after_fork(self) -> None:
        """In a forked child: this handle is the parent's. Its descriptors are closed, which frees no lock of it."""
        self._forked = True
        if self._append_lock is not None:
            self._append_lock.close()


class ValueTooLarge(ValueError):
    """An encoded value has more bytes than are stored."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"it has {size} bytes when encoded, more than the limit of {limit}")


def _payload_of(request: Any) -> tuple[Payload | None, Callable[[Payload], Any]]:
    if type(request) is Settle and type(request.outcome) is Happened:
        outcome = request.outcome
        return outcome.result, lambda p: msgspec.structs.replace(request, outcome=msgspec.structs.replace(outcome, result=p))
    if type(request) is Note:
        return request.state, lambda p: msgspec.structs.replace(request, state=p)
    if type(request) is Resolution:
        return request.result, lambda p: msgspec.structs.replace(request, result=p)
    return None, lambda p: request


def _carries_large(request: Request) -> bool:
    payload, _ = _payload_of(request)
    return payload is not None and len(payload.json) > results.INLINE_BYTES


def _refuse(batch: list[Ticket], error: LedgerError) -> None:
    for ticket in batch:
        ticket.error = error
        ticket.settled = True


def _after_fork() -> None:
    for store in list(_stores):
        store.forget_after_fork()


os.register_at_fork(after_in_child=_after_fork)

