"""The interval between records that costs least: exactly, and as the two classical formulas have it."""

from __future__ import annotations

import math

from runledger.granularity.bounds import not_negative, positive
from runledger.granularity.model import costs_of

__all__ = ["daly_interval", "optimal_interval", "young_interval"]


def optimal_interval(
    record_cost: float,
    mean_time_between_failures: float,
    restart_cost: float = 0.0,
    *,
    work: float | None = None,
) -> float:
    """The seconds of work between two records for which ``expected_total`` is least, exactly.

    Setting the derivative of (e^((s+d)/M) - 1) / s to zero gives (1 - s/M) * e^(s/M) = e^(-d/M), which
    Lambert's W solves: s = M * (1 + W0(-e^(-1-d/M))). It is computed by way of the whole period w = (s+d)/M,
    for which the same condition reads w + e^(-w) - 1 = d/M: no cancellation at W's branch point (d much less
    than M), no underflow far from it (d much more than M).

    The result is never above ``mean_time_between_failures``. ``restart_cost`` multiplies every segment's time
    alike and so does not move the optimum; it is an argument because callers have it at hand and ask. 0 when
    records are free, ``inf`` when there are no failures.

    With ``work``, the best for exactly that much work: its division into equal segments (unequal ones cost
    more, the cost being convex in their lengths), as many as cost least.

    Raises:
        ValueError: for NaN, a negative number, an infinite cost or work, or a mean time that is not above 0.
    """
    cost = not_negative("record_cost", record_cost)
    mean_time = positive("mean_time_between_failures", mean_time_between_failures)
    not_negative("restart_cost", restart_cost)
    work = 0.0 if work is None else not_negative("work", work)
    if math.isinf(mean_time):
        best = math.inf if cost else 0.0
    elif cost / mean_time < 1e-290:
        best = young_interval(cost, mean_time)  # The limit; the ratio would lose its digits.
    else:
        best = -mean_time * math.expm1(-_period(cost / mean_time))
    if not work or not best or math.isinf(work / best):
        return best
    # The cost of n equal segments is convex in n, so the best whole n is beside the best real one.
    fewer = max(1, math.floor(work / best))
    both = ((n, costs_of([(work / n, n)], cost, mean_time, 0.0).total) for n in (fewer + 1, fewer))
    return work / min(both, key=lambda pair: pair[1])[0]


def young_interval(record_cost: float, mean_time_between_failures: float) -> float:
    """Young's first-order optimum sqrt(2 * d * M); too long where the record cost is not far below M.

    J. W. Young, "A first order approximation to the optimum checkpoint interval", Communications of the ACM
    17 (1974) 530-531. For comparison: ``optimal_interval`` is exact. Bounds and errors are the same.
    """
    cost = not_negative("record_cost", record_cost)
    mean_time = positive("mean_time_between_failures", mean_time_between_failures)
    return math.sqrt(2 * cost) * math.sqrt(mean_time) if cost else 0.0


def daly_interval(record_cost: float, mean_time_between_failures: float) -> float:
    """Daly's higher-order optimum (2006, equation 37), for comparison with the exact ``optimal_interval``.

    sqrt(2dM) * (1 + sqrt(d/2M)/3 + (d/2M)/9) - d where d < 2M, else M. Bounds and errors are the same.
    """
    young = young_interval(record_cost, mean_time_between_failures)
    ratio = record_cost / mean_time_between_failures / 2
    if ratio >= 1:
        return float(mean_time_between_failures)
    return young * (1 + math.sqrt(ratio) / 3 + ratio / 9) - record_cost


def _period(ratio: float) -> float:
    """The root w > 0 of w + e^-w - 1 = ratio, for ratio > 0.

    The left side is convex and rising, so Newton's steps from the right of the root come down to it.
    """
    if ratio > 40:
        return ratio + 1
    w = min(ratio + 1, ratio + math.sqrt(2 * ratio))
    for _ in range(64):
        step = (_bend(w) - ratio) / -math.expm1(-w)
        w -= step
        if abs(step) <= 1e-15 * w:
            break
    return w


def _bend(w: float) -> float:
    """The left side w + e^-w - 1 without cancellation: w^2/2 - w^3/6 + ..."""
    if w > 0.1:
        return w + math.expm1(-w)
    tail = 1.0
    for k in range(12, 2, -1):
        tail = 1 - w / k * tail
    return w * w / 2 * tail
