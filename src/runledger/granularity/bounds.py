"""What every number here must satisfy, refused by name where it does not."""

from __future__ import annotations

import math

__all__ = ["fraction", "not_negative", "positive"]


def not_negative(name: str, value: float, *, finite: bool = True) -> float:
    """``value`` as a float; ValueError for NaN, a negative number, or (where ``finite``) infinity."""
    value = float(value)
    if not value >= 0 or (finite and math.isinf(value)):
        raise ValueError(f"{name} must be a {'finite ' if finite else ''}number of at least 0, not {value!r}")
    return value


def positive(name: str, value: float, *, finite: bool = False) -> float:
    """``value`` as a float; ValueError for NaN, 0, a negative number, or (where ``finite``) infinity."""
    value = float(value)
    if not value > 0 or (finite and math.isinf(value)):
        raise ValueError(f"{name} must be a {'finite ' if finite else ''}number above 0, not {value!r}")
    return value


def fraction(name: str, value: float) -> float:
    """``value`` as a float; ValueError unless it is strictly between 0 and 1."""
    value = float(value)
    if not 0 < value < 1:
        raise ValueError(f"{name} must be strictly between 0 and 1, not {value!r}")
    return value
