"""Numbers in words for people: three digits, and a unit that fits."""

from __future__ import annotations

import math

__all__ = ["amount", "percent", "seconds", "span"]

_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def seconds(value: float) -> str:
    """A duration: 85 µs, 1.5 ms, 29 s, 2.5 h."""
    if not math.isfinite(value):
        return "for ever" if value > 0 else "unknown"
    if abs(value) < 0.5e-6:
        return "0 s" if value == 0 else "less than 1 µs"
    for size, unit in _UNITS:
        if abs(value) >= size * (1 if size > 1 else 0.9995):
            return f"{_digits(value / size)} {unit}"
    return f"{_digits(value / 1e-6)} µs"


def span(low: float, high: float) -> str:
    """From one duration to another."""
    if math.isinf(high):
        return f"more than {seconds(low)}"
    one, other = seconds(low), seconds(high)
    return one if one == other else f"{one} to {other}"


def percent(share: float) -> str:
    """A share: 0.05 %, 3.2 %, 45 %."""
    if 0 < share < 1e-4:
        return "less than 0.01 %"
    return f"{_digits(100 * share)} %" if math.isfinite(share) else "more than can be said"


def amount(value: float, unit: str) -> str:
    """So much of a unit; a duration where the unit is seconds."""
    if unit == "seconds":
        return seconds(value)
    if abs(value) >= 1e6:
        return f"{_digits(float(f'{value / 1e6:.3g}'))} million {unit}"
    return f"{value:,.0f} {unit}" if abs(value) >= 100 else f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    size = abs(value)
    if not size:
        return "0"
    if size < 0.01:
        return f"{value:.1g}"
    return f"{value:.2f}" if size < 1 else f"{value:.1f}" if size < 10 else f"{value:,.0f}"
