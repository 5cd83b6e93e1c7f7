"""The pictures of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runledger.pictures.charts import drawing, plain_axes, svg
from runledger.pictures.style import COLOURS
from runledger.pictures.words import percent, seconds
from runledger.sweep.measure import Measured, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["parts", "parts_in_words", "totals", "totals_in_words"]

PARTS = {"records": "one", "redone": "two", "restarts": "four"}


def totals_in_words(found: Measured) -> str:
    """The first picture, for who cannot see it."""
    first, last = found.points[0], found.points[-1]
    best = min(found.points, key=lambda point: point.total.value)
    return (
        f"Total time over the work alone, by the interval between records, both logarithmic. It falls from "
        f"{first.total.value:.2f} at {seconds(first.interval or 0)} to {best.total.value:.2f} at "
        f"{seconds(best.interval or 0)} and rises to {last.total.value:.2f} at {seconds(last.interval or 0)}."
    )


def parts_in_words(found: Measured) -> str:
    """The second picture, for who cannot see it."""
    said = [
        f"{part} from {percent(getattr(found.points[0].measured_parts, part))} to "
        f"{percent(getattr(found.points[-1].measured_parts, part))}"
        for part in PARTS
    ]
    return (
        f"Time beyond the work, as shares of it, from the shortest interval to the longest: {', '.join(said)}. "
        f"Points are measured, lines are the model."
    )


def totals(found: Measured, *, narrow: bool) -> str:
    """Measured totals with their intervals, and the model's curve."""
    told: dict[str, str] = {}
    with drawing(4.2 if narrow else 4.6, narrow=narrow) as (figure, axes):
        xs = [point.interval or 0.0 for point in found.points]
        modelled = [point.model or 1.0 for point in found.points]
        axes.plot(xs, modelled, color=COLOURS["two"], label="model", zorder=2)
        for place, (x, point) in enumerate(zip(xs, found.points, strict=True)):
            (line,) = axes.plot(
                [x, x], [point.total.low, point.total.high], color=COLOURS["calm"], linewidth=6
            )
            line.set_solid_capstyle("round")
            line.set_zorder(1)
            (dot,) = axes.plot(
                [x], [point.total.value], "o", color=COLOURS["one"], markersize=7, label="_", zorder=3
            )
            dot.set_gid(f"point-{place}")
            told[f"point-{place}"] = _said(point)
        axes.plot([], [], "o", color=COLOURS["one"], label="measured")
        if found.every is not None:
            level = found.every.total.value
            axes.axhline(level, color=COLOURS["three"], linestyle="--", linewidth=1.5, label="ledger.every")
        axes.axvline(
            found.best_model, color=COLOURS["faint"], linestyle=":", linewidth=1.3, label="best, by the model"
        )
        axes.set_yscale("log")
        most = 1.35 * max(*(point.total.value for point in found.points), *modelled)
        axes.set_ylim(0.97, most)
        steps = [step for step in (1, 1.2, 1.5, 2, 3, 5, 7, 10, 20, 50, 100) if step < most]
        axes.set_yticks(steps, [f"{step:g}" for step in steps])
        axes.minorticks_off()
        _by_interval(axes, xs, narrow=narrow)
        axes.set_ylabel("time taken over the work alone")
        figure.legend(loc="outside upper left", ncols=2 if narrow else 4)
        return svg(figure, told)


def parts(found: Measured, *, narrow: bool) -> str:
    """What the time beyond the work goes to."""
    told: dict[str, str] = {}
    with drawing(4.0 if narrow else 4.2, narrow=narrow) as (figure, axes):
        xs = [point.interval or 0.0 for point in found.points]
        floor = 1e-3
        for part, colour in PARTS.items():
            model = [max(floor, getattr(point.model_parts, part)) for point in found.points]
            axes.plot(xs, model, color=COLOURS[colour], linewidth=1.4, label=part)
            for place, (x, point) in enumerate(zip(xs, found.points, strict=True)):
                value = getattr(point.measured_parts, part)
                (dot,) = axes.plot([x], [max(floor, value)], "o", color=COLOURS[colour], markersize=5)
                dot.set_gid(f"{part}-{place}")
                told[f"{part}-{place}"] = f"{part} at {seconds(x)}: {percent(value)} of the work"
        axes.set_yscale("log")
        steps = [0.001, 0.01, 0.1, 1, 10]
        axes.set_yticks(steps, [f"{100 * step:g} %" for step in steps])
        axes.set_ylim(floor * 0.8, None)
        axes.minorticks_off()
        _by_interval(axes, xs, narrow=narrow)
        axes.set_ylabel("beyond the work")
        figure.legend(loc="outside upper left", ncols=3)
        return svg(figure, told)


def _by_interval(axes: Axes, xs: list[float], *, narrow: bool) -> None:
    axes.set_xscale("log")
    axes.set_xlim(xs[0] / 1.4, xs[-1] * 1.4)
    steps = [10.0**power * digit for power in range(-6, 5) for digit in ((1,) if narrow else (1, 3))]
    shown = [step for step in steps if xs[0] / 1.4 <= step <= xs[-1] * 1.4]
    axes.set_xticks(shown, [_tick(step) for step in shown])
    axes.set_xlabel("work between two records")
    axes.minorticks_off()
    plain_axes(axes)


def _tick(value: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= size * 0.999:
            return f"{value / size:g} {unit}"
    return f"{value:g} s"


def _said(point: Point) -> str:
    model = "" if point.model is None else f"; the model says {point.model:.3f}"
    return (
        f"every {seconds(point.interval or 0)}: {point.total.value:.3f} times the work, between "
        f"{point.total.low:.3f} and {point.total.high:.3f}{model}"
    )
