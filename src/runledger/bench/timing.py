"""Contenders by turns: in a new order each round, compared only within a round, told as medians with spread.

In a fixed order each contender always runs behind the same neighbour, and the state in which that one leaves
the disk becomes part of its result.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Spread", "interleaved", "ratios", "spread"]

Work = Callable[[int], int]
"""Does the work so many times or a few more; returns how many times it did."""


class Spread(NamedTuple):
    """A median, and the quartiles around it."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Of at least one value."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def ratios(above: Sequence[float], below: Sequence[float]) -> Spread:
    """Of two contenders that were measured in the same rounds: the ratio in each round."""
    return spread([a / b for a, b in zip(above, below, strict=True)])


def interleaved(
    contenders: Mapping[str, Work],
    *,
    turn_s: float,
    seconds: float,
    most: int = 1000,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds for one piece of work, by contender and round.

    A turn takes about ``turn_s``, all of it about ``seconds``.
    """
    counts = {name: _count(work, turn_s, clock) for name, work in contenders.items()}
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    ends = clock() + seconds
    rounds = 0
    while rounds < 3 or (clock() < ends and rounds < most):
        random.shuffle(order)
        for name in order:
            began = clock()
            done = contenders[name](counts[name])
            taken[name].append((clock() - began) / done)
        rounds += 1
    return taken


def _count(work: Work, turn_s: float, clock: Callable[[], float]) -> int:
    """How much work fills a turn; what is done to find that out warms the contender up."""
    count = 1
    while True:
        began = clock()
        done = work(count)
        took = clock() - began
        if took > turn_s / 4 or count > 1 << 20:
            return max(1, round(done * turn_s / max(took, 1e-9)))
        count *= 2
