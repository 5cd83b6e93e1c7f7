"""How an attempt ends, what it notes on its way, and what a person decides about one in doubt."""

from __future__ import annotations

from typing import Any

from runledger import record as r
from runledger.decisions.base import Decision, Transaction
from runledger.errors import LeaseLapsed, ResolveRefused, UsageError
from runledger.store import Aborted, Happened, Note, Resolution, Settle
from runledger.text import escape
from runledger.view import OpenStep, Settled, View, identity_of

__all__ = ["note", "resolve", "settle"]


def _current(view: View, lsn: int, nonce: str | None) -> OpenStep:
    step = view.open.get(lsn)
    if step is None:
        raise LeaseLapsed(
            f"the attempt with LSN {lsn} is not the current one: it was settled, another began, or there never was one",
            hint="To see where it stands: runledger replay",
        )
    if nonce is not None and step.nonce != nonce:
        raise LeaseLapsed(
            f"this is not the token that was given out for the attempt with LSN {lsn}",
            hint="Use the token that `runledger begin` printed for it.",
        )
    return step


def settle(tx: Transaction, s: Settle) -> Decision:
    """Write how an attempt ended. Raises LeaseLapsed when it is not the current one."""
    outcome, view = s.outcome, tx.view
    step = view.open.get(s.lsn)
    if step is None:
        done = _already(view, s)
        if done is not None:
            return done, done
    if step is None or s.nonce is not None:
        step = _current(view, s.lsn, s.nonce)
    if type(outcome) is Happened:
        kept = tx.kept(outcome.result)
        lsn = tx.write(
            r.Commit(
                lsn=0,
                at="",
                run=step.run,
                of=step.lsn,
                name=step.name,
                key=step.key,
                scope=step.scope,
                attempt=step.attempt,
                inputs=step.inputs,
                result=kept.raw,
                file=kept.file,
                size=kept.size,
                typed=kept.typed,
                unstored=outcome.unstored,
                probed=outcome.probed,
            )
        )
    elif type(outcome) is Aborted:
        lsn = tx.write(
            r.Abort(lsn=0, at="", run=step.run, of=step.lsn, reason=outcome.reason, probed=outcome.probed)
        )
    else:
        lsn = tx.write(r.Doubt(lsn=0, at="", run=step.run, of=step.lsn, failure=outcome.failure))  # type: ignore[union-attr]  # the third kind
    tx.active.pop(s.lsn, None)
    return lsn, lsn


def _already(view: View, s: Settle) -> int | None:
    """The LSN of the same outcome, where it was recorded before an interrupted call could say so."""
    wanted = {Happened: "committed", Aborted: "aborted"}.get(type(s.outcome))
    for settled in view.settled.values():
        if (
            settled.of == s.lsn
            and settled.status == wanted
            and s.nonce == settled.nonce
            and not settled.resolved
        ):
            return settled.lsn
    return None


def note(tx: Transaction, n: Note) -> Decision:
    """Write a breadcrumb or saved state. Raises LeaseLapsed when the attempt is not the current one."""
    step = _current(tx.view, n.lsn, n.nonce)
    fields: dict[str, Any] = {"lsn": 0, "at": "", "run": step.run, "of": step.lsn}
    if n.label is not None:
        lsn = tx.write(r.Mark(**fields, label=n.label, data=n.data))
    else:
        kept = tx.kept(n.state)
        lsn = tx.write(
            r.Checkpoint(**fields, state=kept.raw, file=kept.file, size=kept.size, typed=kept.typed)
        )
    return lsn, lsn


def resolve(tx: Transaction, x: Resolution) -> Decision:
    """Write a person's decision. Raises ResolveRefused where there is no such doubt, UsageError without a reason."""
    view = tx.view
    if not x.reason.strip():
        raise UsageError("a resolution needs a reason", hint='--reason "how you know"')
    step = _to_resolve(tx, x)
    kept = tx.kept(x.result)
    if step is None:
        assert x.lsn is not None
        lsn = tx.write(
            r.Resolved(
                lsn=0,
                at="",
                run=view.run.id if view.run else "",
                of=x.lsn,
                happened=x.happened,
                reason=x.reason,
            )
        )
        return lsn, lsn
    lsn = tx.write(
        r.Resolved(
            lsn=0,
            at="",
            run=step.run,
            of=step.lsn,
            happened=x.happened,
            reason=x.reason,
            name=step.name,
            key=step.key,
            scope=step.scope,
            attempt=step.attempt,
            inputs=step.inputs,
            result=kept.raw,
            file=kept.file,
            size=kept.size,
            typed=kept.typed,
        )
    )
    return lsn, lsn


def _to_resolve(tx: Transaction, x: Resolution) -> OpenStep | None:
    """The doubtful step that is meant, None for lost records that are meant by their LSN."""
    view = tx.view
    shown = f"LSN {x.lsn}" if x.name is None or x.key is None else f"{escape(x.name)} {escape(x.key)}"
    if x.name is None or x.key is None:
        step = view.open.get(x.lsn or 0)
        if step is None and any(d.first <= (x.lsn or 0) <= d.last for d in view.damage):
            return None
        if step is not None and x.name is not None and x.name != step.name:
            raise ResolveRefused(f"{shown} is a step {escape(step.name)}, not {escape(x.name)}")
    else:
        run = view.run.id if view.run is not None else ""
        here = (identity_of(scope, run, x.name, x.key) for scope in ("run", "ledger"))
        step = next((view.open[view.keys[i]] for i in here if i in view.keys), None)
        step = step or next((s for s in view.open.values() if (s.name, s.key) == (x.name, x.key)), None)
        step = step or _named(tx, x)
    if step is None:
        raise ResolveRefused(_not_open(tx, x, shown), hint="To see what is in doubt: runledger replay")
    if x.lsn is not None and step.lsn != x.lsn:
        raise ResolveRefused(
            f"{shown}: the current attempt is LSN {step.lsn}, not {x.lsn}", hint="runledger replay"
        )
    fate = tx.fate(step)
    if fate.alive:
        leased = "Its lease runs out by itself; before that its token settles it."
        raise ResolveRefused(
            f"{shown} is in flight, not in doubt: {fate.how}",
            hint="Wait for it, or end that process." if step.lease is None else leased,
        )
    return step


def _named(tx: Transaction, x: Resolution) -> OpenStep | None:
    """The step of a lost intent, which only the person who resolves it can name."""
    view, run = tx.view, tx.view.run
    lost = any(d.first <= (x.lsn or 0) <= d.last and d.intents > d.sure for d in view.damage)
    if not lost or x.lsn is None or x.name is None or x.key is None or run is None:
        return None
    known: list[OpenStep | Settled] = [*view.open.values(), *view.settled.values()]
    scope = "ledger" if any((s.name, s.scope) == (x.name, "ledger") for s in known) else "run"
    identity = identity_of(scope, run.id, x.name, x.key)
    assert identity is not None
    if tx.settled(identity) is not None:
        return None
    return OpenStep(
        lsn=x.lsn,
        name=x.name,
        key=x.key,
        scope=scope,
        run=run.id,
        attempt=1,
        started="",
        owner="",
        over=True,
        damaged=True,
    )


def _not_open(tx: Transaction, x: Resolution, shown: str) -> str:
    run = tx.view.run.id if tx.view.run is not None else ""
    for scope in ("run", "ledger"):
        identity = identity_of(scope, run, x.name or "", x.key)
        settled = tx.settled(identity) if identity is not None and x.name is not None else None
        if settled is not None:
            return f"{shown} is already {settled.status} (LSN {settled.lsn})"
    return f"{shown} is not in doubt: nothing open is known of it"
