"""The claim of a step: may its body run?"""

from __future__ import annotations

import os
import time

from runledger import record as r
from runledger.clock import stamp
from runledger.decisions.base import Decision, Transaction
from runledger.decisions.starting import start
from runledger.errors import InputsMismatch, LedgerCorrupt, RunFinished, RunHalted, RunStateInvalid
from runledger.run_state import HALTED, JACKED_OUT, RUNNING
from runledger.store import Claim, Claimed, Committed, Doubtful, InFlight, Move
from runledger.text import escape
from runledger.view import Identity, OpenStep, Run, View, identity_of

__all__ = ["claim", "refuse_unless_known", "refuse_unless_running"]


def admit(tx: Transaction, view: View) -> Run:
    """The run that steps may go on in; the first step of a ledger without one starts it."""
    problem = tx.state_file.problem
    if problem is not None:
        raise problem
    run = view.run
    if run is None:
        start(tx, Move(what="start"))
        run = tx.view.run
        assert run is not None
    if run.state != RUNNING or run.unsure:
        refuse_unless_running(run)
    return run


def refuse_unless_running(run: Run) -> None:
    """Raise what a run that is not RUNNING answers to every step."""
    refuse_unless_known(run)
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


def refuse_unless_known(run: Run) -> None:
    """Records that are lost may have halted or ended the run, and nothing later tells that they did not."""
    if not run.known:
        raise RunStateInvalid(
            f"LSN {run.unsure} is lost and may have halted or ended the run; no later record tells, and no state file",
            hint="If it may go on, write its state file: "
            '{"state": "RUNNING", "plan_id": "…"}. Or: runledger resolve --lsn '
            f"{run.unsure} --not-happened --reason TEXT",
        )


def claim(tx: Transaction, c: Claim) -> Decision:
    """Whether the body may run, by the first table of the step protocol; if so, its intent is written.

    Raises:
        RunHalted, RunFinished, RunStateInvalid: before anything else.
        InputsMismatch: the key means other work.
        LedgerCorrupt: it cannot be told to be new.
    """
    view = tx.view
    again = view.open.get(c.memo.get("lsn", 0)) if c.memo else None
    # The number alone does not say it: where the writing failed, another claim may have it by now.
    if again is not None and again.owner == tx.owner and again.started == c.memo["at"]:
        return _claimed(again)
    run = admit(tx, view)
    attempt = 1
    identity = identity_of(c.scope, run.id, c.name, c.key)
    if identity is not None:
        verdict, attempt = _earlier(tx, view, c, identity)
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
        unfingerprinted=c.unfingerprinted,
        idempotent=c.idempotent,
        probed=c.probed,
        parent=c.parent,
        lease=lease,
        nonce=os.urandom(6).hex() if lease is not None else None,
        code=c.code,
    )
    try:
        tx.write(intent)
    finally:
        if intent.lsn:  # it may be on the disk by the time that something interrupts
            c.memo["lsn"], c.memo["at"] = intent.lsn, intent.at
            if lease is None:
                tx.active[intent.lsn] = c.memo
    return _claimed(view.open[intent.lsn])


def _claimed(step: OpenStep) -> Decision:
    return Claimed(step.lsn, step.attempt, step.run, step.nonce, step.saved), step.lsn


def _earlier(tx: Transaction, view: View, c: Claim, identity: Identity) -> tuple[Decision | None, int]:
    """What an earlier attempt means for this one: an answer, or the number of the new attempt."""
    step = view.open.get(view.keys.get(identity, 0))
    if step is not None:
        _same_inputs(c, step.inputs, "open")
        fate = tx.fate(step)
        if fate.alive:
            return (InFlight(step, fate), 0), 0
        if not c.idempotent:
            return (Doubtful(step, fate), 0), 0
        return None, step.attempt + 1
    settled = tx.settled(identity)
    if settled is None:
        if view.damage:
            _provably_new(view)
        return None, 1
    if settled.status == "committed":
        _same_inputs(c, settled.inputs, "committed")
        return (Committed(settled), settled.lsn), 0
    _provably_new(view)
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
    """Refuse a key of which nothing is known to run or to have run, while intents are lost that may be its own."""
    lost = [d for d in view.damage if d.intents > d.sure]
    if lost:
        d = lost[0]
        raise LedgerCorrupt(
            f"{d.file}, offset {d.offset}: LSN {d.first} to {d.last} are lost ({d.reason}), {d.intents} intents among "
            "them; a step that nothing is known of may be one of those",
            hint="Find out which, then for each that happened: "
            f"runledger resolve NAME KEY --lsn {d.first} --happened --reason TEXT\n"
            f"Once nothing else can have: runledger resolve --lsn {d.first} --not-happened --reason TEXT",
            damage=list(view.damage),
        )
