"""What a step's records do to a view: it opens, leaves marks, and is settled or in doubt. Part of the fold."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from runledger import record as r
from runledger.losses import identified, looked_at
from runledger.view import Counted, MarkView, OpenStep, Saved, Settled, View, identity_of

__all__ = ["MARKS_KEPT", "abort", "checkpoint", "commit", "doubt", "intent", "mark", "resolved"]

MARKS_KEPT = 50
"""Marks shown of one open step; the journal has them all."""


def intent(view: View, x: r.Intent) -> None:
    """A step begins: it is open."""
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


def mark(view: View, x: r.Mark) -> None:
    """A breadcrumb of an open step."""
    step = view.open.get(x.of)
    if step is not None:
        step.marks = (*step.marks[-(MARKS_KEPT - 1) :], MarkView(at=x.at, label=x.label, data=_own(x.data)))


def checkpoint(view: View, x: r.Checkpoint) -> None:
    """State that the next attempt of a step is handed."""
    step = view.open.get(x.of)
    if step is not None:
        step.saved = Saved(state=_own(x.state), file=x.file, size=x.size, typed=x.typed)


def commit(view: View, x: r.Commit) -> None:
    """A step happened."""
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


def abort(view: View, x: r.Abort) -> None:
    """A step did not happen."""
    step = view.open.get(x.of)
    if step is not None:
        _settle(view, x, "aborted", step.name, step.key, step.scope)


def resolved(view: View, x: r.Resolved) -> None:
    """A person decided on a doubt, or looked at what was lost."""
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
    kind = type(x)
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
            result=r.NOTHING if kind is r.Abort or x.result is r.NOTHING else _own(x.result),
            file=None if kind is r.Abort else x.file,
            size=None if kind is r.Abort else x.size,
            typed=kind is not r.Abort and x.typed,
            unstored=x.unstored if kind is r.Commit else None,
            reason=None if kind is r.Commit else x.reason,
            resolved=kind is r.Resolved,
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


def doubt(view: View, x: r.Doubt) -> None:
    """The call is over, and its outcome is not known."""
    step = view.open.get(x.of)
    if step is not None:
        step.over = True
        step.failure = x.failure
