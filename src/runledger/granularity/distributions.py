"""The two distributions that intervals are made of: Poisson's and Student's, for whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

__all__ = ["least", "poisson_at_most", "student"]


def poisson_at_most(count: int, mean: float) -> float:
    """P(X <= count) for a Poisson X: the smaller tail is summed from its larger end until no term matters."""
    if count < 0 or not mean:
        return float(count >= 0)
    above = mean <= count + 1
    k = count + 1 if above else count
    term = math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))
    tail = 0.0
    while term > 1e-18 * tail:
        tail += term
        term *= mean / (k + 1) if above else k / mean
        k += 1 if above else -1
    return 1 - tail if above else tail


def least(reached: Callable[[float], bool], start: float) -> float:
    """The least positive number that has ``reached``, as every larger one has, to 13 digits."""
    low, high = 0.0, float(start)
    while not reached(high):
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def student(freedom: int, confidence: float) -> float:
    """The t for which a Student variable lies within -t..t with probability ``confidence``."""
    if freedom > 2000:
        # Cornish and Fisher's expansion about the normal: its error is below 1e-6 from here on.
        z = least(lambda t: math.erf(t / math.sqrt(2)) >= confidence, 1.0)
        return z + (z**3 + z) / (4 * freedom)
    low, high = 0.0, math.pi / 2
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (low, middle) if _within(middle, freedom) >= confidence else (middle, high)
    return math.sqrt(freedom) * math.tan(high)


def _within(angle: float, freedom: int) -> float:
    """P(-t < T < t) for t = sqrt(freedom) * tan(angle): the finite sums for whole degrees of freedom.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(2 + odd, freedom - 1, 2):
        term *= (k - 1) / k * cosine * cosine
        total += term
    return (angle + sine * total) * 2 / math.pi if odd else sine * total
