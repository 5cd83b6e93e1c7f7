"""How a run begins."""

from __future__ import annotations

import os

from runledger import record as r
from runledger.clock import now
from runledger.decisions.base import Transaction
from runledger.errors import RunFinished, SprintUnknown, UsageError
from runledger.run_state import check, valid_sprint_id
from runledger.store import Move
from runledger.text import escape

__all__ = ["check_sprint", "start"]


def start(tx: Transaction, m: Move) -> int:
    """Begin a run; returns the LSN. Raises RunMoveRefused over a run that goes on, and what the state file forbids."""
    run = tx.view.run
    if run is not None:
        check("start", run.state, reason=run.reason, word=run.word)
    elif tx.state_file.problem is not None and not isinstance(tx.state_file.problem, RunFinished):
        raise tx.state_file.problem
    for sprint in m.sprints:
        check_sprint(sprint)
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


def check_sprint(sprint: str | None) -> str:
    """The id of a sprint. Raises SprintUnknown where it cannot be one."""
    if sprint is None or not valid_sprint_id(sprint):
        raise SprintUnknown(
            f"{escape(str(sprint))} is no sprint id", hint="Letters, digits, and . _ - make one."
        )
    return sprint
