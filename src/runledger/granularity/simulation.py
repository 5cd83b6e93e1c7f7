"""A run under failures, simulated: the ground on which the formulas and the controller are tested.

A life starts, restarts, does units of work in order and records when its policy says so; a failure throws
away all that was not recorded. The same seed gives the same units and the same moments of failure, whatever
the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from runledger.granularity.adaptive import Life
from runledger.granularity.bounds import not_negative, positive
from runledger.granularity.policies import Policy
from runledger.granularity.workload import Failures

__all__ = ["Outcome", "simulate"]


class Outcome(msgspec.Struct, frozen=True):
    """Where the seconds of a simulated run went; ``finished`` is False where the limit came first."""

    work: float
    records: float
    redone: float
    restarts: float
    deaths: int
    total: float
    finished: bool = True


def simulate(
    units: Sequence[float],
    failures: Failures,
    policy: Policy,
    *,
    record_cost: float | Callable[[float], float],
    restart_cost: float = 0.0,
    limit: float = math.inf,
) -> Outcome:
    """One run through all ``units`` (seconds of work, in order); the last unit is always recorded.

    ``record_cost`` is in seconds, or a function of the moment that gives them. A unit done again takes as
    long as before. ``limit`` ends a run that failures would keep from ending.

    Raises:
        ValueError: for NaN, a negative number, an infinite cost, or a limit that is not above 0.
    """
    run = _Run(failures, positive("limit", limit))
    restart = not_negative("restart_cost", restart_cost)
    cost_at = record_cost if callable(record_cost) else None
    cost = 0.0 if callable(record_cost) else not_negative("record_cost", record_cost)
    safe, last = 0, None  # Units whose work is recorded; what the journal has of the life before.
    while safe < len(units) and run.now < limit:
        born = known = run.now
        policy.wake(born, last)
        alive = last is None or run.spend("restarts", restart)
        if alive:
            policy.begin(run.now)
        place, done = safe, 0.0
        while alive and place < len(units):
            alive = run.spend("pending", units[place])
            if not alive:
                break
            done += units[place]
            place += 1
            if place == len(units) or policy.due(run.now, done):
                took = cost if cost_at is None else not_negative("record_cost", cost_at(run.now))
                alive = run.spend("recording", took)
                if alive:
                    run.keep()
                    safe, done, known = place, 0.0, run.now
                    policy.recorded(run.now, took)
        last = Life(known - born, died=True)
    return run.outcome(finished=safe == len(units))


class _Run:
    """The clock of a simulated run, and what its seconds were spent on."""

    def __init__(self, failures: Failures, limit: float) -> None:
        self.now = 0.0
        self._moments = failures.moments()
        self._next = min(next(self._moments, math.inf), limit)
        self._limit = limit
        self._deaths = 0
        self._spent = dict.fromkeys(("work", "records", "redone", "restarts", "pending", "recording"), 0.0)

    def spend(self, on: str, seconds: float) -> bool:
        """False where a failure struck before the end: what was not recorded is then lost."""
        end = self.now + seconds
        if end < self._next:
            self._spent[on] += seconds
            self.now = end
            return True
        self._spent[on] += self._next - self.now
        self._spent["redone"] += self._take("pending") + self._take("recording")
        self.now = self._next
        self._deaths += self.now < self._limit
        self._next = min(next(self._moments, math.inf), self._limit)
        return False

    def keep(self) -> None:
        """What was pending is recorded."""
        self._spent["work"] += self._take("pending")
        self._spent["records"] += self._take("recording")

    def _take(self, name: str) -> float:
        seconds, self._spent[name] = self._spent[name], 0.0
        return seconds

    def outcome(self, *, finished: bool) -> Outcome:
        spent = self._spent
        return Outcome(
            work=spent["work"],
            records=spent["records"],
            redone=spent["redone"],
            restarts=spent["restarts"],
            deaths=self._deaths,
            total=self.now,
            finished=finished,
        )
