"""What a simulated run is made of: units of work, and the moments at which it is struck."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from runledger.granularity.bounds import positive

__all__ = ["Failures", "exponential_units", "fixed_units", "heavy_tailed_units"]


class Failures:
    """Moments of failure: a Poisson process whose mean time between failures may change at given moments.

    Args:
        seed: the same seed gives the same moments each time they are asked for.
        phases: pairs of a moment, in seconds from the start, and the mean time between failures from then on,
            in order; the first begins at 0. A mean time may be ``inf``.
    """

    def __init__(self, seed: int, *phases: tuple[float, float]) -> None:
        starts = [start for start, _ in phases]
        if not starts or starts[0] != 0 or starts != sorted(set(starts)):
            raise ValueError(f"phases must begin at 0 and go up, not {starts!r}")
        self._seed = seed
        self._phases = [(start, positive("mean time", mean_time)) for start, mean_time in phases]

    @property
    def mean_times(self) -> frozenset[float]:
        """Every mean time between failures that ever holds."""
        return frozenset(mean_time for _, mean_time in self._phases)

    def mean_time(self, at: float) -> float:
        """The mean time between failures that holds at that moment."""
        return next(mean_time for start, mean_time in reversed(self._phases) if start <= at or not start)

    def moments(self) -> Iterator[float]:
        """Seconds from the start, rising, without end unless the last phase has no failures."""
        draw = Random(self._seed).expovariate  # noqa: S311 - a simulation that can be repeated, no secret
        at, hazard = 0.0, draw(1.0)
        ends = [start for start, _ in self._phases[1:]] + [math.inf]
        for (_, mean_time), end in zip(self._phases, ends, strict=True):
            # A Poisson process has no memory: what is left of the hazard goes on at the next phase's rate.
            while at + hazard * mean_time < end:
                at += hazard * mean_time
                yield at
                hazard = draw(1.0)
            hazard -= (end - at) / mean_time
            at = end


def fixed_units(count: int, length: float) -> list[float]:
    """``count`` units of work of ``length`` seconds each."""
    return [positive("length", length, finite=True)] * count


def exponential_units(count: int, mean: float, seed: int) -> list[float]:
    """``count`` units of work whose lengths in seconds are exponential."""
    rate = 1 / positive("mean", mean, finite=True)
    draw = Random(seed).expovariate  # noqa: S311 - a simulation that can be repeated, no secret
    return [draw(rate) for _ in range(count)]


def heavy_tailed_units(count: int, mean: float, seed: int, *, shape: float = 1.5) -> list[float]:
    """``count`` units of work with Lomax (shifted Pareto) lengths in seconds, heavier for a lower ``shape``.

    ``shape`` is above 1; at or below 2 the variance is infinite: most of the work is in a few units.
    """
    if not 1 < shape < math.inf:
        raise ValueError(f"shape must be a finite number above 1, not {shape!r}")
    scale = positive("mean", mean, finite=True) * (shape - 1)
    draw = Random(seed).paretovariate  # noqa: S311 - a simulation that can be repeated, no secret
    return [scale * (draw(shape) - 1) for _ in range(count)]
