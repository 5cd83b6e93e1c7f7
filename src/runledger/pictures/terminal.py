"""A plot of a few series in the cells of a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from runledger.pictures.columns import packed

__all__ = ["Series", "bar", "plot"]


class Series(NamedTuple):
    """Points (x, y) drawn with ``sign``; ``bars`` are the (low, high) of each point's y."""

    name: str
    sign: str
    points: Sequence[tuple[float, float]]
    bars: Sequence[tuple[float, float]] = ()


def plot(
    series: Sequence[Series],
    width: int,
    *,
    height: int = 14,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
    y_most: float = math.inf,
) -> list[str]:
    """Lines; both scales are logarithmic, the first series lies on top. What is above ``y_most`` is at the edge."""
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points]
    ys += [y for one in series for pair in one.bars for y in pair if y > 0]
    if not xs:
        return []
    margin = 9
    columns = max(20, min(width, 110) - margin - 2)
    across = _scale(min(xs), max(xs), columns)
    up = _scale(min(ys), min(max(ys), y_most), height)
    cells = [[" "] * columns for _ in range(height)]
    for one in series:
        for x, low, high in _bars(one):
            for row in range(up(low), up(high) + 1):
                cells[row][across(x)] = "│"
    for one in reversed(series):
        for x, y in one.points:
            cells[up(y)][across(x)] = one.sign
    lines = []
    for row in range(height - 1, -1, -1):
        label = y_text(_back(min(ys), min(max(ys), y_most), row, height)) if row % 3 == 0 else ""
        lines.append(f"{label:>{margin}} ┤{''.join(cells[row])}".rstrip())
    lines.append(" " * margin + " └" + "─" * columns)
    left, right = x_text(min(xs)), x_text(max(xs))
    lines.append(f"{'':{margin + 2}}{left}{right:>{max(1, columns - len(left))}}")
    return lines + packed([f"{one.sign} {one.name}" for one in series], width, margin + 2)


def _bars(one: Series) -> Iterator[tuple[float, float, float]]:
    for (x, _), (low, high) in zip(one.points, one.bars, strict=False):
        yield x, low, high


def _scale(low: float, high: float, count: int) -> Callable[[float], int]:
    span = math.log(high / low) if high > low else 1.0

    def place(value: float) -> int:
        share = math.log(max(value, low) / low) / span
        return min(count - 1, max(0, round(share * (count - 1))))

    return place


def _back(low: float, high: float, row: int, count: int) -> float:
    return low * (high / low) ** (row / (count - 1)) if high > low else low


def bar(spans: Sequence[tuple[float, float, str]], width: int) -> str:
    """One line of ``width`` cells with each span (from, to, sign), as shares of it, drawn at least one cell wide."""
    cells = [" "] * width
    for start, end, sign in spans:
        first = min(width - 1, max(0, math.floor(start * width)))
        last = min(width, max(first + 1, round(end * width)))
        cells[first:last] = sign * (last - first)
    return "".join(cells)
