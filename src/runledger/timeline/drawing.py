"""The pictures of a run's course."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runledger.past.model import Past
from runledger.pictures.charts import drawing, plain_axes, svg
from runledger.pictures.style import COLOURS
from runledger.pictures.words import seconds
from runledger.text import escape
from runledger.timeline.lanes import WORDS, Bar, Lane
from runledger.timeline.pulse import Stall

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["course", "course_in_words", "pulse", "pulse_in_words"]

SHOWN = 40
"""Lanes at most."""

COLOUR = {"committed": "one", "aborted": "faint", "again": "two", "in_doubt": "alarm", "in_flight": "three"}


def course_in_words(past: Past, lanes: list[Lane]) -> str:
    """The first picture, for who cannot see it."""
    start, end = past.span
    named = ", ".join(f"{lane.name} ({lane.attempts:,})" for lane in lanes[:12])
    deaths = sum(event.kind == "death" for event in past.events)
    more = f" and {len(lanes) - 12} more" if len(lanes) > 12 else ""
    return (
        f"The attempts of each step over {seconds(end - start)}, one row for each name, nested steps below the one "
        f"that they are inside: {named}{more}. Vertical lines are deaths that were found ({deaths})."
    )


def pulse_in_words(past: Past, halts: list[Stall]) -> str:
    """The second picture, for who cannot see it."""
    stretches = "1 stretch" if len(halts) == 1 else f"{len(halts)} stretches"
    shaded = f" Shaded: {stretches} with signs of life and no progress." if halts else ""
    return (
        f"Signs of progress ({len(past.done):,}) and heartbeats ({len(past.beats):,}) as they add up"
        f"{', each to its own height' if past.beats else ''}.{shaded}"
    )


def course(past: Past, lanes: list[Lane], *, narrow: bool) -> str:
    """Bars in lanes, with deaths, marks, saves and compactions."""
    start, end = past.span
    least = ((end - start) or 1.0) / 250
    told: dict[str, str] = {}
    kept = lanes[:SHOWN]
    with drawing(1.9 + 0.36 * len(kept), narrow=narrow) as (figure, axes):
        for row, lane in enumerate(kept):
            for place, one in enumerate(lane.bars):
                long = max(one.end - one.start, least)
                (drawn,) = axes.barh(
                    row, long, left=one.start - start, height=0.62, color=COLOURS[COLOUR[one.status]]
                )
                drawn.set_gid(f"bar-{row}-{place}")
                told[f"bar-{row}-{place}"] = _said(lane, one, start)
            marks = [at - start for at, _ in lane.marks]
            axes.plot(marks, [row + 0.36] * len(marks), "^", color=COLOURS["ink"], markersize=4)
            saves = [at - start for at in lane.saves]
            axes.plot(saves, [row] * len(saves), "|", color=COLOURS["paper"], markersize=8)
        told |= _happenings(axes, past, start)
        for status in dict.fromkeys(one.status for lane in kept for one in lane.bars):
            axes.barh([0], [0], left=0, color=COLOURS[COLOUR[status]], label=WORDS[status])
        if any(lane.marks for lane in kept):
            axes.plot([], [], "^", color=COLOURS["ink"], markersize=5, label="mark")
        if any(lane.saves for lane in kept):
            axes.plot([], [], "|", color=COLOURS["ink"], markersize=8, label="save")
        names = [
            "   " * (lane.depth - 1) + "└ " * bool(lane.depth) + _short(lane.name, 13 if narrow else 26)
            for lane in kept
        ]
        axes.set_yticks(range(len(kept)), names)
        axes.tick_params(axis="y", labelcolor=COLOURS["ink"])
        axes.set_ylim(len(kept) - 0.4, -0.7)
        _over_time(axes, end - start, narrow=narrow)
        figure.legend(loc="outside upper left", ncols=2 if narrow else 6)
        return svg(figure, told)


def _happenings(axes: Axes, past: Past, start: float) -> dict[str, str]:
    """Deaths, compactions and halts, across all lanes; what each of them is, in words."""
    told = {}
    for kind, colour, style, label in (
        ("death", "alarm", "-", "death found"),
        ("compacted", "faint", ":", "compaction"),
        ("halted", "four", "--", "halted"),
    ):
        for place, event in enumerate(event for event in past.events if event.kind == kind):
            line = axes.axvline(
                event.at - start,
                color=COLOURS[colour],
                linestyle=style,
                linewidth=1.2,
                label=label if not place else "_",
            )
            line.set_gid(f"{kind}-{place}")
            told[f"{kind}-{place}"] = f"{label} at {seconds(event.at - start)}: {event.what}"
    return told


def pulse(past: Past, halts: list[Stall], *, narrow: bool) -> str:
    """What was done, and the heartbeats, as they add up; shaded where the one went on without the other."""
    from matplotlib.ticker import MaxNLocator

    start, end = past.span
    told: dict[str, str] = {}
    with drawing(3.4, narrow=narrow) as (figure, axes):
        done = sorted(at - start for at, _ in past.done)
        axes.step([0, *done, end - start], [*range(len(done) + 1), len(done)], where="post", color=COLOURS["one"],
                  label="progress")  # fmt: skip
        for place, event in enumerate(e for e in past.events if e.kind == "sprint" and "completed" in e.what):
            level = sum(at <= event.at - start for at in done)
            (dot,) = axes.plot(
                [event.at - start],
                [level],
                "D",
                color=COLOURS["four"],
                label="_" if place else "sprint completed",
                clip_on=False,
                zorder=3,
            )
            dot.set_gid(f"sprint-{place}")
            told[f"sprint-{place}"] = f"{event.what} at {seconds(event.at - start)}"
        beats = sorted(at - start for at in past.beats)
        if beats:
            share = [len(done) * (place + 1) / len(beats) for place in range(len(beats))]
            axes.step(
                [0, *beats],
                [0, *share],
                where="post",
                color=COLOURS["three"],
                linestyle="--",
                label="heartbeats (scaled)",
            )
        for place, stall in enumerate(halts):
            shade = axes.axvspan(
                stall.start - start,
                stall.end - start,
                color=COLOURS["alarm"],
                alpha=0.18,
                linewidth=0,
                label="alive, no progress" if not place else "_",
            )
            shade.set_gid(f"stall-{place}")
            told[f"stall-{place}"] = (
                f"no progress for {seconds(stall.end - stall.start)}, and {stall.signs} signs of life"
            )
        axes.set_ylim(0, max(1, len(done)) * 1.05)
        axes.set_ylabel("signs of progress")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_formatter("{x:,.0f}")
        _over_time(axes, end - start, narrow=narrow)
        plain_axes(axes)
        figure.legend(loc="outside upper left", ncols=2 if narrow else 4)
        return svg(figure, told)


def _over_time(axes: Axes, span: float, *, narrow: bool) -> None:
    span = span or 1.0
    count = 3 if narrow else 6
    step = next((s for s in _STEPS if span / s <= count), span / count)
    ticks = [place * step for place in range(int(span / step) + 1)]
    axes.set_xticks(ticks, [_tick(tick, step) for tick in ticks])
    axes.set_xlim(-span * 0.01, span * 1.01)
    axes.set_xlabel("from the start of the run")
    plain_axes(axes, grid="x")


def _tick(value: float, step: float) -> str:
    """In the unit of the step, so that neighbours are told apart."""
    size, unit = next(((size, unit) for size, unit in _UNITS if step >= size), (1e-6, "µs"))
    return f"{value / size:.4g} {unit}" if value else "0"


_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))

_STEPS = [
    *(10.0**power * digit for power in range(-6, 1) for digit in (1, 2, 5)),
    *(
        10,
        20,
        30,
        60,
        120,
        300,
        600,
        1200,
        1800,
        3600,
        7200,
        14400,
        21600,
        43200,
        86400,
        172800,
        604800,
        2592000,
    ),
]


def _said(lane: Lane, one: Bar, start: float) -> str:
    what = (
        f"{one.count:,} attempts of {lane.name}"
        if one.count > 1
        else f"{lane.name} {one.first.key or ''}".strip()
    )
    return (
        f"{what}: {WORDS[one.status]}, from {seconds(one.start - start)} to {seconds(one.end - start)}"
        f"{f', attempt {one.first.attempt}' if one.count == 1 and one.first.attempt > 1 else ''}"
    )


def _short(name: str, most: int) -> str:
    name = escape(name)
    return name if len(name) <= most else name[: most - 1] + "…"
