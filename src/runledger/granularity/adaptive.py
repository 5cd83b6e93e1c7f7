"""When to record next, learnt while running: what a record costs, how often lives end, when that changes.

A controller dies with its process, so nothing that it needs is kept in it alone: ``Pacer`` is built from what
a journal has, the lives so far and what their records cost. A death is only learnt of at the next start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from runledger.granularity.bounds import not_negative, positive
from runledger.granularity.optimum import optimal_interval

__all__ = ["Life", "Pacer"]

_LIVES = 64
"""Lives looked at: rates older than that do not matter, and looking costs time."""

_SURPRISE = 3.0
"""How many times likelier, as a logarithm, two rates must be than one before the older is forgotten."""

_COSTS = 16
"""Records over which the cost is averaged: few enough to follow a disk, enough to even out one slow sync."""

_UNITS = 16
"""Units of work over which their length is averaged."""

_GUESS = 0.5
"""Deaths that a first guess of the interval counts for."""

_STALE = 0.02
"""How much longer the time looked at must grow before the rate is looked at again."""

_LEAST_COST = 1e-6
"""Seconds: a record that seems to cost nothing was too quick for the clock."""


class Life(msgspec.Struct, frozen=True):
    """One process's life: ``seconds`` from its start to the last fact that the journal has of it.

    Of a life that ``died`` the end is not recorded. ``unseen`` is the longest that it can have gone on: half
    of it is added. None stands for one interval between records, as recommended then; 0 where the moment of
    death is known.
    """

    seconds: float
    died: bool
    unseen: float | None = None


class Pacer:
    """Says at each boundary between units of work whether a record is due.

    Args:
        lives: earlier lives of the run, in order.
        record_costs: what records cost, in seconds, in order.
        first: the interval to start from, in seconds of work. It counts as half a death in half of the mean
            time between failures for which it would be best, and is dropped once the deaths seen contradict
            it. Without it the first record is due at once, and the interval grows from there with the time
            survived.
        at_most: never plan to have more seconds of work than this unrecorded.

    Times passed as ``now`` are seconds since this life began, from a clock that does not jump; a life
    includes its restart, since failures strike there too. Not safe to share between threads without a lock.

    Raises:
        ValueError: for NaN, a negative or infinite number of seconds, or bounds that are not above 0.
    """

    def __init__(
        self,
        lives: Iterable[Life] = (),
        record_costs: Iterable[float] = (),
        *,
        first: float | None = None,
        at_most: float | None = None,
    ) -> None:
        self._first = None if first is None else positive("first", first, finite=True)
        self._at_most = math.inf if at_most is None else positive("at_most", at_most)
        self._cost: float | None = None
        self._costs_seen = 0
        self._unit = 0.0
        self._units_seen = 0
        self._since = 0.0
        self._asked = 0.0
        self._stale_at = 0.0
        for cost in record_costs:
            self._learn_cost(not_negative("record_costs", cost))
        # Seconds of running before each death but the last, and those since it.
        self._gaps: list[float] = []
        self._survived = 0.0
        for life in list(lives)[-_LIVES:]:
            self._learn_life(life)
        self._refresh(0.0)

    @property
    def interval(self) -> float:
        """Seconds of work between records, as now recommended; 0 while nothing is known: record at once."""
        return self._interval

    @property
    def record_cost(self) -> float | None:
        """What a record costs, in seconds; None before the first."""
        return self._cost

    @property
    def mean_time(self) -> float:
        """Seconds between failures as assumed for the interval: with few deaths a guess, no estimate.

        For what is known of the rate, ask ``failure_rate``.
        """
        return self._mean_time

    def begin(self, now: float) -> None:
        """Work begins, or goes on, at ``now``: what came before was restart."""
        self._since = self._asked = now

    def due(self, now: float) -> bool:
        """Whether to record at this boundary rather than at the next, about one unit of work away."""
        done = now - self._since
        if done <= 0:
            return False
        self._units_seen += 1
        weight = max(1 / self._units_seen, 1 / _UNITS)
        self._unit += (max(0.0, now - self._asked) - self._unit) * weight
        self._asked = now
        unit = self._unit
        if done + unit > self._at_most or done >= self._interval:
            return True
        if done + unit <= self._interval or self._cost is None:
            return False
        # The best interval lies between this boundary and the next: the cheaper is taken, not the nearer.
        return _price(done, self._cost, self._mean_time) <= _price(done + unit, self._cost, self._mean_time)

    def recorded(self, now: float, cost: float) -> None:
        """A record became durable at ``now`` and took ``cost`` seconds; work goes on from here."""
        self._learn_cost(not_negative("cost", cost))
        self._since = self._asked = now
        if now >= self._stale_at:
            self._refresh(now)
        else:
            self._interval = self._best()

    def _learn_cost(self, cost: float) -> None:
        self._costs_seen += 1
        known = cost if self._cost is None else self._cost
        self._cost = known + (cost - known) * max(1 / self._costs_seen, 1 / _COSTS)

    def _learn_life(self, life: Life) -> None:
        self._survived += not_negative("seconds", life.seconds)
        if not life.died:
            return
        if life.unseen is None:
            self._refresh(0.0)
            self._survived += self._interval / 2
        else:
            self._survived += not_negative("unseen", life.unseen) / 2
        self._gaps.append(self._survived)
        self._survived = 0.0

    def _refresh(self, now: float) -> None:
        if self._cost is None:
            # A first guess that a life did not survive is not kept to: the next boundary tells the cost.
            self._mean_time = math.inf
            self._interval = 0.0 if self._first is None or self._gaps else min(self._first, self._at_most)
            return
        cost = max(self._cost, _LEAST_COST)
        seen = [*((1.0, gap) for gap in self._gaps), (0.0, self._survived + now)]
        if self._first is not None:
            seen.insert(0, (_GUESS, max(self._first, self._first**2 / (2 * cost)) / 2))  # By Young's formula.
        kept = _recent(seen)
        # Jeffreys' half a death: with none seen, the mean time is taken as twice the time survived.
        deaths = sum(deaths for deaths, _ in kept) + (0.0 if kept[0][0] == _GUESS else 0.5)
        exposure = sum(seconds for _, seconds in kept)
        self._mean_time = max(cost, exposure) / deaths
        self._stale_at = now + _STALE * exposure
        self._interval = self._best()

    def _best(self) -> float:
        cost = max(self._cost or 0.0, _LEAST_COST)
        return min(optimal_interval(cost, self._mean_time), self._at_most)


def _recent(seen: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The latest part of ``seen``, pairs of deaths and the seconds up to them, that one rate explains.

    Where two rates, one before some death and one after it, explain the whole better than one rate by more
    than ``_SURPRISE``, what lies before is forgotten, and the rest is looked at again.
    """
    while True:
        deaths, exposure = sum(deaths for deaths, _ in seen), sum(seconds for _, seconds in seen)
        one_rate = _likelihood(deaths, exposure)
        before, seconds = 0.0, 0.0
        best, cut = _SURPRISE, 0
        for place, (more_deaths, more_seconds) in enumerate(seen[:-1], 1):
            before, seconds = before + more_deaths, seconds + more_seconds
            two_rates = _likelihood(before, seconds) + _likelihood(deaths - before, exposure - seconds)
            if two_rates - one_rate > best:
                best, cut = two_rates - one_rate, place
        if not cut:
            return seen
        seen = seen[cut:]


def _likelihood(deaths: float, seconds: float) -> float:
    """The greatest log-likelihood of ``deaths`` in ``seconds`` under one rate, up to what cancels."""
    return deaths * math.log(deaths / max(seconds, 1e-9)) if deaths else 0.0


def _price(work: float, cost: float, mean_time: float) -> float:
    """What a second of work costs in segments of ``work``, up to a factor that does not depend on it."""
    try:
        return math.expm1((work + cost) / mean_time) / work if work else math.inf
    except OverflowError:
        return math.inf
