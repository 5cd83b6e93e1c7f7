"""The store on files: the port's requests, given their place by the sequencer, several at a time under one sync."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from runledger.errors import LedgerError
from runledger.local import payloads
from runledger.local.files import Files
from runledger.local.group_commit import GroupCommit, Ticket
from runledger.local.known import committed, known, records
from runledger.local.ordered import Ordered
from runledger.local.owner import facts
from runledger.local.reader import Reader
from runledger.local.sequencer import Sequencer
from runledger.local.state_keeper import StateKeeper
from runledger.local.transaction import LocalTransaction
from runledger.local.worker import Worker
from runledger.log import event
from runledger.options import Options
from runledger.record import Closed, Record
from runledger.run_state import RUNNING
from runledger.store import (
    Aborted,
    Claim,
    Committed,
    Fate,
    Happened,
    Known,
    Move,
    Note,
    Payload,
    Request,
    Resolution,
    Settle,
    Verdict,
)
from runledger.view import Damage, OpenStep, Saved, Settled, identity_of

__all__ = ["LocalStore"]

RESCUE_S = 0.25
"""How long an event loop may take to come to the batch that it was asked to lead, in seconds."""

_stores: weakref.WeakSet[LocalStore] = weakref.WeakSet()


class LocalStore:
    """A writer on the ledger below ``root``; see ``store.Store``. Nothing is made on disk before the first record.

    Thread-safe. A forked child's copy refuses every call. After a failed sync every call raises ``LedgerFailed``.
    """

    def __init__(self, root: str, *, commit: str = "durable", options: Options | None = None) -> None:
        self.options = options or Options()
        self.files = Files(root)
        self.reader = Reader(self.files, write=False, segment_bytes=self.options.segment_bytes)
        self.tx = LocalTransaction(self.reader, facts(), commit)
        self.sequencer = Sequencer(self.files, self.reader, self.tx, self.options, self._flush_later)
        self.state_keeper = StateKeeper(self.sequencer)
        self._riding = commit == "riding"
        self._worker = Worker()
        self._group = GroupCommit(self.sequencer.lead, self._call_leader)
        self._compacting = threading.Lock()
        _stores.add(self)

    # --- the port -----------------------------------------------------------------------------------------------

    @property
    def result_bytes(self) -> int:
        return self.options.result_bytes

    def claim(self, claim: Claim) -> Verdict:
        verdict: Verdict = self._committed_already(claim) or self._perform(claim)
        return verdict

    def settle(self, settle: Settle) -> int:
        lsn: int = self._perform(settle)
        return lsn

    def mark(self, note: Note) -> int:
        lsn: int = self._perform(note)
        return lsn

    def resolve(self, resolution: Resolution) -> int:
        lsn: int = self._perform(resolution)
        return lsn

    def transition(self, move: Move) -> int:
        lsn: int = self._perform(move)
        return lsn

    def withdraw(self, claim: Claim) -> None:
        lsn = claim.memo.get("lsn", 0)
        if self.tx.active.get(lsn) is not claim.memo:
            return
        try:
            with self.sequencer.io:
                self.reader.refresh()
                step = self.reader.view.open.get(lsn)
            if step is not None and step.started == claim.memo["at"]:  # else it was never written
                self.settle(Settle(lsn=lsn, outcome=Aborted(reason="interrupted before the body began")))
        except LedgerError:
            pass  # it is in doubt, as it is after an interrupt of this
        finally:
            self.forget(claim)

    def forget(self, claim: Claim) -> None:
        lsn = claim.memo.get("lsn", 0)
        if self.tx.active.get(lsn) is claim.memo:
            self.tx.active.pop(lsn, None)

    def nowait(
        self,
        request: Request,
        done: Callable[[Any, BaseException | None], None],
        soon: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        def shown(answer: Any, error: BaseException | None) -> None:
            try:
                self._afterwards(moved=True)
            finally:
                done(answer, error)

        def finished(answer: Any, error: BaseException | None) -> None:
            if type(request) is Move and error is None:  # a move has returned when the state file shows it
                self._worker.call(partial(shown, answer, error))
                return
            done(answer, error)
            if self.state_keeper.is_due() or self._is_long():
                self._worker.call(self._afterwards)

        def enqueue() -> None:
            try:
                ticket = self._ticket(request)
                ticket.done, ticket.soon = finished, soon
                self._group.enqueue(ticket)
            except LedgerError as error:
                done(None, error)

        try:
            hit = self._committed_already(request) if type(request) is Claim else None
        except LedgerError as error:
            done(None, error)
            return
        if hit is not None:
            done(hit, None)
        elif payloads.is_large(request):
            self._worker.call(enqueue)
        else:
            enqueue()

    def lookup(self, name: str, key: str) -> Settled | OpenStep | None:
        with self.sequencer.io:
            self.sequencer.check_usable()
            return self.reader.find(name, key)

    def payload(self, held: Settled | Saved) -> Payload | None:
        if held.file is None:
            return payloads.payload_of(self.files, held)
        with self.sequencer.io:
            return payloads.payload_of(self.files, held)

    def known(self) -> Known:
        with self.sequencer.io:
            self.sequencer.check_usable()
            return known(self.reader, self.tx.owner, self.tx.active)

    def committed(self) -> Iterator[Settled]:
        with self.sequencer.io:
            self.sequencer.check_usable()
            found = committed(self.reader)
        yield from found

    def records(self, after: int = 0) -> Iterator[Record | Damage]:
        return records(self.files.root, after)

    def compact(self) -> dict[str, Any]:
        self.sequencer.check_usable()
        with self._compacting:
            self.sequencer.check_usable()
            return self._compact()

    def fate(self, step: OpenStep) -> Fate:
        """Whether the holder of an open step is alive, and how that is known."""
        return self.tx.fate(step)

    # --- one request --------------------------------------------------------------------------------------------

    def _perform(self, request: Request) -> Any:
        self._group.refuse_inside(inside=self.sequencer.is_at_work())
        try:
            return self._group.submit(self._ticket(request))
        finally:
            self._afterwards(moved=type(request) is Move)

    def _ticket(self, request: Request) -> Ticket:
        self.sequencer.check_usable()
        if type(request) is Claim:
            return Ticket(request, durable=not request.idempotent, flushes=request.idempotent)
        kept = payloads.keep(self.files, request, self.options.result_bytes)
        rides, flushes = self._rides(kept)
        return Ticket(kept, durable=not rides, flushes=flushes)

    def _rides(self, request: Request) -> tuple[bool, bool]:
        """Whether the answer waits for no sync, and whether one is to follow soon: for a riding commit none is."""
        if type(request) is Settle:
            if request.riding:
                return True, True
            return self._riding and type(request.outcome) is Happened, False
        if type(request) is Note:
            return request.riding, request.riding
        heartbeat = type(request) is Move and request.what == "heartbeat"
        return heartbeat, heartbeat

    def _committed_already(self, claim: Claim) -> Committed | None:
        """The quick way for a repeat: a commit is for ever, so no lock is needed to see one, only a RUNNING run."""
        if claim.key is None or not self.tx.opened:
            return None
        reader = self.reader
        run = reader.view.run
        if run is None:
            return None
        # Nearly every claim is of a new key, and this is only a hint: the lock is not taken for it.
        identity = identity_of(claim.scope, run.id, claim.name, claim.key)
        if not reader.base and identity not in reader.view.settled:
            return None
        with self.sequencer.io:
            self.sequencer.check_usable()
            view, journal, snapshot = reader.view, reader.journal, reader.snapshot
            if reader.stale or journal is None or snapshot is None or view.run is None:
                return None
            identity = identity_of(claim.scope, view.run.id, claim.name, claim.key)
            assert identity is not None
            if identity in view.keys:
                return None
            settled = reader.settled(identity)
            if settled is None or settled.status != "committed" or settled.lsn > journal.durable:
                return None
            if claim.inputs is not None and settled.inputs is not None and claim.inputs != settled.inputs:
                return None
            reader.refresh()
            run = reader.view.run
            if run is None or run.id != view.run.id or run.state != RUNNING or not run.known:
                return None
            return None if snapshot.problem is not None or snapshot.changed() else Committed(settled)

    # --- on the worker's thread ---------------------------------------------------------------------------------

    def _call_leader(self, ticket: Ticket) -> None:
        """Have a batch of waiting tasks led: on their own thread while syncs are short, else on the worker's,
        which also sees to it that a loop which ended meanwhile leaves nobody waiting."""
        if ticket.soon is not None and self.sequencer.is_quick():
            try:
                ticket.soon(self._lead_on_loop)
            except RuntimeError:
                pass
            else:
                self._worker.call_later(RESCUE_S, self._group.lead_called)
                return
        self._worker.call(self._group.lead_called)

    def _lead_on_loop(self) -> None:
        if self.sequencer.would_wait():
            self._worker.call(self._group.lead_called)
        else:
            self._group.lead_called()

    def _flush_later(self, seconds: float) -> None:
        self._worker.call_later(seconds, self.sequencer.flush)

    # --- afterwards ---------------------------------------------------------------------------------------------

    def _afterwards(self, *, moved: bool = False) -> None:
        """What follows a durable record: the snapshot, and a compaction when the journal is long."""
        if moved or self.state_keeper.is_due():
            self.state_keeper.after_records(moved=moved)
        if self._is_long():
            threading.Thread(target=self._compact_unasked, name="runledger-compaction", daemon=True).start()

    def _is_long(self) -> bool:
        limit, reader = self.options.compact_after, self.reader
        many = 0 < limit <= len(reader.view.settled) and reader.unfolded() >= limit
        return many and not self._compacting.locked()

    def _compact(self) -> dict[str, Any]:
        from runledger.local.compactor import compact  # few handles live to see one

        return compact(self.sequencer, self.state_keeper)

    def _compact_unasked(self) -> None:
        if not self._compacting.acquire(blocking=False):
            return
        try:
            self._compact()
        except Exception as error:  # noqa: BLE001  # nobody asked for it, and nothing is lost
            event("warning", "compaction.put_off", reason=getattr(error, "message", repr(error)))
        finally:
            self._compacting.release()

    # --- the end ------------------------------------------------------------------------------------------------

    def close(self) -> None:
        sequencer = self.sequencer
        if sequencer.closed or sequencer.forked:
            return
        with self._compacting:
            try:
                if sequencer.failed is None and self.tx.opened:
                    self._leave()
            finally:
                sequencer.close()
                self._worker.end()

    def _leave(self) -> None:
        """Say that this owner left in good order, and make everything durable."""
        with self.sequencer.io, Ordered(self.sequencer) as tx:
            tx.write(Closed(lsn=0, at=""))
            journal = self.reader.journal
            assert journal is not None
            assert journal.file is not None
            journal.append()
            journal.rewrite()
            self.sequencer.sync(journal.file, journal.lsn)
            journal.trim()
        self.state_keeper.write(closing=True)

    def forget_after_fork(self) -> None:
        """In a forked child."""
        self.sequencer.forget_after_fork()


def _after_fork() -> None:
    for store in list(_stores):
        store.forget_after_fork()


def _at_exit() -> None:
    """A handle that nobody closed: what rides is synced, and its owner has not died."""
    for store in list(_stores):
        try:
            store.close()
        except LedgerError as error:
            event("warning", "ledger.not_closed", reason=error.message)


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
