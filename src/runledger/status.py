"""Status: where the run stands, and what to do about it in one word."""

from __future__ import annotations

import msgspec

from runledger.clock import age, to_second
from runledger.doubt import OwnerReport, StepReport, report_of
from runledger.errors import AdoptionRequired, RunFinished, RunHalted
from runledger.moment import STALE_S, aged
from runledger.run_state import ABSENT, HALTED, INVALID, JACKED_OUT, RUNNING
from runledger.store import Known

__all__ = ["SCHEMA", "STALE_S", "Status", "state_of", "status_of"]

SCHEMA = "runledger.status/1"


class Status(msgspec.Struct, frozen=True):
    """Where the run stands.

    Attributes:
        state: RUNNING, HALTED, JACKED_OUT, ABSENT or INVALID.
        lsn, checkpoint_lsn: of the last record, and what the state file covers.
        age_s: seconds since ``last_activity``; ``stale``: RUNNING and longer ago than ``STALE_S``.
        owner: the last owner that is alive.
        advice: resume, wait, done, resolve, adopt or none; ``reason`` says why, or why it is halted.
        commit: the durability that a live writer declared: "durable" or "riding".
    """

    schema: str
    state: str
    plan_id: str | None
    sprint: str | None
    lsn: int
    checkpoint_lsn: int
    last_activity: str | None
    age_s: float | None
    stale: bool
    owner: OwnerReport | None
    advice: str
    reason: str | None
    committed: int
    in_flight: list[StepReport]
    in_doubt: list[StepReport]
    last_commit: str | None
    branch: str | None = None
    commit: str = "durable"


def status_of(known: Known, root: str) -> Status:
    """The status of what is known of the ledger below ``root``."""
    view, run = known.view, known.view.run
    steps = [report_of(view.open[lsn], known.fates[lsn]) for lsn in sorted(view.open)]
    in_doubt = [step for step in steps if not step.owner.alive]
    state = state_of(known)
    advice, reason = _advice(known, root, state, in_doubt)
    claimed = known.unclaimed is None and run is not None
    found = known.unclaimed
    activity = (to_second(run.last_activity) if claimed and run else "") or (
        found.last_activity if found else ""
    )
    age_s, stale = aged(age(activity), running=state == RUNNING)
    owner = known.owner
    return Status(
        schema=SCHEMA,
        state=state,
        plan_id=run.plan_id if claimed and run else (found.plan_id if found else None),
        sprint=run.current if claimed and run else (found.current if found else None),
        lsn=view.lsn,
        checkpoint_lsn=known.shown,
        last_activity=activity or None,
        age_s=age_s,
        stale=stale,
        owner=None
        if owner is None
        else OwnerReport(
            owner[0].id, owner[0].pid, owner[0].host, owner[0].since, owner[1].alive, owner[1].how
        ),
        advice=advice,
        reason=reason,
        committed=run.committed if run is not None else 0,
        in_flight=[step for step in steps if step.owner.alive],
        in_doubt=in_doubt,
        last_commit=run.last_commit if run is not None else None,
        branch=run.branch if claimed and run else (found.branch if found else None),
        commit=owner[0].commit if owner is not None else "durable",
    )


def state_of(known: Known) -> str:
    """The run's word as a reader may act on it."""
    problem = known.problem
    if problem is None:
        run = known.view.run
        return ABSENT if run is None else run.state if run.known else INVALID
    if isinstance(problem, AdoptionRequired):
        return RUNNING
    if isinstance(problem, RunHalted):
        return HALTED
    return JACKED_OUT if isinstance(problem, RunFinished) else INVALID


def _advice(known: Known, root: str, state: str, in_doubt: list[StepReport]) -> tuple[str, str | None]:
    """What to do, and why."""
    run, problem = known.view.run, known.problem
    if known.view.damage:
        d = known.view.damage[0]
        return (
            "none",
            f"the ledger is damaged: {d.file}, offset {d.offset}: {d.reason} (see runledger replay)",
        )
    if isinstance(problem, AdoptionRequired):
        return "adopt", problem.message
    if problem is not None:
        return {HALTED: "wait", JACKED_OUT: "done"}.get(state, "none"), _why(known, problem.message)
    if run is None:
        return "none", None
    if state == INVALID:
        return "none", f"the state file says {run.word}, which is none of the three words"
    if state == HALTED:
        return "wait", run.reason
    if state == JACKED_OUT:
        return "done", run.reason
    return _going_on(known, root, in_doubt)


def _why(known: Known, message: str) -> str:
    found = known.unclaimed
    return found.reason if found is not None and found.reason else message


def _going_on(known: Known, root: str, in_doubt: list[StepReport]) -> tuple[str, str | None]:
    """A RUNNING run goes on, unless a doubt must be settled first or it is not this checkout's."""
    from runledger.local.checkout import current_branch

    run = known.view.run
    assert run is not None
    if run.declared_branch and run.branch:
        here = current_branch(root)
        if here is not None and here != run.branch:
            return "none", f"the run belongs to the branch {run.branch}, and {here} is checked out"
    must = [step for step in in_doubt if not step.idempotent]
    if must:
        return "resolve", f"{len(must)} in doubt"
    if run.total and run.completed >= run.total and not known.view.open:
        return (
            "resume",
            "every sprint is completed and nothing is open: the run was never closed (runledger finish)",
        )
    return "resume", None
