"""``wake``: the word, and what a woken agent does now."""

from __future__ import annotations

from typing import Any

from runledger.cli.command import Command
from runledger.cli.looking import Sight, code_of, line_of, looked, unusable
from runledger.cli.output import document, paint, result
from runledger.doubt import StepReport, resolve_lines
from runledger.errors import LedgerError
from runledger.run_state import ABSENT, HALTED, INVALID, JACKED_OUT, RUNNING
from runledger.status import Status
from runledger.text import escape

__all__ = ["COMMANDS", "SCHEMA", "wake"]

SCHEMA = "runledger.wake/1"

CODES = {"resume": 0, "resolve": 76, "wait": 77, "done": 77, "adopt": 78, "none": 77}
"""What each advice exits with, where the ledger itself is sound."""


def wake(args: Any) -> int:
    """Print the word and the advice; 0 only where the advice is to resume."""
    try:
        sight = looked()
    except (LedgerError, OSError) as error:
        sight = Sight(unusable(error.message if isinstance(error, LedgerError) else str(error)), None)
    status = sight.status
    code = code_of(sight) or CODES[status.advice]
    word = status.state if code != 78 or status.advice == "adopt" or status.state == ABSENT else INVALID
    action = _action(status, word, code)
    must = [step for step in status.in_doubt if not step.idempotent]
    if args.json:
        document(
            {
                "schema": SCHEMA,
                "word": word,
                "advice": status.advice,
                "action": action,
                "sprint": status.sprint,
                "reason": status.reason,
                "exit_code": code,
                "in_flight": status.in_flight,
                "in_doubt": status.in_doubt,
                "resolve": [line for step in must for line in resolve_lines(step)],
            }
        )
    else:
        _tell(status, word, action, must)
    return code


def _tell(status: Status, word: str, action: str, must: list[StepReport]) -> None:
    result(paint(word))
    if status.advice == "resume":
        for step in status.in_doubt:
            result(f"in doubt, idempotent, runs again by itself: {line_of(step)}")
    result(action)
    for step in must:
        result(f"in doubt: {line_of(step)}")
        for line in resolve_lines(step):
            result(f"  {line}")
    if status.advice == "resume":
        for step in status.in_flight:
            result(f"in flight: {line_of(step)}")


def _action(status: Status, word: str, code: int) -> str:
    """One line of what to do."""
    reason = escape(status.reason or "")
    if word == HALTED:
        why = f"halted: {reason}" if reason else "no reason on record"
        return f"wait for an explicit resume, do nothing else: runledger resume ({why})"
    if word == RUNNING:
        return _running(status, reason, code)
    return {
        ABSENT: "there is no run here: nothing to do",
        JACKED_OUT: "nothing to do: the run is finished",
    }.get(word, f"do nothing, and tell a person: {reason or 'the state cannot be read'}")


def _running(status: Status, reason: str, code: int) -> str:
    if status.advice == "resolve":
        many = sum(not step.idempotent for step in status.in_doubt)
        steps = "1 step is" if many == 1 else f"{many} steps are"
        return f"settle first, do not retry: {steps} in doubt; look, then run the line that is true"
    if code != 0:
        adopt = "; to take it over: runledger adopt" if status.advice == "adopt" else ""
        return f"this run is not ours to resume: {reason}{adopt}"
    what = escape(status.sprint or f"the run {status.plan_id or ''}".strip())
    return f"resume {what} now, do not ask" + (f"; {reason}" if reason else "")


COMMANDS = (
    Command(
        "wake",
        "say what a woken agent does now: the word, then one line",
        wake,
        more="Exits 0 only where the advice is to resume; else 76 (settle a doubt first), 77 (not RUNNING, "
        "or not ours) or 78 (no run, or it cannot be read).",
    ),
)
