"""What a store answers, given what is known: the two tables of the step protocol and the moves of a run.

A decision reads a consistent view, refuses by raising, or writes records and answers. It does no input or output of its
own and is made at one place in the order of the records, so that of two contenders exactly one is told to run. A
decision may be made again after it was interrupted: what a claim wrote before is then found by its ``memo``.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple, Protocol

from msgspec import Raw

from runledger import record as r
from runledger.clock import now, stamp
from runledger.errors import (
    AdoptionRequired,
    FinishRefused,
    InputsMismatch,
    LeaseLapsed,
    LedgerCorrupt,
    LedgerError,
    LedgerMissing,
    ResolveRefused,
    RunFinished,
    RunHalted,
    RunMoveRefused,
    RunStateInvalid,
    SprintUnknown,
    UsageError,
)
from runledger.fold import identity_of
from runledger.run_state import HALTED, JACKED_OUT, RUNNING, check, valid_sprint_id
from runledger.store import (
    Aborted,
    Claim,
    Claimed,
    Committed,
    Doubtful,
    Fate,
    Happened,
    InFlight,
    Move,
    Note,
    Payload,
    Resolution,
    Settle,
    Verdict,
)
from runledger.text import escape
from runledger.view import Identity, OpenStep, Run, Settled, View

__all__ = ["Decision", "Kept", "Transaction", "decide"]


class Kept(NamedTuple):
    """Where an encoded value is kept: inline, or in a file by its digest."""

    raw: Raw = r.NOTHING
    file: str | None = None
    size: int | None = None
    typed: bool = False


class Decision(NamedTuple):
    """An answer, and the highest LSN that must be durable before it is given."""

    answer: Any
    rests_on: int = 0


class StateFile(Protocol):
    """The state file as somebody else may have left it."""

    text: str | None
    """Its text where it can be read and no journal speaks for it yet."""

    problem: LedgerError | None
    """Why it forbids to go on."""

    def fingerprint(self) -> str | None: ...


class Transaction(Protocol):
    """One place in the order of records."""

    view: View
    owner: str
    active: set[int]
    state_file: StateFile

    def write(self, record: r.Record) -> int: ...
    def settled(self, identity: Identity) -> Settled | None: ...
    def fate(self, step: OpenStep) -> Fate: ...
    def kept(self, payload: Payload | None) -> Kept: ...
    def detected_branch(self) -> str: ...
    def fresh_document(self, plan_id: str, branch: str, sprints: tuple[str, ...]) -> str | None: ...


def decide(tx: Transaction, request: Any) -> Decision:
    """The answer to ``request``; see the functions below for what each raises."""
    if type(request) is Claim:
        return _claim(tx, request)
    if type(request) is Settle:
        return _settle(tx, request)
    if type(request) is Note:
        return _note(tx, request)
    if type(request) is Move:
        return _move(tx, request)
    assert type(request) is Resolution
    return _resolve(tx, request)


# --- claim ------------------------------------------------------------------------------------------------------


def admit(tx: Transaction) -> Run:
    """The run that steps may go on in; the first step of a ledger without one starts it."""
    if tx.state_file.problem is not None:
        raise tx.state_file.problem
    run = tx.view.run
    if run is None:
        _start(tx, Move(what="start"))
        run = tx.view.run
        assert run is not None
    refuse_unless_running(run)
    return run


def refuse_unless_running(run: Run) -> None:
    """Raise what a run that is not RUNNING answers to every step."""
    if run.state == RUNNING:
        return
    if run.state == HALTED:
        raise RunHalted(
            f"the run is HALTED: {escape(run.reason or 'no reason on record')}", reason=run.reason
        )
    if run.state == JACKED_OUT:
        raise RunFinished(f"the run {escape(run.plan_id)} is JACKED_OUT: it is done")
    raise RunStateInvalid(
        f"the state file says {escape(run.word or '')!s}, which is none of RUNNING, HALTED, JACKED_OUT",
        hint="Set its state right by hand, or: runledger abandon --reason TEXT",
    )


def _claim(tx: Transaction, c: Claim) -> Decision:
    view = tx.view
    again = view.open.get(c.memo.get("lsn", 0))
    if again is not None and again.owner == tx.owner:
        return _claimed(tx, again)
    run = admit(tx)
    attempt = 1
    identity = identity_of(c.scope, run.id, c.name, c.key)
    if identity is not None:
        verdict, attempt = _earlier(tx, c, identity)
        if verdict is not None:
            return verdict
    lease = stamp(time.time() + c.lease) if c.lease is not None else None
    intent = r.Intent(
        lsn=0,
        at="",
        run=run.id,
        name=c.name,
        key=c.key,
        scope=c.scope,
        attempt=attempt,
        inputs=c.inputs,
        unfingerprinted=list(c.unfingerprinted),
        idempotent=c.idempotent,
        probed=c.probed,
        parent=c.parent,
        lease=lease,
        nonce=os.urandom(6).hex() if lease is not None else None,
        code=c.code,
    )
    lsn = c.memo["lsn"] = tx.write(intent)
    if lease is None:
        tx.active.add(lsn)
    return _claimed(tx, view.open[lsn])


def _claimed(tx: Transaction, step: OpenStep) -> Decision:
    return Decision(Claimed(step.lsn, step.attempt, step.run, step.nonce, step.saved), step.lsn)


def _earlier(tx: Transaction, c: Claim, identity: Identity) -> tuple[Decision | None, int]:
    """What an earlier attempt means for this one: an answer, or the number of the new attempt."""
    step = tx.view.open.get(tx.view.keys.get(identity, 0))
    if step is not None:
        _same_inputs(c, step.inputs, "open")
        fate = tx.fate(step)
        if fate.alive:
            return Decision(InFlight(step, fate)), 0
        if not c.idempotent:
            return Decision(Doubtful(step, fate)), 0
        return None, step.attempt + 1
    settled = tx.settled(identity)
    if settled is None:
        _provably_new(tx.view)
        return None, 1
    if settled.status == "committed":
        _same_inputs(c, settled.inputs, "committed")
        return Decision(Committed(settled), settled.lsn), 0
    return None, settled.attempt + 1


def _same_inputs(c: Claim, inputs: str | None, status: str) -> None:
    if inputs is not None and c.inputs is not None and inputs != c.inputs:
        shown = f"{escape(c.name)} {escape(c.key or '')}"
        raise InputsMismatch(
            f"the step {shown} is {status} with other inputs; one key must not mean two things",
            hint="If it is the same work, it is done: call it with the inputs of the first time, or leave inputs out. "
            "If it is other work, choose a new key.",
        )


def _provably_new(view: View) -> None:
    """Refuse a key that nothing is known of while intents are lost that may have been its own."""
    lost = [d for d in view.damage if d.intents > len(d.salvaged)]
    if lost:
        d = lost[0]
        raise LedgerCorrupt(
            f"{d.file}, offset {d.offset}: LSN {d.first} to {d.last} are lost ({d.reason}), {d.intents} intents among "
            "them; a step that nothing is known of may be one of those",
            hint=f"Find out, then: runledger resolve --lsn {d.first} --happened|--not-happened --reason TEXT",
            damage=list(view.damage),
        )


# --- settle, mark, resolve --------------------------------------------------------------------------------------


def _current(tx: Transaction, lsn: int, nonce: str | None) -> OpenStep:
    step = tx.view.open.get(lsn)
    if step is None or (nonce is not None and step.nonce != nonce):
        raise LeaseLapsed(
            f"the attempt with LSN {lsn} is not the current one: it was settled, or another attempt began",
            hint="To see where it stands: runledger replay",
        )
    return step


def _settle(tx: Transaction, s: Settle) -> Decision:
    outcome = s.outcome
    if s.lsn not in tx.view.open:
        done = _already(tx.view, s)
        if done is not None:
            return Decision(done, done)
    step = _current(tx, s.lsn, s.nonce)
    fields: dict[str, Any] = {"lsn": 0, "at": "", "run": step.run, "of": step.lsn}
    if type(outcome) is Happened:
        kept = tx.kept(outcome.result)
        lsn = tx.write(
            r.Commit(
                **fields,
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
        lsn = tx.write(r.Abort(**fields, reason=outcome.reason, probed=outcome.probed))
    else:
        lsn = tx.write(r.Doubt(**fields, failure=outcome.failure))  # type: ignore[union-attr]
    tx.active.discard(s.lsn)
    return Decision(lsn, lsn)


def _already(view: View, s: Settle) -> int | None:
    """The LSN of the same outcome, where it was recorded before an interrupted call could say so."""
    wanted = {Happened: "committed", Aborted: "aborted"}.get(type(s.outcome))
    for settled in view.settled.values():
        if settled.of == s.lsn and settled.status == wanted and not settled.resolved:
            return settled.lsn
    return None


def _note(tx: Transaction, n: Note) -> Decision:
    step = _current(tx, n.lsn, n.nonce)
    fields: dict[str, Any] = {"lsn": 0, "at": "", "run": step.run, "of": step.lsn}
    if n.label is not None:
        lsn = tx.write(r.Mark(**fields, label=n.label, data=n.data))
    else:
        kept = tx.kept(n.state)
        lsn = tx.write(
            r.Checkpoint(**fields, state=kept.raw, file=kept.file, size=kept.size, typed=kept.typed)
        )
    return Decision(lsn, lsn)


def _resolve(tx: Transaction, x: Resolution) -> Decision:
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
        return Decision(lsn, lsn)
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
    return Decision(lsn, lsn)


def _to_resolve(tx: Transaction, x: Resolution) -> OpenStep | None:
    """The doubtful step that is meant, None for lost records that are meant by their LSN."""
    view = tx.view
    shown = f"LSN {x.lsn}" if x.name is None else f"{escape(x.name)} {escape(x.key or '')}"
    if x.name is None:
        step = view.open.get(x.lsn or 0)
        if step is None and any(d.first <= (x.lsn or 0) <= d.last for d in view.damage):
            return None
    else:
        run = view.run.id if view.run is not None else ""
        here = (identity_of(scope, run, x.name, x.key) for scope in ("run", "ledger"))
        step = next((view.open[view.keys[i]] for i in here if i in view.keys), None)
        step = step or next((s for s in view.open.values() if (s.name, s.key) == (x.name, x.key)), None)
    if step is None:
        raise ResolveRefused(_not_open(tx, x, shown), hint="To see what is in doubt: runledger replay")
    if x.lsn is not None and step.lsn != x.lsn:
        raise ResolveRefused(
            f"{shown}: the current attempt is LSN {step.lsn}, not {x.lsn}", hint="runledger replay"
        )
    fate = tx.fate(step)
    if fate.alive:
        raise ResolveRefused(
            f"{shown} is in flight, not in doubt: {fate.how}", hint="Wait for it, or end that process."
        )
    return step


def _not_open(tx: Transaction, x: Resolution, shown: str) -> str:
    run = tx.view.run.id if tx.view.run is not None else ""
    for scope in ("run", "ledger"):
        identity = identity_of(scope, run, x.name or "", x.key)
        settled = tx.settled(identity) if identity is not None and x.name is not None else None
        if settled is not None:
            return f"{shown} is already {settled.status} (LSN {settled.lsn})"
    return f"{shown} is not in doubt: nothing open is known of it"


# --- the run's life ---------------------------------------------------------------------------------------------


def _move(tx: Transaction, m: Move) -> Decision:
    lsn = _MOVES[m.what](tx, m)
    return Decision(lsn, lsn)


def _run(tx: Transaction, what: str) -> Run:
    run = tx.view.run
    if run is None:
        if tx.state_file.problem is not None:
            raise tx.state_file.problem
        raise LedgerMissing(f"there is no run here to {what}")
    if tx.state_file.problem is not None and what != "abandon":
        raise tx.state_file.problem
    check(what, run.state, reason=run.reason, word=run.word)
    return run


def _start(tx: Transaction, m: Move) -> int:
    run = tx.view.run
    if run is not None:
        check("start", run.state, reason=run.reason, word=run.word)
    elif tx.state_file.problem is not None and not isinstance(tx.state_file.problem, RunFinished):
        raise tx.state_file.problem
    for sprint in m.sprints:
        _check_sprint(sprint)
    if len(set(m.sprints)) != len(m.sprints):
        raise UsageError("a sprint id is listed twice")
    if m.plan_id is not None and not m.plan_id.strip():
        raise UsageError("a plan id must not be empty")
    plan_id = m.plan_id or f"plan-{now()[:10].replace('-', '')}-{os.urandom(3).hex()}"
    branch = m.branch if m.branch is not None else tx.detected_branch()
    return tx.write(
        r.Started(
            lsn=0,
            at="",
            run="r-" + os.urandom(6).hex(),
            plan_id=plan_id,
            branch=branch,
            declared_branch=m.branch is not None,
            sprints=list(m.sprints),
            document=tx.fresh_document(plan_id, branch, m.sprints),
            replaces=tx.state_file.fingerprint(),
        )
    )


def _check_sprint(sprint: str | None) -> str:
    if sprint is None or not valid_sprint_id(sprint):
        raise SprintUnknown(
            f"{escape(str(sprint))} is no sprint id", hint="Letters, digits, and . _ - make one."
        )
    return sprint


def _sprint(tx: Transaction, m: Move) -> int:
    run = _run(tx, "sprint")
    sprint = _check_sprint(m.sprint)
    known = next((s for s in run.sprints if s.id == sprint), None)
    if known is None and run.sprints:
        listed = ", ".join(s.id for s in run.sprints[:10])
        raise SprintUnknown(f"the plan has no sprint {sprint}", hint=f"It lists: {listed}")
    if known is not None and known.status == m.status:
        return tx.view.lsn
    if known is not None and known.status == "completed":
        raise RunMoveRefused(f"the sprint {sprint} is completed and cannot begin again")
    return tx.write(r.Sprint(lsn=0, at="", run=run.id, id=sprint, status=m.status or ""))


def _halt(tx: Transaction, m: Move) -> int:
    run = _run(tx, "halt")
    if run.state == HALTED:
        return tx.view.lsn
    if not (m.reason or "").strip():
        raise UsageError("halt needs a reason", hint="runledger halt --reason TEXT")
    return tx.write(r.Halted(lsn=0, at="", run=run.id, reason=m.reason or ""))


def _resume(tx: Transaction, m: Move) -> int:
    run = _run(tx, "resume")
    return tx.write(r.Resumed(lsn=0, at="", run=run.id, by=m.by))


def _finish(tx: Transaction, m: Move) -> int:
    run = _run(tx, "finish")
    if m.force and not (m.reason or "").strip():
        raise UsageError("a forced finish needs a reason", hint="runledger finish --force --reason TEXT")
    if not m.force:
        undone = _undone(tx, run)
        if undone:
            raise FinishRefused(
                "the run is not done: " + "; ".join(undone),
                hint="Do or settle what is left (runledger replay), or: runledger finish --force --reason TEXT",
                undone=undone,
            )
    return tx.write(r.Finished(lsn=0, at="", run=run.id, forced=m.force, reason=m.reason))


def _undone(tx: Transaction, run: Run) -> list[str]:
    """What stands against JACKED_OUT."""
    undone = []
    for step in tx.view.open.values():
        if step.run == run.id:
            state = "in flight" if tx.fate(step).alive else "in doubt"
            shown = escape(step.name) if step.key is None else f"{escape(step.name)} {escape(step.key)}"
            undone.append(f"{shown} is {state} (LSN {step.lsn})")
    left = [s.id for s in run.sprints if s.status != "completed"]
    if left:
        undone.append(f"not completed: {', '.join(escape(s) for s in left[:10])}")
    elif run.completed < run.total:
        undone.append(f"{run.completed} of {run.total} sprints are completed")
    if run.committed == 0:
        undone.append("nothing was committed")
    if tx.view.damage:
        undone.append("records are lost to damage (runledger verify)")
    return undone


def _abandon(tx: Transaction, m: Move) -> int:
    run = _run(tx, "abandon")
    if not (m.reason or "").strip():
        raise UsageError("abandon needs a reason", hint="runledger abandon --reason TEXT")
    return tx.write(r.Abandoned(lsn=0, at="", run=run.id, reason=m.reason or ""))


def _heartbeat(tx: Transaction, _: Move) -> int:
    run = _run(tx, "heartbeat")
    return tx.write(r.Heartbeat(lsn=0, at="", run=run.id))


def _adopt(tx: Transaction, m: Move) -> int:
    text = tx.state_file.text
    problem = tx.state_file.problem
    if problem is not None and not isinstance(problem, (AdoptionRequired, RunHalted, RunFinished)):
        raise problem
    run = tx.view.run
    if text is None:
        raise RunMoveRefused(
            "there is nothing to adopt: "
            + ("the run of the state file is this ledger's own" if run else "no state file")
        )
    if run is not None and run.state != JACKED_OUT and not m.force:
        raise RunMoveRefused(
            f"the run {escape(run.plan_id)} is {run.state}; adopting another plan would leave it behind",
            hint="runledger abandon --reason TEXT, or: runledger adopt --force",
        )
    if _has_ledger(text) and not m.force:
        raise RunMoveRefused(
            "the state file carries the ledger of another checkout: somebody may be at work on this run there",
            hint="If it is yours to take over: runledger adopt --force",
        )
    return tx.write(r.Adopted(lsn=0, at="", run="r-" + os.urandom(6).hex(), document=text, forced=m.force))


def _has_ledger(text: str) -> bool:
    from runledger.state_reading import read

    reading = read(text.encode())
    return reading.ledger is not None or reading.foreign_ledger


_MOVES = {
    "start": _start,
    "sprint": _sprint,
    "halt": _halt,
    "resume": _resume,
    "finish": _finish,
    "abandon": _abandon,
    "heartbeat": _heartbeat,
    "adopt": _adopt,
}
