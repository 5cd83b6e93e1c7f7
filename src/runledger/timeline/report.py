"""The course of a run as JSON, and as a report with pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from runledger.clock import stamp
from runledger.doubt import shown
from runledger.past.model import Attempt, Event, Past
from runledger.pictures.columns import packed
from runledger.pictures.document import Cell, Document, Section, Table, cells
from runledger.pictures.terminal import bar
from runledger.pictures.words import seconds
from runledger.text import escape
from runledger.timeline.lanes import WORDS, Lane, lanes_of
from runledger.timeline.pulse import Stall, stalls

__all__ = ["SCHEMA", "as_json", "report"]

SCHEMA = "runledger.report/1"

ROWS = 200
"""Lines of a table at most; the JSON has all."""

CARRIED = 5000
"""Attempts in the JSON of a page at most: a phone must be able to open it."""

SIGNS = {"committed": "█", "aborted": "▒", "again": "░", "in_doubt": "?", "in_flight": "▓"}


def as_json(past: Past) -> dict[str, Any]:
    """All of it."""
    start, end = past.span
    plan = past.plan
    return {
        "schema": SCHEMA,
        "state": None if plan is None else plan.state,
        "plan_id": None if plan is None else plan.plan_id,
        "sprints": None
        if plan is None
        else {"total": plan.total, "completed": plan.completed, "current": plan.current},
        "lsn": past.lsn,
        "first_lsn": past.first,
        "start": stamp(start),
        "end": stamp(end),
        "counts": dict(sorted(Counter(attempt.status for attempt in past.attempts).items())),
        "deaths": past.deaths + len(past.unburied),
        "attempts": [_attempt(attempt) for attempt in past.attempts],
        "lanes": [
            {"name": lane.name, "path": list(lane.path), "steps": lane.steps, "attempts": lane.attempts}
            for lane in lanes_of(past)
        ],
        "events": [
            {"at": stamp(event.at), "kind": event.kind, "what": event.what, "lsn": event.lsn}
            for event in past.events
        ],
        "heartbeats": len(past.beats),
        "progress": len(past.done),
        "stalls": [
            {
                "start": stamp(s.start),
                "end": stamp(s.end),
                "seconds": s.end - s.start,
                "signs": s.signs,
                "open": s.open,
            }
            for s in stalls(past)
        ],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "lsn": attempt.lsn,
        "name": attempt.name,
        "key": attempt.key,
        "attempt": attempt.attempt,
        "status": attempt.status,
        "started": stamp(attempt.started),
        "ended": None if attempt.ended is None else stamp(attempt.ended),
        "parent": attempt.parent,
        "owner": attempt.owner,
        "marks": [{"at": stamp(mark.at), "label": mark.label, "data": mark.data} for mark in attempt.marks],
        "saves": len(attempt.saved),
        "failure": attempt.failure,
    }


def report(past: Past) -> Document:
    """The report."""
    from runledger.timeline import drawing

    lanes, halts = lanes_of(past), stalls(past)
    sections = []
    if lanes:
        sections.append(
            Section(
                "course",
                "The course of the run",
                (),
                _lanes(lanes),
                lambda narrow: drawing.course(past, lanes, narrow=narrow),
                lambda width: _bars(past, lanes, width),
                drawing.course_in_words(past, lanes),
            )
        )
        sections.append(
            Section(
                "pulse",
                "Heartbeat against progress",
                tuple(_pulse(halts)),
                _stalls(halts),
                lambda narrow: drawing.pulse(past, halts, narrow=narrow),
                None,
                drawing.pulse_in_words(past, halts),
            )
        )
    unsettled = [attempt for attempt in past.attempts if attempt.status != "committed"]
    if unsettled:
        sections.append(Section("unsettled", "What did not commit", _cut(unsettled), _attempts(unsettled)))
    if past.events:
        sections.append(Section("events", "What else happened", _cut(past.events), _events(past.events)))
    data = as_json(past)
    carried = {**data, "attempts": data["attempts"][-CARRIED:]}
    return Document("The run so far", tuple(_lede(past, halts)), tuple(sections), data, carried)


def _lede(past: Past, halts: list[Stall]) -> Iterator[str]:
    start, end = past.span
    plan = past.plan
    if plan is None:
        yield "No run was started here."
    else:
        progress = f", {plan.completed} of {plan.total} sprints completed" if plan.total else ""
        now = f", now in {plan.current}" if plan.current else ""
        yield f"{plan.state}: {plan.plan_id}{progress}{now}."
    counts = Counter(attempt.status for attempt in past.attempts)
    said = ", ".join(f"{counts[status]:,} {words}" for status, words in WORDS.items() if counts[status])
    deaths = past.deaths + len(past.unburied)
    yield (
        f"{seconds(end - start)} from {stamp(start)[:19]}Z; {len(past.attempts):,} attempts: {said or 'none'}. "
        f"{deaths} death{'' if deaths == 1 else 's'} of owners."
    )
    if any(stall.open for stall in halts):
        yield (
            f"It is alive and gets nowhere: no progress for {seconds(halts[-1].end - halts[-1].start)}, and "
            f"{halts[-1].signs} signs of life in that time."
        )
    if past.first > 1:
        yield (
            f"What was before LSN {past.first} is known from the folded history alone: outcomes of keyed steps, and "
            f"neither cut-off attempts nor when owners died."
        )


def _pulse(halts: list[Stall]) -> Iterator[str]:
    yield "A heartbeat says that the loop is turning. Progress is a commit, a save inside a step, a completed sprint."
    if not halts:
        yield "There was no long stretch with signs of life and without progress."


def _lanes(lanes: list[Lane]) -> Table:
    rows = []
    for lane in lanes[:ROWS]:
        counts: Counter[str] = Counter()
        for one in lane.bars:
            counts[one.status] += one.count
        rows.append(
            cells(
                Cell(" / ".join((*lane.path, lane.name)), lane.name),
                Cell(f"{lane.steps:,}", lane.steps),
                Cell(f"{lane.attempts:,}", lane.attempts),
                *(Cell(f"{counts[s]:,}" if counts[s] else "", counts[s]) for s in WORDS),
                Cell(f"{len(lane.marks):,}" if lane.marks else "", len(lane.marks)),
                Cell(seconds(lane.bars[-1].end - lane.bars[0].start)),
            )
        )
    head = ("step", "steps", "attempts", *WORDS.values(), "marks", "from first to last")
    return Table("Attempts by step", head, rows)


def _bars(past: Past, lanes: list[Lane], width: int) -> list[str]:
    start, end = past.span
    scale = (end - start) or 1.0
    names = ["  " * lane.depth + escape(lane.name) for lane in lanes[:40]]
    wide = min(28, width // 3, max(map(len, names)))
    columns = max(20, min(width, 120) - wide - 2)
    lines = []
    for lane, name in zip(lanes, names, strict=False):
        spans = [((b.start - start) / scale, (b.end - start) / scale, SIGNS[b.status]) for b in lane.bars]
        lines.append(f"{name[:wide]:<{wide}} {bar(spans, columns)}".rstrip())
    deaths = [((e.at - start) / scale,) * 2 for e in past.events if e.kind == "death"]
    if deaths:
        lines.append(f"{'deaths':<{wide}} {bar([(at, to, '†') for at, to in deaths], columns)}".rstrip())
    if len(lanes) > len(names):
        lines.append(f"and {len(lanes) - len(names)} more")
    lines.append(f"{'':<{wide}} {'0 s'}{seconds(scale):>{columns - 3}}")
    signs = [f"{SIGNS[status]} {words}" for status, words in WORDS.items()]
    return lines + packed(signs, width, wide + 1)


def _cut(items: list[Any]) -> tuple[str, ...]:
    return (f"The last {ROWS} of {len(items):,}; the JSON has all.",) if len(items) > ROWS else ()


def _attempts(attempts: list[Attempt]) -> Table:
    rows = [
        cells(
            Cell(shown(one.name, one.key), one.name),
            Cell(WORDS[one.status], one.status),
            Cell(str(one.lsn), one.lsn),
            Cell(str(one.attempt), one.attempt),
            stamp(one.started)[:19] + "Z",
            one.failure or "",
        )
        for one in attempts[-ROWS:]
    ]
    return Table(
        "Attempts without a commit", ("step", "status", "LSN", "attempt", "started", "ended with"), rows
    )


def _events(events: list[Event]) -> Table:
    rows = [
        cells(
            Cell(stamp(event.at)[:19] + "Z", stamp(event.at)),
            Cell(event.kind, event.kind),
            event.what,
            str(event.lsn),
        )
        for event in events[-ROWS:]
    ]
    return Table("Deaths, moves of the run, compactions", ("when", "kind", "what", "LSN"), rows)


def _stalls(halts: list[Stall]) -> Table:
    rows = [
        cells(
            Cell(stamp(stall.start)[:19] + "Z", stamp(stall.start)),
            Cell(seconds(stall.end - stall.start), stall.end - stall.start),
            Cell(str(stall.signs), stall.signs),
            "goes on" if stall.open else "over",
        )
        for stall in halts
    ]
    return Table("Alive, and no progress", ("since", "for", "signs of life", "now"), rows)
