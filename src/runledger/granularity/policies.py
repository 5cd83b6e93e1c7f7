"""Who decides when a simulated run records: a fixed interval, one who knows the rates, one who learns."""

from __future__ import annotations

from typing import Protocol

from runledger.granularity.adaptive import Life, Pacer
from runledger.granularity.bounds import not_negative
from runledger.granularity.optimum import optimal_interval
from runledger.granularity.workload import Failures

__all__ = ["Adaptive", "Clairvoyant", "Fixed", "Policy"]


class Policy(Protocol):
    """Who decides when to record. All moments are seconds from the start of the run."""

    def wake(self, now: float, last: Life | None) -> None:
        """A life starts at ``now``; ``last`` is what the journal has of the one before."""

    def begin(self, now: float) -> None:
        """The restart is over."""

    def due(self, now: float, done: float) -> bool:
        """Whether to record now, with ``done`` seconds of work unrecorded."""

    def recorded(self, now: float, cost: float) -> None:
        """A record is durable."""


class Fixed:
    """Records at the first boundary after ``interval`` seconds of work."""

    def __init__(self, interval: float) -> None:
        self.interval = not_negative("interval", interval, finite=False)

    def wake(self, now: float, last: Life | None) -> None:
        """Nothing is learnt."""

    def begin(self, now: float) -> None:
        """Nothing is learnt."""

    def due(self, now: float, done: float) -> bool:  # noqa: ARG002 - the protocol's
        """After ``interval``, whatever the time; a rounding error does not put it off by a whole unit."""
        return done >= self.interval * (1 - 1e-9)

    def recorded(self, now: float, cost: float) -> None:
        """Nothing is learnt."""


class Clairvoyant(Fixed):
    """Knows the record cost and, at each moment, the true rate of failures: the optimum to be measured by."""

    def __init__(self, failures: Failures, record_cost: float) -> None:
        super().__init__(0.0)
        self._best = {
            mean_time: optimal_interval(record_cost, mean_time) for mean_time in failures.mean_times
        }
        self._failures = failures

    def due(self, now: float, done: float) -> bool:
        """After the interval that is best for the rate that holds now."""
        return done >= self._best[self._failures.mean_time(now)]


class Adaptive:
    """A ``Pacer`` for each life, built anew from no more than the facts that a journal would have."""

    def __init__(self, first: float | None = None) -> None:
        self._first = first
        self._lives: list[Life] = []
        self._costs: list[float] = []
        self._born = 0.0
        self.pacer = Pacer(first=first)

    def wake(self, now: float, last: Life | None) -> None:
        """The last life's death is learnt of, and a new controller is built."""
        if last is not None:
            self._lives.append(last)
        self._born = now
        self.pacer = Pacer(self._lives, self._costs, first=self._first)

    def begin(self, now: float) -> None:
        """The restart is over."""
        self.pacer.begin(now - self._born)

    def due(self, now: float, done: float) -> bool:  # noqa: ARG002 - the controller counts the work itself
        """As the controller says."""
        return self.pacer.due(now - self._born)

    def recorded(self, now: float, cost: float) -> None:
        """The journal has the record, the controller learns its cost."""
        self._costs.append(cost)
        self.pacer.recorded(now - self._born, cost)
