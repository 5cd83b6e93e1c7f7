"""The power goes, or a process is killed, at each call of a fixed piece of work, and again at each call after that."""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.crash.outcomes import OUTCOMES
from tests.crash.sweep import Cut, calls_of, cut_short
from tests.crash.workload import go_on, work

LEFT: list[str | int] = [*OUTCOMES, 7, 1007, 2007, 3007]
KILLS = [(False, None), (True, None), (True, 0), (True, 1)]


def test_a_power_cut_at_any_call() -> None:
    """Nothing acknowledged is lost, nothing else is there; each ninth call, each outcome in turn."""
    left = cycle(LEFT)
    for call in range(1, calls_of(work) + 1, 9):
        for _ in range(2):
            cut_short(Cut(call, next(left)))


def test_a_kill_at_any_call() -> None:
    """The same where one process is killed and another goes on; each ninth call."""
    kinds = cycle(KILLS)
    for call in range(1, calls_of(work) + 1, 9):
        done, torn = next(kinds)
        cut_short(Cut(call, kill=True, done=done, torn=torn))


def test_another_cut_in_what_follows() -> None:
    """The recovery from a cut, or from a kill, is cut itself; a few calls of each."""
    left, kinds = cycle(LEFT), cycle([False, False, True])
    following = calls_of(work, go_on)
    for call in range(1, calls_of(work) + 1, 31):
        for again in range(1 + call % 5, following + 1, 13):
            cut_short(Cut(call, next(left), kill=next(kinds)), Cut(again, next(left)))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    """Each call, each outcome, and a kill of each kind; the states are counted, at least 5,000."""
    states, calls = 0, calls_of(work)
    for call in range(1, calls + 1):
        states += sum(cut_short(Cut(call, left)) for left in [*LEFT, *range(10_000 + call, 10_004 + call)])
        states += sum(cut_short(Cut(call, "nothing", True, done, torn)) for done, torn in KILLS)
    with capsys.disabled():
        print(f"\ncrash states after one cut: {states}, at {calls} calls")
    assert states >= 5000


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_every_call_after_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    """The recovery from a cut at each call is cut itself at each of its calls; the states are counted."""
    states, calls, following = 0, calls_of(work), calls_of(work, go_on)
    left, kinds = cycle([*LEFT, *range(20_000, 20_019)]), cycle([False, False, False, True])
    for call in range(1, calls + 1):
        for again in range(1, following + 1):
            first, second = (Cut(at, next(left), kill=next(kinds)) for at in (call, again))
            states += cut_short(first, second)
    with capsys.disabled():
        print(f"\ncrash states after two cuts: {states}, at {calls} and {following} calls")
