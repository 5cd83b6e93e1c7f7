"""Reading the past: one pass over the journal, then what only the history still has."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from runledger import record as r
from runledger import values
from runledger.clock import parse
from runledger.lives import moments, owners_of
from runledger.local.files import find_root
from runledger.local.known import inspect, records
from runledger.local.owner import fate
from runledger.past.model import Attempt, Event, Mark, Past, Plan
from runledger.store import Known
from runledger.text import escape
from runledger.view import Damage, MarkView, Settled

__all__ = ["look"]

GAPS = 5000
"""Gaps between a commit and the next intent that are looked at: enough to know what a record costs."""


TOLD_EACH = 250
"""Records after which the share is told."""


def look(root: str | os.PathLike[str] | None = None, told: Callable[[float], object] | None = None) -> Past:
    """The past of the ledger of ``root``; reads only. ``told`` hears now and then what share of it was read.

    Raises:
        LedgerCorrupt, NewerVersion, DiskRefused: it cannot be read as a ledger of this version.
    """
    known, reader = inspect(find_root(root))
    try:
        reading = _Reading(known.view.lsn, told)
        owners = owners_of(reading.watched(records(reader.files.root, 0)))
        folded = _folded(reader.folded(), reading.first) if reader.base else []
        fates = {owner.id: fate(reader.files.owners, owner, set()) for owner in known.view.owners.values()}
    finally:
        reader.close()
    # Who is known to be dead though nobody has recorded it yet.
    unburied = [owner for owner, verdict in fates.items() if not verdict.alive and verdict.proved]
    reading.judge(known)
    attempts = sorted([*folded, *reading.attempts.values()], key=lambda attempt: attempt.lsn)
    _nest(attempts)
    return Past(
        attempts=attempts,
        owners=owners,
        events=reading.events,
        plan=_plan(known),
        first=reading.first,
        lsn=known.view.lsn,
        deaths=known.view.deaths,
        alive=[owner for owner, verdict in fates.items() if verdict.alive],
        unburied=unburied,
        beats=reading.beats,
        done=sorted([*_done(folded), *reading.done]),
        gaps=reading.gaps,
        light_gaps=reading.light_gaps,
        riding=reading.riding,
        now=time.time(),
    )


_TOLD: dict[type, tuple[str, Callable[[Any], str]]] = {
    r.Lost: ("death", lambda x: f"{x.who}: {x.proof}"),
    r.Sprint: ("sprint", lambda x: f"{x.id} {x.status.replace('_', ' ')}"),
    r.Started: ("started", lambda x: x.plan_id),
    r.Adopted: ("started", lambda _: "adopted from a state file"),
    r.Halted: ("halted", lambda x: x.reason),
    r.Abandoned: ("abandoned", lambda x: x.reason),
    r.Resumed: ("resumed", lambda x: f"by {x.by}" if x.by else ""),
    r.Finished: ("finished", lambda x: x.reason or ""),
    r.Compacted: ("compacted", lambda x: f"up to LSN {x.lsn}"),
    r.Torn: ("torn", lambda x: f"{x.size} bytes of an unfinished record were cut"),
    r.Observed: ("edited", lambda x: x.ignored or "the state file was changed by somebody else"),
}


class _Reading:
    """What one pass over the records gathers."""

    def __init__(self, last: int, told: Callable[[float], object] | None) -> None:
        self._last = last
        self._told = told
        self.attempts: dict[int, Attempt] = {}
        self.events: list[Event] = []
        self.beats: list[float] = []
        self.done: list[tuple[float, str]] = []
        self.gaps: list[float] = []
        self.light_gaps: list[float] = []
        self.first = 0
        self.riding = False
        self._open: dict[tuple[str, str | None], int] = {}
        self._committed: dict[str, tuple[bool, float]] = {}

    def watched(self, items: Iterable[r.Record | Damage]) -> Iterator[r.Record | Damage]:
        """The items, taken in as they pass."""
        at = 0.0
        moment = moments()
        for item in items:
            if isinstance(item, Damage):
                self.events.append(
                    Event(at, "damage", f"LSN {item.first} to {item.last} are lost", item.first)
                )
            else:
                self.first = self.first or item.lsn
                if self._told is not None and item.lsn % TOLD_EACH == 0:
                    self._told((item.lsn - self.first) / max(1, self._last - self.first))
                at = moment(item.at) or at
                self._take(item, at)
            yield item

    def _take(self, item: r.Record, at: float) -> None:
        committed = self._committed.pop(item.owner, None)
        if type(item) is r.Intent:
            if committed is not None:
                durable, since = committed
                gaps = self.gaps if durable else self.light_gaps
                if len(gaps) < GAPS:
                    gaps.append(max(0.0, at - since))
            self._begin(item, at)
        elif type(item) is r.Mark:
            attempt = self.attempts.get(item.of)
            if attempt is not None:
                attempt.marks.append(_mark(MarkView(at=item.at, label=item.label, data=item.data)))
        elif type(item) is r.Checkpoint:
            attempt = self.attempts.get(item.of)
            if attempt is not None:
                attempt.saved.append(at)
                self.done.append((at, f"{attempt.name} saved"))
        elif isinstance(item, (r.Commit, r.Abort, r.Doubt, r.Resolved)):
            self._end(item, at)
        else:
            self._happened(item, at)

    def _begin(self, item: r.Intent, at: float) -> None:
        identity = (item.name, item.key)
        before = self.attempts.get(self._open.get(identity, 0))
        if item.key is not None:
            self._open[identity] = item.lsn
        if (
            before is not None
            and before.status in {"in_doubt", "in_flight"}
            and item.attempt > before.attempt
        ):
            before.status = "again"
        self.attempts[item.lsn] = Attempt(
            lsn=item.lsn,
            name=item.name,
            key=item.key,
            attempt=item.attempt,
            owner=item.owner,
            started=at,
            ended=None,
            status="in_flight",
            idempotent=item.idempotent,
            probed=item.probed,
            external=item.lease is not None,
            parent=item.parent,
            marks=[],
            saved=[],
            children=[],
        )

    def _end(self, item: r.Commit | r.Abort | r.Doubt | r.Resolved, at: float) -> None:
        attempt = self.attempts.get(item.of)
        if type(item) is r.Commit:
            self.done.append((at, item.name))
        if attempt is None:
            return
        if type(item) is r.Doubt:
            attempt.status, attempt.ended = "in_doubt", at
            attempt.failure = f"{item.failure.type}: {item.failure.message}"
            return
        happened = type(item) is r.Commit or (isinstance(item, r.Resolved) and item.happened)
        attempt.status = "committed" if happened else "aborted"
        # An outcome that another owner recorded says what happened, and not when it ended.
        if item.owner == attempt.owner or attempt.external:
            attempt.ended = attempt.ended or at
        if type(item) is r.Commit:
            self._committed[item.owner] = not attempt.idempotent, at

    def _happened(self, item: r.Record, at: float) -> None:
        if type(item) is r.Heartbeat:
            self.beats.append(at)
        elif type(item) is r.Opened:
            self.riding = self.riding or item.commit == "riding"
        elif type(item) is r.Sprint and item.status == "completed":
            self.done.append((at, f"sprint {item.id}"))
        told = _TOLD.get(type(item))
        if told is not None:
            kind, what = told
            self.events.append(Event(at, kind, what(item), item.lsn))

    def judge(self, known: Known) -> None:
        """Who is still at work, and what is in doubt."""
        for attempt in self.attempts.values():
            if attempt.status == "in_flight":
                verdict = known.fates.get(attempt.lsn)
                attempt.status = "in_flight" if verdict is not None and verdict.alive else "in_doubt"


def _folded(entries: Iterable[Settled], first: int) -> list[Attempt]:
    """The outcomes whose intents are no longer in the journal."""
    found = []
    for step in entries:
        if first and step.of >= first:
            continue
        ended = parse(step.at)
        started = parse(step.started) if step.started else None
        if ended is None:
            continue
        found.append(
            Attempt(
                lsn=step.of,
                name=step.name,
                key=step.key,
                attempt=step.attempt,
                owner=step.owner,
                started=ended if started is None else started,
                ended=None if started is None or step.resolved else ended,
                status=step.status,
                marks=[_mark(mark) for mark in step.marks],
                saved=[],
                children=[],
                folded=True,
            )
        )
    return found


def _done(folded: list[Attempt]) -> Iterator[tuple[float, str]]:
    for attempt in folded:
        if attempt.status == "committed" and attempt.ended is not None:
            yield attempt.ended, attempt.name


def _mark(mark: MarkView) -> Mark:
    data = None
    if memoryview(mark.data):
        data = values.plain(bytes(mark.data))
    return Mark(parse(mark.at) or 0.0, mark.label, data)


def _nest(attempts: list[Attempt]) -> None:
    by_lsn = {attempt.lsn: attempt for attempt in attempts}
    for attempt in attempts:
        parent = by_lsn.get(attempt.parent) if attempt.parent is not None else None
        if parent is not None:
            parent.children.append(attempt)
            attempt.depth = parent.depth + 1


def _plan(known: Known) -> Plan | None:
    run = known.view.run
    if run is None:
        return None
    return Plan(escape(run.plan_id), run.state, run.total, run.completed, run.current)
