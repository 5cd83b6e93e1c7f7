"""The fold: what one more record does to a view. No clock, no file, no owner's fate: the same records give the
same view.

``advance`` works in place on a view that its caller owns; ``fold`` is the same on a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from msgspec import Raw

from runledger import record as r
from runledger.document import Document, DocumentDamaged
from runledger.errors import LedgerCorrupt
from runledger.losses import begun, identified, looked_at, lost
from runledger.run_state import HALTED, JACKED_OUT, RUNNING
from runledger.state_reading import Reading, Unreadable, apply_reading, read
from runledger.view import (
    Counted,
    Damage,
    MarkView,
    OpenStep,
    Owner,
    Run,
    Saved,
    Settled,
    SprintView,
    View,
    identity_of,
)

__all__ = ["MARKS_KEPT", "advance", "advance_all", "fold", "identity_of"]

MARKS_KEPT = 50
"""Marks shown of one open step; the journal has them all."""


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
        if plain and isinstance(item, r.Intent):
            _intent(view, item)
            last = item
        elif plain and isinstance(item, r.Commit):
            _commit(view, item)
            last = item
        else:
            _went_on(view, last)
            last = None
            advance(view, item)
            plain = _is_plain(view)
    _went_on(view, last)


def _is_plain(view: View) -> bool:
    """Whether a step's record says nothing of the run but that it goes on."""
    run = view.run
    return run is not None and run.state == RUNNING and run.known and not run.unsure and not view.damage


def _went_on(view: View, item: r.Intent | r.Commit | None) -> None:
    if item is not None and view.run is not None:
        view.lsn = view.news = item.lsn
        view.steps = item.steps
        view.at = view.run.last_activity = item.at


def advance(view: View, item: r.Record | Damage) -> None:
    """Fold one record, or one stretch of damage, into ``view``."""
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


# --- steps ------------------------------------------------------------------------------------------------------


def _intent(view: View, x: r.Intent) -> None:
    step = OpenStep(
        lsn=x.lsn,
        name=x.name,
        key=x.key,
        scope=x.scope,
        run=x.run,
        attempt=x.attempt,
        started=x.at,
        owner=x.owner,
        inputs=x.inputs,
        idempotent=x.idempotent,
        probed=x.probed,
        parent=x.parent,
        lease=x.lease,
        nonce=x.nonce,
        code=x.code,
        by=view.owners.get(x.owner),
    )
    identity = identity_of(x.scope, x.run, x.name, x.key)
    if identity is not None:
        before = view.keys.get(identity)
        if before is not None:
            old = view.open.pop(before, None)
            step.saved = old.saved if old is not None else None
        view.settled.pop(identity, None)
        view.keys[identity] = x.lsn
    view.open[x.lsn] = step


def _mark(view: View, x: r.Mark) -> None:
    step = view.open.get(x.of)
    if step is not None:
        step.marks = (*step.marks[-(MARKS_KEPT - 1) :], MarkView(at=x.at, label=x.label, data=_own(x.data)))


def _checkpoint(view: View, x: r.Checkpoint) -> None:
    step = view.open.get(x.of)
    if step is not None:
        step.saved = Saved(state=_own(x.state), file=x.file, size=x.size, typed=x.typed)


def _commit(view: View, x: r.Commit) -> None:
    step = view.open.get(x.of)
    if type(view.settled) is Counted and x.file is None and step is not None and not step.damaged:
        # Replay counts a million of these: nothing is made that is not kept.
        del view.open[x.of]
        identity = identity_of(x.scope, step.run, x.name, x.key)
        if identity is not None and view.keys.get(identity) == x.of:
            del view.keys[identity]
        _count(view, step.run, x.name, x.key)
    else:
        _settle(view, x, "committed", x.name, x.key, x.scope)


def _count(view: View, run: str, name: str, key: str | None) -> None:
    now = view.run
    if now is not None and run == now.id:
        now.committed += 1
        now.last_commit = name if key is None else f"{name} {key}"


def _abort(view: View, x: r.Abort) -> None:
    step = view.open.get(x.of)
    if step is not None:
        _settle(view, x, "aborted", step.name, step.key, step.scope)


def _resolved(view: View, x: r.Resolved) -> None:
    if x.name is not None:
        _settle(view, x, "committed" if x.happened else "aborted", x.name, x.key, x.scope)
    looked_at(view, x.of, named=x.name is not None)


def _settle(view: View, x: Any, status: str, name: str, key: str | None, scope: str) -> None:
    """Move a step from open to settled. The outcome's own fields are enough where the intent's line was lost."""
    step = view.open.pop(x.of, None)
    if step is None or step.damaged:
        identified(view, x.of)
        if step is not None and (step.name, step.key) != (name, key):
            _misread(view, step)
            step = None
    run = step.run if step is not None else x.run
    identity = identity_of(scope, run, name, key)
    if identity is not None:
        if view.keys.get(identity) == x.of:
            del view.keys[identity]
        view.settled[identity] = Settled(
            lsn=x.lsn,
            of=x.of,
            name=name,
            key=key,
            scope=scope,
            run=run,
            attempt=step.attempt if step is not None else x.attempt,
            status=status,
            at=x.at,
            owner=x.owner,
            started=step.started if step is not None else "",
            inputs=step.inputs if step is not None else x.inputs,
            result=_own(getattr(x, "result", r.NOTHING)),
            file=getattr(x, "file", None),
            size=getattr(x, "size", None),
            typed=getattr(x, "typed", False),
            unstored=getattr(x, "unstored", None),
            reason=getattr(x, "reason", None),
            resolved=type(x) is r.Resolved,
            nonce=step.nonce if step is not None else None,
            code=step.code if step is not None else None,
            marks=step.marks if step is not None else (),
        )
    if status == "committed":
        _count(view, run, name, key)
    elif view.run is not None and run == view.run.id:
        view.run.aborted += 1


def _misread(view: View, step: OpenStep) -> None:
    """What was read in bad bytes is not what the outcome says. Of one lost record only, the outcome is right; among
    several, another one may have been that step."""
    if any(d.first == d.last == step.lsn for d in view.damage):
        identity = identity_of(step.scope, step.run, step.name, step.key)
        if identity is not None and view.keys.get(identity) == step.lsn:
            del view.keys[identity]
    else:
        view.open[step.lsn] = step


def _own(raw: Raw) -> Raw:
    """A payload that does not keep the block alive that it was read from; the absent one stays itself."""
    return raw.copy() if memoryview(raw) else r.NOTHING


def _doubt(view: View, x: r.Doubt) -> None:
    step = view.open.get(x.of)
    if step is not None:
        step.over = True
        step.failure = x.failure


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
    r.Intent: _intent,
    r.Mark: _mark,
    r.Checkpoint: _checkpoint,
    r.Commit: _commit,
    r.Abort: _abort,
    r.Doubt: _doubt,
    r.Resolved: _resolved,
    r.Torn: _torn,
    r.Compacted: _nothing,
}

_COMINGS_AND_GOINGS = frozenset({r.Opened, r.Closed, r.Lost, r.Compacted})
_ACTIONS = frozenset(_FOLDS) - _COMINGS_AND_GOINGS - {r.Observed, r.Torn}

_ONLY_RUNNING = frozenset({r.Intent, r.Sprint, r.Heartbeat})
"""What only a run that is RUNNING lets anybody record."""

_TELLING = frozenset({r.Halted, r.Resumed, r.Finished, r.Abandoned})
_OF_THE_RUN = _ONLY_RUNNING | _TELLING | {r.Observed}
"""What is recorded of the current run alone; outcomes may be of an earlier one."""
