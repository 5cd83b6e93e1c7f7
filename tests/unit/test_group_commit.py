"""Leading, waiting and handing over, with an interrupt on each line of it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from runledger.errors import LedgerBusy
from runledger.local import group_commit
from runledger.local.group_commit import GroupCommit, Ticket

SECONDS = 20.0


LOCKS = {
    number
    for number, line in enumerate(Path(group_commit.__file__).read_text("utf-8").splitlines(), 1)
    if line.strip() == "with self._mutex:"
}


class Stop(BaseException):
    """What a signal's handler raises."""


class Led:
    """A group whose leader takes its time, with threads that submit to it."""

    def __init__(self) -> None:
        self.group = GroupCommit(self.lead, lambda _: self.group.lead_called())
        self.answered: list[Any] = []
        self.gate = threading.Event()
        self.leads = threading.Event()
        self.threads: list[threading.Thread] = []

    def lead(self, batch: list[Ticket]) -> None:
        """Answer each ticket with its request; the first batch waits for the gate."""
        self.leads.set()
        if threading.current_thread() is not threading.main_thread():
            self.gate.wait(SECONDS)
        for ticket in batch:
            if not ticket.settled:
                self.answered.append(ticket.request)
                ticket.answer, ticket.settled = ticket.request, True

    def submit(self, request: int) -> Any:
        """As a caller of the store does."""
        return self.group.submit(Ticket(request, durable=True))

    def beside(self, request: int) -> None:
        """Submit from another thread."""
        thread = threading.Thread(target=self.submit, args=(request,), daemon=True)
        thread.start()
        self.threads.append(thread)

    def is_queued(self, count: int) -> bool:
        """Whether so many wait."""
        return len(self.group._queue) >= count


def alone(led: Led) -> None:
    """A lone writer, for the second time."""
    led.gate.set()
    led.submit(0)
    led.submit(3)


def waiting(led: Led) -> None:
    """Another thread leads while this one comes."""
    led.beside(1)
    led.leads.wait(SECONDS)
    threading.Timer(0.01, led.gate.set).start()
    led.submit(0)


def leading(led: Led) -> None:
    """Others come while this one leads, and one of them inherits the lead."""
    led.gate.set()
    inner = led.group._lead

    def lead(batch: list[Ticket]) -> None:
        if threading.current_thread() is threading.main_thread() and not led.threads:
            led.beside(1)
            led.beside(2)
            end = time.monotonic() + SECONDS
            while not led.is_queued(2) and time.monotonic() < end:
                time.sleep(0.0005)
        inner(batch)

    led.group._lead = lead
    led.submit(0)


def interrupted(led: Led, scenario: Callable[[Led], None], at: int, *, twice: bool) -> bool:
    """Run a scenario and raise ``Stop`` on the module's line number ``at`` of this thread; whether there were so many.
    ``twice``: again as soon as the module calls one of its functions.

    Not where a lock is taken or let go: Python runs no handler of a signal there.
    """
    left = at

    def again(frame: FrameType, event: str, _: Any) -> None:
        if left < 0 and event == "call" and frame.f_code.co_filename == group_commit.__file__:
            sys.setprofile(None)
            raise Stop

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != group_commit.__file__:
            return None
        if event == "line" and frame.f_lineno not in LOCKS:
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise Stop
        return trace

    before, profiled = sys.gettrace(), sys.getprofile()
    if twice:
        sys.setprofile(again)
    sys.settrace(trace)
    try:
        scenario(led)
    except Stop:
        return True
    finally:
        sys.settrace(before)
        sys.setprofile(profiled)
    return left < 0


def lines(scenario: Callable[[Led], None], *, twice: bool) -> Iterator[Led]:
    """The scenario interrupted on each of its lines, one after the other."""
    at = 0
    while True:
        led = Led()
        stopped = interrupted(led, scenario, at, twice=twice)
        led.gate.set()
        yield led
        if not stopped:
            return
        at += 1


@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("scenario", [alone, waiting, leading])
def test_an_interrupt_on_each_line(scenario: Callable[[Led], None], *, twice: bool) -> None:
    """Whoever else waits gets an answer, once, and so does whoever comes after."""
    count = 0
    for led in lines(scenario, twice=twice):
        count += 1
        led.beside(9)
        for thread in led.threads:
            thread.join(SECONDS)
        assert not any(thread.is_alive() for thread in led.threads), f"on line {count}"
        assert sorted(led.answered) == sorted(set(led.answered))
        assert {9, *({1, 2} & set(led.answered))} <= set(led.answered)
        assert len(led.answered) >= len(led.threads)
    assert count > 10


def test_a_request_from_inside_another_one() -> None:
    """It would wait for what it interrupted, so it is refused, and the outer one goes on."""
    led = Led()
    led.gate.set()
    refusals = []
    inner = led.group._lead

    def lead(batch: list[Ticket]) -> None:
        with pytest.raises(LedgerBusy, match="interrupted") as refused:
            led.group.refuse_inside()
        refusals.append(refused.value)
        inner(batch)

    led.group._lead = lead
    assert led.submit(1) == 1
    assert len(refusals) == 1
    led.group.refuse_inside()


def test_an_interrupt_that_is_false() -> None:
    """An exception of somebody's own may have a length, and is none the less one."""

    class Nothing(BaseException):
        def __len__(self) -> int:
            return 0

    led = Led()
    led.gate.set()
    inner, calls = led.group._lead, 0

    def lead(batch: list[Ticket]) -> None:
        nonlocal calls
        calls += 1
        inner(batch)
        if calls == 1:
            raise Nothing

    led.group._lead = lead
    with pytest.raises(Nothing):
        led.submit(1)
    assert led.submit(2) == 2
