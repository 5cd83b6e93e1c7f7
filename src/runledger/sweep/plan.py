"""What is to be measured: how much work in which units, at which intervals, under how many deaths."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from runledger.errors import UsageError
from runledger.granularity import exponential_units, fixed_units, heavy_tailed_units

__all__ = ["UNITS", "Job", "Plan", "plan", "segments", "units_of"]

UNITS = ("fixed", "exponential", "heavy", "ledger")

POINTS = 10
LONGEST, SHORTEST = 1.25, 1 / 500
"""Of the intervals swept, in mean times between deaths."""

KILL_EVERY_S = 0.5
"""Real seconds between deaths, unless a compression is asked for: long beside a restart, short beside a coffee."""

TIMES_OVER = 3.0
"""Mean times between deaths that the work takes, unless said."""


class Job(msgspec.Struct, frozen=True):
    """One run: ``lengths`` are its units of work in seconds, each recorded; or, with ``every``, at its pace."""

    directory: str
    interval: float | None
    lengths: list[float]
    mean_time: float
    seed: int
    limit: float

    @property
    def every(self) -> bool:
        """Whether ``ledger.every`` decides when to record."""
        return self.interval is None


class Plan(msgspec.Struct, frozen=True):
    """A sweep. All times are real seconds; one of them stands for ``compress`` seconds.

    ``confidence`` is that of all the intervals together: each holds by itself with more.
    """

    units: list[float]
    kind: str
    intervals: list[float]
    mean_time: float
    compress: float
    budget: float
    workers: int
    seed: int
    confidence: float = 0.95

    @property
    def work(self) -> float:
        """Seconds of work in one run."""
        return sum(self.units)

    def job(self, interval: float | None, run: int, directory: str) -> Job:
        """The ``run``-th repetition at an interval; None is ``ledger.every``."""
        place = len(self.intervals) if interval is None else self.intervals.index(interval)
        return Job(
            directory=directory,
            interval=interval,
            lengths=self.units if interval is None else segments(self.units, interval),
            mean_time=self.mean_time,
            seed=(self.seed * 1000 + place) * 100_000 + run,
            limit=60 * self.work,
        )


def segments(units: Sequence[float], interval: float) -> list[float]:
    """The work before each record, where one is made at the first boundary at which ``interval`` is reached."""
    found, done = [], 0.0
    for unit in units:
        done += unit
        if done >= interval * (1 - 1e-9):
            found.append(done)
            done = 0.0
    return [*found, done] if done else found


def units_of(kind: str, work: float, mean: float, seed: int, durations: Sequence[float] = ()) -> list[float]:
    """Units of work that together take ``work`` seconds, about ``mean`` each; ``durations`` are a ledger's own."""
    count = max(1, round(work / mean))
    if kind == "fixed":
        drawn = fixed_units(count, mean)
    elif kind == "exponential":
        drawn = exponential_units(count, mean, seed)
    elif kind == "heavy":
        drawn = heavy_tailed_units(count, mean, seed)
    elif kind == "ledger":
        drawn = [seconds for seconds in durations if seconds > 0]
    else:
        raise UsageError(f"units are {', '.join(UNITS)}, not {kind!r}")
    if not drawn:
        raise UsageError("there are no committed steps here to take the units of work from")
    scale = work / sum(drawn)
    return [unit * scale for unit in drawn]


def plan(
    *,
    mean_time: float,
    compress: float | None,
    work: float | None,
    kind: str = "fixed",
    budget: float,
    workers: int,
    seed: int,
    points: int = POINTS,
    durations: Sequence[float] = (),
    shortest: float | None = None,
    longest: float | None = None,
) -> Plan:
    """The sweep for a run that takes ``work`` seconds and dies every ``mean_time`` seconds, before compression.

    ``shortest`` and ``longest`` are the ends of the intervals, before compression too.

    Raises:
        UsageError: it would be too long, or too short to be killed in time.
    """
    compress = mean_time / KILL_EVERY_S if compress is None else compress
    if not (compress > 0 and mean_time > 0 and points > 1 and workers > 0 and 0 < budget < math.inf):
        raise UsageError(
            "times, --compress, --workers and --seconds are finite numbers above 0, and --points at least 2"
        )
    real = mean_time / compress
    real_work = TIMES_OVER * real if work is None else work / compress
    if not 0.05 <= real <= 60:
        raise UsageError(
            f"compressed {compress:g} times, a death would come every {real:g} real seconds",
            hint=f"Between 0.05 and 60: --compress {mean_time / KILL_EVERY_S:g} makes it {KILL_EVERY_S:g}.",
        )
    if not real / 10 <= real_work <= 100 * real:
        raise UsageError("--work is between a tenth and a hundred times --mean-time")
    low = real * SHORTEST if shortest is None else shortest / compress
    high = real * LONGEST if longest is None else longest / compress
    if not 1e-4 <= low < high <= 3 * real:
        raise UsageError(
            "intervals go up from a tenth of a real millisecond to three times --mean-time",
            hint=f"Compressed, these are {low:g} to {high:g} s.",
        )
    units = units_of(kind, real_work, low, seed, durations)
    ratio = (high / low) ** (1 / (points - 1))
    intervals = [low * ratio**place for place in range(points)]
    return Plan(units, kind, intervals, real, compress, budget, workers, seed)
