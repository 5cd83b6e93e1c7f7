"""Advice as JSON, and as a report with a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from runledger.advice.judge import Advice, Judged, Range
from runledger.advice.words import lede, ranged, said, uncertain
from runledger.clock import stamp
from runledger.doubt import shown
from runledger.granularity.estimate import quantile
from runledger.pictures.columns import packed
from runledger.pictures.document import Cell, Document, Section, Table, cells
from runledger.pictures.terminal import bar
from runledger.pictures.words import amount, percent, seconds, span
from runledger.text import escape

__all__ = ["SCHEMA", "as_json", "report"]

SCHEMA = "runledger.advice/1"

COARSE = ("too coarse", "one effect")
ASKING = (*COARSE, "too fine")

SHOWN = 40
"""Names in the picture, and deaths in the table, at most; the JSON has all."""


def as_json(advice: Advice) -> dict[str, Any]:
    """All of it; times in seconds, what is not known as null."""
    deaths, rate = advice.deaths, advice.deaths.rate
    return {
        "schema": SCHEMA,
        "unit": advice.unit,
        "record_cost": {
            "durable": advice.cost.durable,
            "riding": advice.cost.riding,
            "how": advice.cost.how,
        },
        "deaths": {
            "count": deaths.count,
            "exposure": deaths.exposure,
            "per_second": rate.rate,
            "low": rate.low,
            "high": _finite(rate.high),
            "mean_time": rate.mean_time,
            "confidence": rate.confidence,
        },
        "each_death": [
            {
                "owner": death.owner,
                "at": stamp(death.at),
                "idle": death.idle,
                "steps": [
                    {"name": hit.name, "key": hit.key, "low": hit.low, "high": hit.high, "became": hit.became}
                    for hit in death.hits
                ],
            }
            for death in deaths.told
        ],
        "steps": [_step(step, advice) for step in advice.steps],
        "uncertain": list(uncertain(advice)),
    }


def _step(step: Judged, advice: Advice) -> dict[str, Any]:
    group = step.group
    spread = group.seconds
    return {
        "name": group.name,
        "verdict": step.verdict,
        "sure": step.sure,
        "count": spread.count,
        "idempotent": group.idempotent,
        "saves": group.saves,
        "seconds": {
            "mean": spread.mean,
            "median": spread.median,
            "p10": spread.p10,
            "p90": spread.p90,
            "longest": spread.longest,
            "total": spread.total,
        },
        "longest_stretch": max(group.lengths),
        "cost": group.cost,
        "ledger_share": group.ledger_share,
        "redo_per_death": step.per_death,
        "redo_per_day": _range(step.per_day),
        "best_interval": _range(step.best),
        "saving_per_day": _range(step.saving),
        "batch": step.batch,
        "advice": said(step, advice),
    }


def _range(found: Range | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {"value": found.value, "low": found.low, "high": _finite(found.high)}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def report(advice: Advice) -> Document:
    """The report."""
    sections = []
    if advice.steps:
        from runledger.advice import drawing

        sections.append(
            Section(
                "steps",
                "The steps, and what a death takes of each",
                tuple(_told(advice)),
                _steps(advice),
                lambda narrow: drawing.stretches(advice, narrow=narrow),
                lambda width: _bars(advice, width),
                drawing.in_words(advice),
            )
        )
    if advice.deaths.told:
        sections.append(
            Section("deaths", "Each death, and what it cost", _truncated(advice), _deaths(advice))
        )
    sections.append(Section("uncertain", "What is uncertain", tuple(uncertain(advice))))
    return Document("How fine to checkpoint this run", tuple(lede(advice)), tuple(sections), as_json(advice))


def _told(advice: Advice) -> Iterator[str]:
    """What to do, once for all steps of which it is the same."""
    names: dict[str, list[str]] = {}
    for step in advice.steps:
        if step.verdict in ASKING:
            names.setdefault(said(step, advice), []).append(step.group.name)
    for what, of in names.items():
        yield f"{', '.join(of)}: {what}"


def _steps(advice: Advice) -> Table:
    few = advice.deaths.count <= 5
    rows = []
    for step in advice.steps:
        group, share = step.group, step.group.ledger_share
        rows.append(
            cells(
                Cell(group.name, group.name),
                Cell(step.verdict, step.verdict),
                Cell(f"{group.seconds.count:,}", group.seconds.count),
                Cell(seconds(group.seconds.median), group.seconds.median),
                span(group.seconds.p10, group.seconds.p90),
                Cell("" if share is None else percent(share), share),
                Cell(amount(step.per_death, advice.unit), step.per_death),
                ranged(step.per_day, advice.unit, few=few),
                ""
                if step.best is None or step.verdict not in COARSE
                else ranged(step.best, "seconds", few=few),
                ranged(step.saving, advice.unit, few=few),
            )
        )
    head = (
        "step", "verdict", "count", "takes", "most of them", "the ledger", "a death redoes", "redone a day",
        "best interval", "would save a day",
    )  # fmt: skip
    return Table("The committed steps by name; a day is a day of running", head, rows)


def _bars(advice: Advice, width: int) -> list[str]:
    """One line for each name: from the shortest stretch to the longest, on a logarithmic scale."""
    steps = advice.steps[:SHOWN]
    shortest = [max(1e-6, min(step.group.lengths)) for step in steps]
    longest = [max(1e-6, *step.group.lengths) for step in steps]
    low, high = math.log(min(shortest)), math.log(max(longest))
    scale = (high - low) or 1.0
    names = [escape(step.group.name) for step in steps]
    name = min(28, width // 4, max(map(len, names)))
    columns = max(16, min(width, 110) - name - 13)
    lines = []
    for step, shown_as, first, last in zip(steps, names, shortest, longest, strict=True):
        middle = math.log(max(1e-6, quantile(sorted(step.group.lengths), 0.5)))
        spans = [((math.log(first) - low) / scale, (math.log(last) - low) / scale, "─")]
        spans.append(((middle - low) / scale, (middle - low) / scale, "●"))
        if step.best is not None and step.best.value:
            best = (math.log(step.best.value) - low) / scale
            spans = [*spans, *([(best, best, "┊")] if 0 <= best <= 1 else [])]
        lines.append(f"{shown_as[:name]:<{name}} {bar(spans, columns)} {step.verdict}".rstrip())
    lines.append(f"{'':<{name}} {seconds(math.exp(low))}{seconds(math.exp(high)):>{columns - 8}}")
    legend = ["● usual", "─ shortest to longest"]
    if any("┊" in line for line in lines):
        legend.append("┊ the best interval")
    return lines + packed(legend, width, name + 1)


def _truncated(advice: Advice) -> tuple[str, ...]:
    more = len(advice.deaths.told) - SHOWN
    return (f"The last {SHOWN} of {len(advice.deaths.told)}.",) if more > 0 else ()


def _deaths(advice: Advice) -> Table:
    rows = [
        cells(
            Cell(stamp(death.at)[:19] + "Z", stamp(death.at)),
            "between steps" if hit is None else shown(hit.name, hit.key),
            "nothing" if hit is None else span(hit.low, hit.high),
            "" if hit is None else hit.became,
            Cell(seconds(death.idle), death.idle),
        )
        for death in advice.deaths.told[-SHOWN:]
        for hit in (death.hits or (None,))
    ]
    head = ("last record", "inside", "lost", "what became of it", "until it was found")
    return Table("Owners that never closed", head, rows)
