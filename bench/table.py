"""A row of the goals: what was wanted, what was measured, and whether it is enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from runledger.bench.timing import Spread

__all__ = ["Row", "at_least", "at_most", "beside", "guarded", "markdown"]


class Row(NamedTuple):
    """One line of the table. ``met`` is None where nothing could be measured, and ``note`` says why."""

    what: str
    goal: str
    measured: str
    met: bool | None
    note: str = ""


def at_least(what: str, limit: float, measured: Spread, *, note: str = "") -> Row:
    """Met where the median reaches the limit; a ratio."""
    return Row(what, f"≥ {limit:g} x", _shown(measured, " x"), measured.median >= limit, note)


def at_most(what: str, limit: float, measured: Spread, *, unit: str = " x", note: str = "") -> Row:
    """Met where the median stays within the limit."""
    return Row(what, f"≤ {limit:g}{unit}", _shown(measured, unit), measured.median <= limit, note)


def beside(what: str, measured: Spread, *, note: str = "") -> Row:
    """A ratio that no goal is set for, told to judge one beside it."""
    return Row(what, "", _shown(measured, " x"), None, note)


def _shown(measured: Spread, unit: str) -> str:
    numbers = [f"{number:.3g}" if number < 1000 else f"{number:,.0f}" for number in measured]
    if measured.low == measured.high:
        return f"{numbers[0]}{unit}"
    return f"{numbers[0]}{unit} ({numbers[1]} to {numbers[2]})"


def guarded(name: str, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows of one goal; where it cannot be measured, a row that says so, and the others go on."""
    try:
        yield from rows
    except Exception as error:  # noqa: BLE001 - hours of measuring are not lost to one contender
        yield Row(name, "", "", None, " ".join(f"{type(error).__name__}: {error}".split())[-300:])


def markdown(rows: Iterable[Row]) -> str:
    """The table; the spread is from quartile to quartile of the rounds."""
    lines = ["| what | goal | measured | |", "| --- | --- | --- | --- |"]
    words = {True: "met", False: "**not met**", None: "not measured"}
    for row in rows:
        word = "for comparison" if row.met is None and row.measured else words[row.met]
        verdict = word + (f": {row.note}" if row.note else "")
        lines.append(f"| {row.what} | {row.goal} | {row.measured} | {verdict} |")
    return "\n".join(lines)
