"""Many waiters, one sync: whoever comes first leads, all who come while it syncs are led by the next.

The leader hands its lead to the first of the next batch before it wakes its own followers, so that the disk is never
idle while threads are scheduled. There is no thread of our own here: a lone writer leads itself, at no added cost.
Waiting to gather a larger batch was measured and refused: it brings nothing reliable.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["GroupCommit", "Ticket"]


class Ticket:
    """One request on its way: what it asks, and in the end what it got. ``durable``: the answer waits for a sync;
    ``flushes``: it does not, and a sync is to follow soon."""

    __slots__ = ("answer", "done", "durable", "error", "flushes", "leads", "request", "settled", "wake")

    def __init__(
        self,
        request: Any,
        *,
        durable: bool,
        flushes: bool = False,
        done: Callable[[Any, BaseException | None], None] | None = None,
    ) -> None:
        self.request = request
        self.durable = durable
        self.flushes = flushes
        self.done = done
        self.answer: Any = None
        self.error: BaseException | None = None
        self.settled = False
        self.leads = False
        self.wake: threading.Lock | None = None


class GroupCommit:
    """Serialises batches of tickets. ``lead`` works on a batch and sets ``settled`` on each ticket that got its answer
    or its error; one that it leaves unsettled (its leader was interrupted) is led again. ``call`` is told when a batch
    without a waiting thread is due, and sees to it that ``lead_waiting`` runs on a thread."""

    def __init__(self, lead: Callable[[list[Ticket]], None], call: Callable[[], None]) -> None:
        self._lead = lead
        self._call = call
        self._mutex = threading.Lock()
        self._queue: list[Ticket] = []
        self._leading = False

    def submit(self, ticket: Ticket) -> Any:
        """Wait for the ticket's answer; raises its error.

        An interrupt while another thread leads is kept until the ticket is settled: then what was recorded is known.
        """
        interrupt: BaseException | None = None
        while not ticket.settled:
            with self._mutex:
                if self._leading:
                    wake = ticket.wake = threading.Lock()
                    wake.acquire()
                    ticket.leads = False
                    self._queue.append(ticket)
                else:
                    self._leading = True
                    wake = None
            while wake is not None:
                try:
                    wake.acquire()
                    break
                except BaseException as error:
                    interrupt = error
            if wake is None or ticket.leads:
                self._run([ticket], ticket)
        if interrupt is not None:
            raise interrupt
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer

    def enqueue(self, ticket: Ticket) -> None:
        """Leave a ticket whose ``done`` is called with its answer or error."""
        with self._mutex:
            self._queue.append(ticket)
            if self._leading:
                return
            self._leading = True
        self._call()

    def lead_waiting(self) -> None:
        """Lead what waits; called on a thread after ``call``."""
        self._run([], None)

    def _run(self, batch: list[Ticket], own: Ticket | None) -> None:
        with self._mutex:
            batch += self._queue
            self._queue = []
        try:
            self._lead(batch)
        finally:
            self._hand_over(batch, own)

    def _hand_over(self, batch: list[Ticket], own: Ticket | None) -> None:
        call = False
        successor: threading.Lock | None = None
        with self._mutex:
            again = [t for t in batch if not t.settled and t.done is not None]
            self._queue[:0] = again
            for i, waiting in enumerate(self._queue):
                if waiting.done is None:
                    waiting.leads = True
                    successor = waiting.wake
                    del self._queue[i]
                    break
            if successor is None:
                call = self._leading = bool(self._queue)
        if successor is not None:
            successor.release()
        elif call:
            self._call()
        for ticket in batch:
            if ticket is own or (ticket.done is not None and not ticket.settled):
                continue
            if ticket.done is None:
                assert ticket.wake is not None
                ticket.wake.release()
            else:
                ticket.done(ticket.answer, ticket.error)
