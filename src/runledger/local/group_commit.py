"""Many waiters, one sync: whoever comes first leads, all who come while it syncs are led by the next.

The leader hands its lead to the first of the next batch before it wakes its own followers, so that the disk is never
idle while threads are scheduled. There is no thread of our own here: a lone writer leads itself, at no added cost.
Waiting to gather a larger batch was measured and refused: it brings nothing reliable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

__all__ = ["GroupCommit", "Ticket"]


class Ticket:
    """One request on its way: what it asks, and in the end what it got. ``durable``: the answer waits for a sync;
    ``flushes``: it does not, and a sync is to follow soon."""

    __slots__ = (
        "answer",
        "done",
        "durable",
        "error",
        "flushes",
        "leads",
        "request",
        "settled",
        "soon",
        "wake",
    )

    def __init__(
        self,
        request: Any,
        *,
        durable: bool,
        flushes: bool = False,
        done: Callable[[Any, BaseException | None], None] | None = None,
        soon: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self.request = request
        self.durable = durable
        self.flushes = flushes
        self.done = done
        self.soon = soon
        self.answer: Any = None
        self.error: BaseException | None = None
        self.settled = False
        self.leads = False
        self.wake: threading.Lock | None = None


class GroupCommit:
    """Serialises batches of tickets. ``lead`` works on a batch and sets ``settled`` on each ticket that got its answer
    or its error; one that it leaves unsettled (its leader was interrupted) is led again. ``call`` is told when a batch
    without a waiting thread is due, and sees to it that ``lead_called`` runs somewhere."""

    def __init__(self, lead: Callable[[list[Ticket]], None], call: Callable[[Ticket], None]) -> None:
        self._lead = lead
        self._call = call
        self._mutex = threading.Lock()
        self._queue: list[Ticket] = []
        self._leading = False
        self._called = False

    def submit(self, ticket: Ticket) -> Any:
        """Wait for the ticket's answer; raises its error.

        An interrupt while another thread leads is kept until the ticket is settled: then what was recorded is known.
        """
        interrupt: BaseException | None = None
        while not ticket.settled:
            try:
                interrupt = self._take_turn(ticket) or interrupt
            except BaseException:
                if ticket.leads:
                    self._hand_over([], ticket)
                raise
        if interrupt is not None:
            raise interrupt
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer

    def _take_turn(self, ticket: Ticket) -> BaseException | None:
        """Lead a batch, or wait until somebody has led one with the ticket in it; the interrupt that came meanwhile."""
        interrupt: BaseException | None = None
        with self._mutex:
            if self._leading:
                wake = ticket.wake = threading.Lock()
                wake.acquire()
                self._queue.append(ticket)
            else:
                wake = None
                ticket.leads = True
                self._leading = True
        while wake is not None:
            try:
                wake.acquire()
                break
            except BaseException as error:  # noqa: BLE001  # an interrupt is kept, not lost
                interrupt = error
        if ticket.leads:
            self._run([ticket], ticket)
        return interrupt

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
        with self._mutex:
            if not self._called:
                return
            self._called = False
        self._run([], None)

    def _run(self, batch: list[Ticket], own: Ticket | None) -> None:
        if self._queue or own is None:
            with self._mutex:
                batch += self._queue
                self._queue = []
        try:
            self._lead(batch)
        finally:
            if len(batch) > 1 or not self._let_go(own):
                self._hand_over(batch, own)

    def _let_go(self, own: Ticket | None) -> bool:
        """Give up the lead where nobody waits: the way of a lone writer."""
        with self._mutex:
            if own is None or self._queue:
                return False
            own.leads = self._leading = False
            return True

    def _hand_over(self, batch: list[Ticket], own: Ticket | None) -> None:
        """Give the lead on and wake the batch, to the end, whatever interrupts."""
        wakes: list[Callable[[], None]] = []
        planned = False
        interrupt: BaseException | None = None
        while not planned or wakes:
            try:
                if not planned:
                    with self._mutex:
                        wakes = self._plan(batch, own)
                        planned = True
                while wakes:
                    with suppress(RuntimeError):  # it was woken just before the interrupt
                        wakes[0]()
                    del wakes[0]
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def _plan(self, batch: list[Ticket], own: Ticket | None) -> list[Callable[[], None]]:
        """Whom to wake, the next leader first: it overlaps with waking the others."""
        wakes: list[Callable[[], None]] = []
        if own is not None:
            own.leads = False
        self._queue[:0] = [t for t in batch if not t.settled and t.done is not None and t not in self._queue]
        successor = next((t for t in self._queue if t.done is None), None)
        if successor is not None:
            self._queue.remove(successor)
            successor.leads = True
            assert successor.wake is not None
            wakes.append(successor.wake.release)
        else:
            self._leading = self._called = bool(self._queue)
            if self._leading:
                wakes.append(partial(self._call, self._queue[0]))
        for ticket in batch:
            if ticket.done is not None:
                if ticket.settled:
                    wakes.append(partial(ticket.done, ticket.answer, ticket.error))
            elif ticket is not own:
                assert ticket.wake is not None
                wakes.append(ticket.wake.release)
        return wakes
