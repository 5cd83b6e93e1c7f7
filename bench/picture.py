"""A picture of the goals' table: how far each row is from its goal.

    python -m bench.picture docs/explanation/performance.md docs/explanation/performance.svg

Reads the tables of a page as ``goals.py`` prints them; needs matplotlib. A bar that ends right of the line is a goal
that is met: of what shall be small the goal is divided by what was measured, of what shall be large the reverse.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["Bar", "bars", "draw"]

_ROW = re.compile(r"\| (?P<what>[^|]+?) \| (?P<sign>[≥≤>]) (?P<goal>[\d.]+)[^|]*\| (?P<found>[\d.,]+)")
_LEAST = 1e-9


class Bar(NamedTuple):
    """A row: what it is of, and how many times its goal it reaches."""

    what: str
    reached: float


def bars(page: str) -> list[Bar]:
    """The rows of all tables that have a goal other than 0, in their order; a second one of a name is of the second
    file system."""
    found: list[Bar] = []
    for row in _ROW.finditer(page):
        goal, measured = float(row["goal"]), float(row["found"].replace(",", ""))
        if goal > 0:
            reached = goal / max(measured, _LEAST) if row["sign"] == "≤" else measured / goal
            again = any(bar.what == row["what"] for bar in found)
            found.append(Bar(row["what"] + (", with a journal" if again else ""), reached))
    return found


def draw(rows: list[Bar], to: Path) -> None:
    """Write the picture; its kind is told by the name."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "goals"})
    figure = Figure(figsize=(10, 0.24 * len(rows) + 1), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.barh(
        [row.what for row in rows],
        [min(max(row.reached, 0.02), 50) for row in rows],
        color=["#2a7f62" if row.reached >= 1 else "#b4512f" for row in rows],
    )
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlabel("times the goal (from 0.02 to 50)")
    axes.tick_params(labelsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    figure.savefig(to, metadata={"Date": None})


if __name__ == "__main__":
    draw(bars(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2]))
