"""What a few observations allow to be said: intervals, not numbers that nobody counted.

``confidence`` is the share of such intervals that contain the truth, 0.95 unless given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

import msgspec

from runledger.granularity.bounds import fraction, not_negative
from runledger.granularity.distributions import least, poisson_at_most, student

__all__ = [
    "Estimate",
    "FailureRate",
    "Spread",
    "bootstrap_interval",
    "failure_rate",
    "mean_interval",
    "quantile",
    "spread",
]


class FailureRate(msgspec.Struct, frozen=True):
    """Failures a second, from ``deaths`` counted over ``exposure`` seconds of running.

    ``rate`` is None when no death was seen: then only ``high`` is known.
    """

    deaths: int
    exposure: float
    rate: float | None
    low: float
    high: float
    confidence: float

    @property
    def mean_time(self) -> float | None:
        """Seconds between failures; None when no death was seen."""
        return None if self.rate is None else 1 / self.rate

    @property
    def shortest_mean_time(self) -> float:
        """The lower end of the interval for that time; 0 when nothing is known."""
        return 1 / self.high if self.high else math.inf

    @property
    def longest_mean_time(self) -> float:
        """The upper end of the interval for that time; ``inf`` when no death was seen."""
        return 1 / self.low if self.low else math.inf


class Estimate(msgspec.Struct, frozen=True):
    """A statistic of ``count`` observations with the interval that it is known to."""

    value: float
    low: float
    high: float
    count: int
    confidence: float

    def contains(self, value: float) -> bool:
        """Whether ``value`` lies in the interval, its ends included."""
        return self.low <= value <= self.high


class Spread(msgspec.Struct, frozen=True):
    """How observations lie; ``deviation`` is a standard deviation that a few wild ones cannot move.

    It is 1.4826 times the median distance from the median: equal to the standard deviation for a normal
    distribution.
    """

    count: int
    total: float
    mean: float
    median: float
    p10: float
    p90: float
    longest: float
    deviation: float


def failure_rate(deaths: int, exposure: float, *, confidence: float = 0.95) -> FailureRate:
    """The rate of a Poisson process that struck ``deaths`` times in ``exposure`` seconds, with exact bounds.

    The interval is Garwood's (Biometrika 28, 1936): the rates under which so few, or so many, deaths are no
    rarer than half of 1 - confidence. Without a death all doubt lies on one side: no rate is given, and
    ``high`` is -ln(1 - confidence) / exposure, about three over the exposure at 95 %; ``inf`` for no exposure
    at all.

    Raises:
        ValueError: for a negative number, NaN, a count that is not whole, or deaths in no time.
    """
    seen = not_negative("deaths", deaths)
    if seen != int(seen):
        raise ValueError(f"deaths must be a whole number, not {deaths!r}")
    exposure = not_negative("exposure", exposure)
    confidence = fraction("confidence", confidence)
    if not seen:
        high = -math.log1p(-confidence) / exposure if exposure else math.inf
        return FailureRate(0, exposure, None, 0.0, high, confidence)
    if not exposure:
        raise ValueError("deaths cannot be seen in an exposure of 0 seconds")
    tail = (1 - confidence) / 2
    count = int(seen)
    low = least(lambda mean: 1 - poisson_at_most(count - 1, mean) >= tail, count)
    high = least(lambda mean: poisson_at_most(count, mean) <= tail, count)
    return FailureRate(count, exposure, count / exposure, low / exposure, high / exposure, confidence)


def mean_interval(samples: Sequence[float], *, confidence: float = 0.95) -> Estimate:
    """The mean with Student's t interval; one sample says nothing of its error, so its interval is unbounded.

    Raises:
        ValueError: for no samples, or one that is not finite.
    """
    values = _finite(samples)
    confidence = fraction("confidence", confidence)
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean, -math.inf, math.inf, 1, confidence)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    margin = student(count - 1, confidence) * math.sqrt(variance / count)
    return Estimate(mean, mean - margin, mean + margin, count, confidence)


def bootstrap_interval(
    samples: Sequence[float],
    statistic: Callable[[Sequence[float]], float] | None = None,
    *,
    confidence: float = 0.95,
    rounds: int = 2000,
    seed: int = 0,
) -> Estimate:
    """``statistic`` (the mean unless given) with its percentile bootstrap interval, the same for a ``seed``.

    For statistics and distributions that Student's t does not fit. With few samples it is too narrow: below
    about ten, prefer ``mean_interval``.

    Raises:
        ValueError: for no samples, one that is not finite, or fewer than one round.
    """
    values = _finite(samples)
    confidence = fraction("confidence", confidence)
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds!r}")
    of = statistic or _mean
    draw = Random(seed).choices  # noqa: S311 - a statistic that can be repeated, no secret
    found = sorted(of(draw(values, k=len(values))) for _ in range(rounds))
    tail = (1 - confidence) / 2
    return Estimate(of(values), quantile(found, tail), quantile(found, 1 - tail), len(values), confidence)


def spread(samples: Sequence[float]) -> Spread:
    """Mean, quantiles and a robust deviation.

    Raises:
        ValueError: for no samples, or one that is not finite.
    """
    values = sorted(_finite(samples))
    median = quantile(values, 0.5)
    total = math.fsum(values)
    return Spread(
        count=len(values),
        total=total,
        mean=total / len(values),
        median=median,
        p10=quantile(values, 0.1),
        p90=quantile(values, 0.9),
        longest=values[-1],
        deviation=1.4826 * quantile(sorted(abs(value - median) for value in values), 0.5),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the sorted ``ordered`` lies, linear between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _finite(samples: Sequence[float]) -> list[float]:
    values = [float(sample) for sample in samples]
    if not values:
        raise ValueError("no samples")
    if not all(map(math.isfinite, values)):
        raise ValueError("a sample is not a finite number")
    return values
