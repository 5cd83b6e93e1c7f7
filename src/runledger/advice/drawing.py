"""The picture of the advice: how long the stretches between boundaries are, beside how long they should be."""

from __future__ import annotations

import math

from runledger.advice.judge import Advice
from runledger.granularity.estimate import quantile
from runledger.pictures.charts import drawing, plain_axes, svg
from runledger.pictures.style import COLOURS
from runledger.pictures.words import seconds, span
from runledger.text import escape

__all__ = ["in_words", "stretches"]

SHOWN = 40
COLOUR = {
    "too coarse": "two",
    "one effect": "four",
    "too fine": "alarm",
    "well": "one",
    "cannot tell": "faint",
}
LEAST = 1e-6


def in_words(advice: Advice) -> str:
    """The picture, for who cannot see it."""
    best = next((step.best for step in advice.steps if step.best is not None), None)
    said = ", ".join(
        f"{s.group.name} {seconds(quantile(sorted(s.group.lengths), 0.5))} ({s.verdict})"
        for s in advice.steps[:12]
    )
    band = "" if best is None or best.value is None else f" The best interval is {span(best.low, best.high)}."
    return (
        f"How long the stretches between two boundaries are, by step, on a logarithmic scale: {said}.{band}"
    )


def stretches(advice: Advice, *, narrow: bool) -> str:
    """A row for each name: thin from the shortest stretch to the longest, thick for most, a dot in the middle."""
    steps = advice.steps[:SHOWN]
    told: dict[str, str] = {}
    with drawing(1.6 + 0.42 * len(steps), narrow=narrow) as (figure, axes):
        for row, step in enumerate(steps):
            lengths = sorted(max(LEAST, length) for length in step.group.lengths)
            colour = COLOURS[COLOUR[step.verdict]]
            axes.plot([lengths[0], lengths[-1]], [row, row], color=colour, linewidth=1.5)
            ends = [quantile(lengths, 0.1), quantile(lengths, 0.9)]
            (thick,) = axes.plot(ends, [row, row], color=colour, linewidth=7)
            thick.set_solid_capstyle("round")
            thick.set_alpha(0.45)
            (dot,) = axes.plot([quantile(lengths, 0.5)], [row], "o", color=colour, markersize=7)
            dot.set_gid(f"step-{row}")
            told[f"step-{row}"] = (
                f"{step.group.name}: {step.verdict}; {len(lengths)} stretches, usually "
                f"{seconds(quantile(lengths, 0.5))}, at most {seconds(lengths[-1])}"
            )
        best = next((step.best for step in steps if step.best is not None and step.best.value), None)
        if best is not None and best.value is not None:
            high = best.high if math.isfinite(best.high) else best.value
            axes.axvspan(best.low, high, color=COLOURS["three"], alpha=0.16, linewidth=0)
            axes.axvline(
                best.value, color=COLOURS["three"], linestyle="--", linewidth=1.4, label="best interval"
            )
        for verdict in dict.fromkeys(step.verdict for step in steps):
            axes.plot([], [], "o", color=COLOURS[COLOUR[verdict]], label=verdict)
        axes.set_xscale("log")
        names = [step.group.name for step in steps]
        axes.set_yticks(range(len(steps)), [_short(name, 14 if narrow else 30) for name in names])
        axes.tick_params(axis="y", labelcolor=COLOURS["ink"])
        axes.set_ylim(len(steps) - 0.5, -0.5)
        low, high = axes.get_xlim()
        ticks = [t for t in _TICKS if low <= t <= high][:: 2 if narrow else 1]
        axes.set_xticks(ticks, [seconds(t) for t in ticks])
        axes.minorticks_off()
        axes.set_xlabel("between two boundaries")
        plain_axes(axes, grid="x")
        figure.legend(loc="outside upper left", ncols=2 if narrow else 5)
        return svg(figure, told)


_TICKS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000)


def _short(name: str, most: int) -> str:
    name = escape(name)
    return name if len(name) <= most else name[: most - 1] + "…"
