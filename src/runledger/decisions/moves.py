"""The moves of a run's life, each refused where its state does not allow it."""

from __future__ import annotations

import os

from runledger import record as r
from runledger.decisions.base import Decision, Transaction
from runledger.decisions.claims import refuse_unless_known
from runledger.decisions.starting import check_sprint, start
from runledger.errors import (
    AdoptionRequired,
    FinishRefused,
    LedgerMissing,
    RunFinished,
    RunHalted,
    RunMoveRefused,
    SprintUnknown,
    UsageError,
)
from runledger.run_state import HALTED, JACKED_OUT, check
from runledger.store import Move
from runledger.text import escape
from runledger.view import Run

__all__ = ["move"]


def move(tx: Transaction, m: Move) -> Decision:
    """Make a move of the run, or refuse it: RunMoveRefused and its kin, UsageError without a reason or an id."""
    lsn = _MOVES[m.what](tx, m)
    return lsn, lsn


def _run(tx: Transaction, what: str) -> Run:
    run = tx.view.run
    if run is None:
        if tx.state_file.problem is not None:
            raise tx.state_file.problem
        raise LedgerMissing(f"there is no run here to {what}")
    if tx.state_file.problem is not None and what != "abandon":
        raise tx.state_file.problem
    if what not in ("halt", "abandon"):
        refuse_unless_known(run)
    check(what, run.state, reason=run.reason, word=run.word)
    return run


def _sprint(tx: Transaction, m: Move) -> int:
    run = _run(tx, "sprint")
    sprint = check_sprint(m.sprint)
    known = next((s for s in run.sprints if s.id == sprint), None)
    if known is None and run.sprints:
        listed = ", ".join(s.id for s in run.sprints[:10])
        raise SprintUnknown(f"the plan has no sprint {sprint}", hint=f"It lists: {listed}")
    if (
        known is not None
        and known.status == m.status
        and (m.status != "in_progress" or run.current == sprint)
    ):
        return tx.view.lsn
    if known is not None and known.status == "completed":
        raise RunMoveRefused(f"the sprint {sprint} is completed and cannot begin again")
    return tx.write(r.Sprint(lsn=0, at="", run=run.id, id=sprint, status=m.status or ""))


def _halt(tx: Transaction, m: Move) -> int:
    run = _run(tx, "halt")
    if run.state == HALTED and (m.reason or run.reason) == run.reason:
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
    "start": start,
    "sprint": _sprint,
    "halt": _halt,
    "resume": _resume,
    "finish": _finish,
    "abandon": _abandon,
    "heartbeat": _heartbeat,
    "adopt": _adopt,
}
