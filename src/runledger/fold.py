"""The fold: what one more record does to a view. No clock, no file, no owner's fate: the same records give the
same view.

``advance`` works in place on a view that its caller owns; ``fold`` is the same on a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from runledger import fold_steps as steps
from runledger import record as r
from runledger.document import Document, DocumentDamaged
from runledger.errors import LedgerCorrupt
from runledger.losses import begun, lost
from runledger.run_state import HALTED, JACKED_OUT, RUNNING
from runledger.state_reading import Reading, Unreadable, apply_reading, read
from runledger.view import (
    Damage,
    Owner,
    Run,
    SprintView,
    View,
)

__all__ = ["advance", "advance_all", "fold"]


def fold(view: View, items: Iterable[r.Record | Damage]) -> View:
    """The view after ``items``; ``view`` stays as it is."""
    after = deepcopy(view, {id(r.NOTHING): r.NOTHING})
    for item in items:
        advance(after, item)
    return after


def advance_all(view: View, items: Iterable[r.Record | Damage]) -> None:
    """Fold records in order. Nearly all of them are of steps of a run that goes on: what each of those would set anew
    is set once for a stretch of them."""
    last: r.Intent | r.Commit | None = None
    plain = _is_plain(view)
    for item in items:
        fold_step = _STEPS.get(type(item)) if plain else None
        if fold_step is not None:
            fold_step(view, item)
            last = item  # type: ignore[assignment]  # the two kinds that a plain view takes
        else:
            _went_on(view, last)
            last = None
            advance(view, item)
            plain = _is_plain(view)
    _went_on(view, last)


def _is_plain(view: View) -> bool:
    """Whether a step's record says nothing of the run but that it goes on."""
    run = view.run
    return run is not None and run.state == RUNNING and not run.unsure and not view.damage


def _went_on(view: View, item: r.Intent | r.Commit | None) -> None:
    if item is not None and view.run is not None:
        view.lsn = view.news = item.lsn
        view.steps = item.steps
        view.at = view.run.last_activity = item.at


def advance(view: View, item: r.Record | Damage) -> None:
    """Fold one record, or one stretch of damage, into ``view``."""
    fold_step = _STEPS.get(type(item))
    if fold_step is not None and _is_plain(view):
        fold_step(view, item)
        _went_on(view, item)  # type: ignore[arg-type]  # the two kinds that a plain view takes
        return
    if isinstance(item, Damage):
        lost(view, item)
        return
    view.lsn = item.lsn
    view.at = item.at
    view.steps = item.steps
    if view.damage and type(item) in _OF_THE_RUN:
        begun(view, item.run)
    before = view.run.state if view.run is not None else None
    _FOLDS[type(item)](view, item)
    if type(item) not in _COMINGS_AND_GOINGS:
        view.news = item.lsn
    run = view.run
    if run is None:
        return
    if run.state != before or (run.unsure and type(item) in _TELLING):
        run.moved = item.lsn
    if not run.known and type(item) in _ONLY_RUNNING:
        run.state, run.moved = RUNNING, item.lsn
    if run.state == RUNNING and type(item) in _ACTIONS:
        run.last_activity = item.at


# --- owners -----------------------------------------------------------------------------------------------------


def _opened(view: View, x: r.Opened) -> None:
    view.owners[x.owner] = Owner(
        id=x.owner,
        pid=x.pid,
        start=x.start,
        boot=x.boot,
        pidns=x.pidns,
        host=x.host,
        since=x.at,
        program=x.program,
        commit=x.commit,
    )


def _closed(view: View, x: r.Closed) -> None:
    view.owners.pop(x.owner, None)


def _lost(view: View, x: r.Lost) -> None:
    view.owners.pop(x.who, None)
    view.deaths += 1


# --- the run's life ---------------------------------------------------------------------------------------------


def _started(view: View, x: r.Started) -> None:
    if x.document is not None:
        _is_document(x, x.document)
    sprints = [SprintView(id=s) for s in x.sprints]
    view.run = Run(
        id=x.run,
        plan_id=x.plan_id,
        branch=x.branch,
        declared_branch=x.declared_branch,
        started=x.at,
        sprints=sprints,
        total=len(sprints),
        current=sprints[0].id if sprints else None,
        document=x.document,
        replaces=x.replaces,
    )


def _adopted(view: View, x: r.Adopted) -> None:
    run = apply_reading(None, _reading(x, x.document), run_id=x.run)
    run.declared_branch = bool(run.branch)
    view.run = run


def _observed(view: View, x: r.Observed) -> None:
    if x.document is None or view.run is None:
        return
    before = view.run.state
    reading = _reading(x, x.document)
    run = apply_reading(view.run, reading, run_id=view.run.id, obey=x.ignored is None)
    if run.state == HALTED and before != HALTED:
        run.failed_at = run.failed_at or x.at
        run.failure_sprint = run.failure_sprint or run.current
        run.reason = run.reason or "halted by hand in the state file"
    run.unsure = 0
    view.run = run


def _reading(x: r.Record, text: str) -> Reading:
    """What the state file says that a record holds. Only what could be read was ever put on record."""
    try:
        return read(text.encode())
    except Unreadable as error:
        raise _no_document(x, error) from error


def _is_document(x: r.Record, text: str) -> None:
    try:
        Document(text)
    except DocumentDamaged as error:
        raise _no_document(x, error) from error


def _no_document(x: r.Record, error: Exception) -> LedgerCorrupt:
    return LedgerCorrupt(
        f"the record with LSN {x.lsn} holds a state file that cannot be read: {error}",
        hint="No version of runledger writes that. To see the record: runledger log --json",
        damage=[],
    )


def _sprint(view: View, x: r.Sprint) -> None:
    run = view.run
    if run is None:
        return
    sprint = next((s for s in run.sprints if s.id == x.id), None)
    if sprint is None:
        sprint = SprintView(id=x.id)
        run.sprints.append(sprint)
        run.total = max(run.total, len(run.sprints))
    if x.status == "completed" and sprint.status != "completed":
        sprint.cycles = max(1, sprint.cycles)
    sprint.status = x.status
    run.completed = sum(s.status == "completed" for s in run.sprints)
    run.current = x.id if x.status == "in_progress" else _next_sprint(run)


def _next_sprint(run: Run) -> str | None:
    """The sprint in progress, else the first one that is not completed."""
    for status in ("in_progress", "pending"):
        for sprint in run.sprints:
            if sprint.status == status:
                return sprint.id
    return None


def _halted(view: View, x: r.Halted) -> None:
    if view.run is not None:
        view.run.state, view.run.reason = HALTED, x.reason
        view.run.failure_sprint, view.run.failed_at = view.run.current, x.at
        view.run.last_activity = x.at


def _resumed(view: View, _: r.Resumed) -> None:
    if view.run is not None:
        view.run.state, view.run.reason, view.run.word = RUNNING, None, None
        view.run.failure_sprint = view.run.failed_at = None


def _finished(view: View, x: r.Finished) -> None:
    if view.run is not None:
        view.run.state, view.run.reason = JACKED_OUT, x.reason
        view.run.last_activity = x.at


def _abandoned(view: View, x: r.Abandoned) -> None:
    if view.run is not None:
        view.run.state, view.run.reason, view.run.word = JACKED_OUT, f"abandoned: {x.reason}", None


# --- the journal itself -----------------------------------------------------------------------------------------


def _torn(view: View, _: r.Torn) -> None:
    view.torn += 1


def _nothing(view: View, x: r.Compacted | r.Heartbeat) -> None:
    """Recorded for the timeline; changes nothing that is known."""


_FOLDS: dict[type, Callable[[View, Any], None]] = {
    r.Opened: _opened,
    r.Closed: _closed,
    r.Lost: _lost,
    r.Started: _started,
    r.Adopted: _adopted,
    r.Observed: _observed,
    r.Sprint: _sprint,
    r.Halted: _halted,
    r.Resumed: _resumed,
    r.Finished: _finished,
    r.Abandoned: _abandoned,
    r.Heartbeat: _nothing,
    r.Intent: steps.intent,
    r.Mark: steps.mark,
    r.Checkpoint: steps.checkpoint,
    r.Commit: steps.commit,
    r.Abort: steps.abort,
    r.Doubt: steps.doubt,
    r.Resolved: steps.resolved,
    r.Torn: _torn,
    r.Compacted: _nothing,
}

_STEPS: dict[type, Callable[[View, Any], None]] = {r.Intent: steps.intent, r.Commit: steps.commit}
"""Of a run that goes on these say no more than that it does."""

_COMINGS_AND_GOINGS = frozenset({r.Opened, r.Closed, r.Lost, r.Compacted})
_ACTIONS = frozenset(_FOLDS) - _COMINGS_AND_GOINGS - {r.Observed, r.Torn}

_ONLY_RUNNING = frozenset({r.Intent, r.Sprint, r.Heartbeat})
"""What only a run that is RUNNING lets anybody record."""

_TELLING = frozenset({r.Halted, r.Resumed, r.Finished, r.Abandoned})
_OF_THE_RUN = _ONLY_RUNNING | _TELLING | {r.Observed}
"""What is recorded of the current run alone; outcomes may be of an earlier one."""
