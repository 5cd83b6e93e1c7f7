"""A sweep as JSON, and as a report with pictures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runledger.pictures.document import Cell, Document, Section, Table, cells
from runledger.pictures.terminal import Series, plot
from runledger.pictures.words import percent, seconds
from runledger.sweep.measure import Measured, Parts, Point

__all__ = ["SCHEMA", "as_json", "report"]

SCHEMA = "runledger.bench.granularity/1"

FEW = 5
"""Runs at a point below which its interval is too wide to speak for or against anything."""

KINDS = {
    "fixed": "of equal length",
    "exponential": "of exponential length",
    "heavy": "of heavy-tailed length",
    "ledger": "as uneven as the committed steps of the ledger here",
}


def as_json(found: Measured) -> dict[str, Any]:
    """All of it; times in real seconds, totals and parts as shares of the work."""
    plan = found.plan
    return {
        "schema": SCHEMA,
        "work": plan.work,
        "units": {"kind": plan.kind, "count": len(plan.units)},
        "mean_time": plan.mean_time,
        "compress": plan.compress,
        "seed": plan.seed,
        "workers": plan.workers,
        "confidence": plan.confidence,
        "runs": found.runs,
        "kills": found.kills,
        "took": found.took,
        "record_cost": found.record_cost,
        "restart_cost": found.restart_cost,
        "best": {"model": found.best_model, "measured": found.best_measured},
        "full_length": {
            "mean_time": found.full.mean_time,
            "best": found.full.best,
            "young": found.full.young,
            "overhead": found.full.overhead,
        },
        "points": [_point(point) for point in found.points],
        "every": None if found.every is None else _point(found.every),
        "agreeing": sum(point.agrees is True for point in found.points),
        "disagreeing": [point.interval for point in found.disagreeing],
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "interval": point.interval,
        "runs": point.runs,
        "unfinished": point.unfinished,
        "deaths": point.deaths,
        "record_cost": point.record_cost,
        "restart_cost": point.restart_cost,
        "total": {"mean": point.total.value, "low": point.total.low, "high": point.total.high},
        "model": point.model,
        "measured_parts": _parts(point.measured_parts),
        "model_parts": None if point.model_parts is None else _parts(point.model_parts),
        "agrees": point.agrees,
    }


def _parts(parts: Parts) -> dict[str, float]:
    return {"records": parts.records, "redone": parts.redone, "restarts": parts.restarts}


def report(found: Measured) -> Document:
    """The report."""
    from runledger.sweep import drawing

    overview, shares = _overview(found), _shares(found)
    return Document(
        title="How fine to checkpoint, measured",
        lede=tuple(_lede(found)),
        sections=(
            Section(
                "total",
                "What a run takes, by the interval between records",
                ("What was measured has a bar: the interval that it is known to. The model has none.",),
                overview,
                lambda narrow: drawing.totals(found, narrow=narrow),
                lambda width: _plotted(found, width),
                drawing.totals_in_words(found),
            ),
            Section(
                "parts",
                "What it is spent on",
                (
                    "For each second of work: records cost less the rarer they are, and what is redone costs more.",
                ),
                shares,
                lambda narrow: drawing.parts(found, narrow=narrow),
                None,
                drawing.parts_in_words(found),
            ),
            Section("method", "How it was measured", tuple(_method(found))),
        ),
        data=as_json(found),
    )


def _lede(found: Measured) -> Iterator[str]:
    plan, full = found.plan, found.full
    best = min(found.points, key=lambda point: point.total.value)
    yield (
        f"With a death every {seconds(plan.mean_time)} on average, {seconds(plan.work)} of work took least, "
        f"{best.total.value:.2f} times as long, when it was recorded every {seconds(found.best_measured)}. "
        f"The model says every {seconds(found.best_model)}."
    )
    if found.every is not None:
        yield (
            f"`ledger.every`, which is told nothing, took {found.every.total.value:.2f} times as long "
            f"(between {found.every.total.low:.2f} and {found.every.total.high:.2f})."
        )
    known = [point for point in found.points if point.agrees is not None]
    wrong = found.disagreeing
    if not wrong:
        yield f"The model lies within the interval of the measurement at each of {len(known)} points."
    else:
        where = ", ".join(seconds(point.interval or 0.0) for point in wrong)
        yield (
            f"The model lies within the interval of the measurement at {len(known) - len(wrong)} of {len(known)} "
            f"points. They disagree at {where}."
        )
    if found.fewest < FEW:
        yield f"There are only {found.fewest} runs at some points, so little is said by that: try more --seconds."
    given_up = sum(point.unfinished for point in found.points)
    if given_up:
        yield f"{given_up} runs were given up as they would not end: where these are, the totals are lower bounds."
    yield (
        f"At full length, with a death every {seconds(full.mean_time)} and records at what they cost here, the best "
        f"is every {seconds(full.best)}, and costs {percent(full.overhead)} beyond the work."
    )


def _overview(found: Measured) -> Table:
    rows = []
    for point in [*found.points, *([found.every] if found.every is not None else [])]:
        total = point.total
        rows.append(
            cells(
                Cell("ledger.every" if point.interval is None else seconds(point.interval), point.interval),
                Cell(f"{total.value:.3f}", total.value),
                f"{total.low:.3f} to {total.high:.3f}",
                Cell("" if point.model is None else f"{point.model:.3f}", point.model),
                {True: "yes", False: "NO", None: ""}[point.agrees],
                Cell(f"{point.runs}", point.runs),
                Cell(f"{point.deaths:.1f}", point.deaths),
                Cell(seconds(point.record_cost), point.record_cost),
                Cell(seconds(point.restart_cost), point.restart_cost),
            )
        )
    return Table(
        "Time taken over the work alone, by the interval between records",
        ("interval", "total", "from, to", "model", "agrees", "runs", "deaths", "a record", "a restart"),
        rows,
    )


def _shares(found: Measured) -> Table:
    rows = []
    for point in [*found.points, *([found.every] if found.every is not None else [])]:
        row = [Cell("ledger.every" if point.interval is None else seconds(point.interval), point.interval)]
        for part in ("records", "redone", "restarts"):
            for parts in (point.measured_parts, point.model_parts):
                value = None if parts is None else getattr(parts, part)
                row.append(Cell("" if value is None else percent(value), value))
        rows.append(tuple(row))
    head = (
        "interval",
        *(said for part in ("records", "redone", "restarts") for said in (part, f"{part}, model")),
    )
    return Table("Beyond the work, as shares of it: measured, and as the model has it", head, rows)


def _plotted(found: Measured, width: int) -> list[str]:
    points = [point for point in found.points if point.interval is not None]
    xs = [point.interval or 0.0 for point in points]
    measured = [(x, point.total.value) for x, point in zip(xs, points, strict=True)]
    model = [(x, point.model or 1.0) for x, point in zip(xs, points, strict=True)]
    ends = [(point.total.low, point.total.high) for point in points]
    series = [Series("measured, │ its interval", "●", measured, ends), Series("model", "·", model)]
    if found.every is not None:
        level = found.every.total.value
        series.append(Series("ledger.every", "-", [(x, level) for x in _between(xs[0], xs[-1])]))
    most = 1.5 * max(point.total.value for point in points)
    return plot(series, width, x_text=seconds, y_text=lambda y: f"{y:.2f}", y_most=most)


def _between(low: float, high: float, count: int = 60) -> list[float]:
    return [low * (high / low) ** (place / (count - 1)) for place in range(count)]


def _method(found: Measured) -> Iterator[str]:
    plan = found.plan
    yield (
        f"{found.runs} runs, {found.kills} kills by SIGKILL as a Poisson process, {seconds(found.took)} on "
        f"{plan.workers} processes at once; seed {plan.seed}. Each run is a child process on a ledger of its own, "
        f"started again after each kill from what the ledger says."
    )
    yield (
        f"The work is {len(plan.units)} units {KINDS[plan.kind]}, {seconds(plan.work)} in all: a process that sleeps. "
        f"One real second stands for {seconds(plan.compress)}; records and restarts are real and not compressed."
    )
    yield (
        f"The intervals of all points together hold with {percent(plan.confidence)} confidence. The model is given "
        f"what a record and a restart were measured to cost at each point, and nothing else: deaths strike work, "
        f"records and restarts alike, and the last record counts."
    )
    yield (
        "A SIGKILL takes the process and not the machine: what was written when it came is kept, even where its sync "
        "had not returned."
    )
