"""Many waiters, one sync: whoever comes first leads, all who come while it syncs are led by the next.

The leader hands its lead to the first of the next batch before it wakes its own followers, so that the disk is never
idle while threads are scheduled. There is no thread of our own here: a lone writer leads itself, at no added cost.
Waiting to gather a larger batch was measured and refused: it brings nothing reliable.

A signal's handler may raise between any two steps of this, and may not come back for the lock that it interrupted. So
whether a ticket still is somebody else's is read off the ticket, never off how far its thread came.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from runledger.errors import LedgerBusy

__all__ = ["GroupCommit", "Ticket"]

TRIES = 3
"""Of one wake-up that is interrupted again and again."""


class Ticket:
    """One request on its way, and in the end its ``answer`` or its ``error``. ``durable``: the answer waits for a sync;
    ``flushes``: it does not, and a sync is to follow soon.

    A ticket that no thread waits for has ``done``, which is called with both, and perhaps ``soon``, which has a call
    made on the thread of its event loop. Of a thread's ticket ``wake`` is what it sleeps on, ``taken`` says that a
    leader has it in its batch, ``roused`` that it is its own thread's again: ``settled``, or to lead (``leads``), or to
    be submitted once more.
    """

    done: Callable[[Any, BaseException | None], None] | None = None
    soon: Callable[[Callable[[], None]], None] | None = None
    answer: Any = None
    error: BaseException | None = None
    settled = False
    leads = False
    taken = False
    roused = True
    wake: threading.Lock | None = None

    def __init__(self, request: Any, *, durable: bool, flushes: bool = False) -> None:
        self.request = request
        self.durable = durable
        self.flushes = flushes

    def rouse(self) -> None:
        """Give the ticket back to its thread; again changes nothing."""
        self.taken = False
        self.roused = True
        assert self.wake is not None
        with suppress(RuntimeError):
            self.wake.release()


class GroupCommit:
    """Serialises batches of tickets. ``lead`` works on a batch and sets ``settled`` on each ticket that got its answer
    or its error; one that it leaves unsettled (its leader was interrupted) is led again. ``call`` is told when a batch
    without a waiting thread is due, and sees to it that ``lead_called`` runs somewhere."""

    def __init__(self, lead: Callable[[list[Ticket]], None], call: Callable[[Ticket], None]) -> None:
        self._lead = lead
        self._call = call
        self._mutex = threading.RLock()  # a handler that runs inside is told to stay out, not made to wait
        self._queue: list[Ticket] = []
        self._leading = False
        self._called = False
        self._inside: set[int] = set()
        # Of the leader: kept here until its lead is handed over, since an interrupt may come before it could.
        self._batch: list[Ticket] = []
        self._heir: Ticket | None = None

    def refuse_inside(self, *, inside: bool = False) -> None:
        """Refuse a request from inside another one of the same thread: a signal's handler, or a generator that the
        garbage collector ends, would wait for what it interrupted.

        Raises:
            LedgerBusy: this thread is at work on a request.
        """
        if inside or threading.get_ident() in self._inside:
            raise LedgerBusy(
                "this thread was interrupted in the middle of a record, and cannot begin another one inside it",
                hint="In a handler of a signal, set a flag or let another thread do it.",
            )

    def submit(self, ticket: Ticket) -> Any:
        """Wait for the ticket's answer; raises its error.

        An interrupt while another thread has the ticket is kept until it is settled: then what was recorded is known.
        """
        here = threading.get_ident()
        interrupt: BaseException | None = None
        try:
            self._inside.add(here)
            while not ticket.settled:
                try:
                    if interrupt is not None and (ticket.roused or not self._is_held(ticket)):
                        break
                    self._take_turn(ticket)
                except BaseException as error:  # noqa: BLE001  # raised below
                    interrupt = error
        finally:
            # A second interrupt may come before the first is dealt with, and all others wait for this.
            while ticket.leads:
                try:
                    self._hand_over(ticket)
                except BaseException as error:  # noqa: BLE001  # raised below, unless another one is on its way
                    interrupt = error
            self._inside.discard(here)
        failed = ticket.error if interrupt is None else interrupt
        if failed is None:
            return ticket.answer
        try:
            raise failed
        finally:
            # Its traceback has this frame: an attempt that is cut off is let go at once, not by some later collection.
            failed = interrupt = ticket.error = None

    def _take_turn(self, ticket: Ticket) -> None:
        """Lead a batch, or wait until somebody has led one with the ticket in it."""
        if not ticket.leads and (ticket.roused or not self._is_held(ticket)):
            with self._mutex:
                if self._leading:
                    wake = threading.Lock()
                    wake.acquire()
                    ticket.wake, ticket.roused = wake, False
                    self._queue.append(ticket)
                else:
                    ticket.leads = True
                    self._leading = True
        while not ticket.roused:
            assert ticket.wake is not None
            ticket.wake.acquire()
        if ticket.leads:
            self._run(ticket)

    def _is_held(self, ticket: Ticket) -> bool:
        """Whether the ticket waits in the queue or in a leader's batch."""
        if ticket.roused:
            return False
        with self._mutex:
            if ticket.taken or ticket in self._queue:
                return True
            ticket.roused = True  # its thread was interrupted before the queue had it
            return False

    def enqueue(self, ticket: Ticket) -> None:
        """Leave a ticket whose ``done`` is called with its answer or error."""
        with self._mutex:
            self._queue.append(ticket)
            if self._leading:
                return
            self._leading = self._called = True
        self._call(ticket)

    def lead_called(self) -> None:
        """Lead what waits, if a leader was called and none came yet."""
        here = threading.get_ident()
        if here in self._inside:
            return  # whoever called sees to it that it is tried again
        nobody = Ticket(None, durable=False)
        nobody.done = _nobody
        try:
            self._inside.add(here)
            with self._mutex:
                if self._called:
                    self._called, nobody.leads = False, True
            if nobody.leads:
                self._run(nobody)
        finally:
            while nobody.leads:
                with suppress(BaseException):  # one that is on its way goes on to whoever called
                    self._hand_over(nobody)
            self._inside.discard(here)

    def _run(self, own: Ticket) -> None:
        try:
            self._batch = [own] if own.done is None else []
            if self._queue:
                with self._mutex:
                    for ticket in self._queue:
                        ticket.taken = True
                    self._batch += self._queue
                    self._queue = []
            self._lead(self._batch)
        finally:
            if len(self._batch) == 1 and own.done is None:
                with self._mutex:
                    if not self._queue:  # nobody waits: the way of a lone writer
                        self._batch, self._leading, own.leads = [], False, False
            if own.leads:
                self._hand_over(own)

    def _hand_over(self, own: Ticket) -> None:
        """Give the lead on and wake the batch, to the end, whatever interrupts."""
        wakes: list[Callable[[], None]] = []
        interrupt: BaseException | None = None
        tries = 0
        while own.leads or wakes:
            try:
                if own.leads:
                    with self._mutex:
                        self._plan(own, wakes)
                while wakes:
                    wakes[0]()
                    del wakes[0]
                    tries = 0
            except BaseException as error:  # noqa: BLE001  # raised again below
                interrupt = error
                tries += 1
                if tries == TRIES and wakes:
                    del wakes[0]
        if interrupt is not None:
            raise interrupt

    def _plan(self, own: Ticket, wakes: list[Callable[[], None]]) -> None:
        """Whom to wake, the next leader first: it overlaps with waking the others. To plan again plans the same; the
        last line ends the lead, all at once."""
        queued = set(map(id, self._queue))
        batch = [t for t in self._batch if id(t) not in queued]
        self._queue[:0] = [t for t in batch if not t.settled and t.done is not None]
        heir = self._heir = self._heir or next((t for t in self._queue if t.done is None), None)
        plan: list[Callable[[], None]] = []
        if heir is not None:
            heir.taken = heir.leads = True
            if heir in self._queue:
                self._queue.remove(heir)
            plan.append(heir.rouse)
        elif self._queue:
            plan.append(partial(self._call, self._queue[0]))
        for ticket in batch:
            if ticket.done is not None:
                if ticket.settled:
                    plan.append(partial(ticket.done, ticket.answer, ticket.error))
            elif ticket is not own and ticket is not heir:
                plan.append(ticket.rouse)
        wakes[:] = plan
        calls = heir is None and bool(self._queue)
        leading = heir is not None or calls
        self._batch, self._heir, self._leading, self._called, own.leads = [], None, leading, calls, False


def _nobody(_: Any, __: BaseException | None) -> None:
    """Whom the ticket of a called leader tells."""
