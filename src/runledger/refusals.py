"""What a caller is told when the body of its step does not run, or its result is not on record."""

from __future__ import annotations

from typing import Any

from runledger.doubt import report_of, resolve_lines, shown
from runledger.errors import ResultNotStored, StepCommitted, StepInDoubt, StepInFlight
from runledger.store import Doubtful, InFlight
from runledger.text import escape
from runledger.view import Settled

__all__ = ["committed", "in_doubt", "in_flight", "not_stored"]


def in_flight(verdict: InFlight) -> StepInFlight:
    """Somebody is at work on it."""
    step, fate = verdict.step, verdict.fate
    by = step.by if step.lease is None else None
    return StepInFlight(
        f"{shown(step.name, step.key)} is in flight since {step.started} (LSN {step.lsn}): {fate.how}",
        hint="Try again when it is done.",
        pid=by.pid if by is not None else None,
        host=step.by.host if step.by is not None else None,
        since=step.started,
        step=report_of(step, fate),
    )


def in_doubt(verdict: Doubtful, root: str = "") -> StepInDoubt:
    """Nobody is, and nobody knows; with the lines that settle it."""
    step, fate = verdict.step, verdict.fate
    report = report_of(step, fate)
    lines = resolve_lines(report, root)
    mark = f"; last mark: {shown(step.marks[-1].label, None)}" if step.marks else ""
    failed = (
        f"; it ended with {escape(step.failure.type)}: {escape(step.failure.message)}" if step.failure else ""
    )
    return StepInDoubt(
        f"{shown(step.name, step.key)} was started {step.started} (LSN {step.lsn}, attempt {step.attempt}) and never "
        f"committed: {fate.how}{failed}{mark}. It may or may not have happened.",
        hint="Look whether it happened, then one of:\n  " + "\n  ".join(lines),
        step=report,
        resolve=lines,
    )


def committed(settled: Settled, result: Any) -> StepCommitted:
    """It is done, so a block's body does not run."""
    return StepCommitted(
        f"{shown(settled.name, settled.key)} is committed (LSN {settled.lsn}): its body does not run again",
        hint="To pass over it: with ledger.skip_committed(), ledger.step(...)",
        result=result,
        lsn=settled.lsn,
    )


def not_stored(what: str, reason: str) -> ResultNotStored:
    """It is done, and its result is not to be had."""
    return ResultNotStored(
        f"{what} is committed, and its result is not on record: {reason}",
        hint="It happened and is not run again. Return something that can be stored, or nothing.",
    )
