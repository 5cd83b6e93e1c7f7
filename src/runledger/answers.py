"""What the quick commands answer: an exit code, lines for a person, an object for a program."""

from __future__ import annotations

from typing import Any

import msgspec

from runledger.doubt import StepReport, resolve_lines
from runledger.moment import Moment
from runledger.run_state import ABSENT, HALTED, INVALID, JACKED_OUT, RUNNING
from runledger.status import Status
from runledger.store import Known
from runledger.text import escape

__all__ = ["Answer", "Sight", "is_running", "line_of", "moment_of", "status", "wake"]

WAKE = "runledger.wake/1"

CODES = {"resume": 0, "resolve": 76, "wait": 77, "done": 77, "adopt": 78, "none": 77}
"""What each advice exits with, where the ledger itself is sound."""


class Sight(msgspec.Struct, frozen=True):
    """What was seen: ``known`` is None where nothing can be read, and ``status`` says why."""

    status: Status
    known: Known | None


class Answer(msgspec.Struct, frozen=True):
    """``lines`` are printable; where they tell the state, the first of them tells it first, as ``word``."""

    code: int
    word: str
    lines: list[str]
    facts: Any


# --- wake ---------------------------------------------------------------------------------------------------


def wake(sight: Sight) -> Answer:
    """The word and the advice; 0 only where the advice is to resume."""
    status = sight.status
    code = _code_of(sight) or CODES[status.advice]
    word = status.state if code != 78 or status.advice == "adopt" or status.state == ABSENT else INVALID
    action = _action(status, word, code)
    must = [step for step in status.in_doubt if not step.idempotent]
    facts = {
        "schema": WAKE,
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
    return Answer(code, word, [word, *_after_word(status, action, must)], facts)


def _after_word(status: Status, action: str, must: list[StepReport]) -> list[str]:
    lines = []
    if status.advice == "resume":
        lines += [f"in doubt, idempotent, runs again by itself: {line_of(step)}" for step in status.in_doubt]
    lines.append(action)
    for step in must:
        lines.append(f"in doubt: {line_of(step)}")
        lines += [f"  {line}" for line in resolve_lines(step)]
    if status.advice == "resume":
        lines += [f"in flight: {line_of(step)}" for step in status.in_flight]
    return lines


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


# --- status -------------------------------------------------------------------------------------------------


def status(sight: Sight) -> Answer:
    """Where the run stands; 78 where there is nothing sound to tell of."""
    status = sight.status
    about = [f"plan {escape(status.plan_id)}"] if status.plan_id else []
    about += [f"sprint {escape(status.sprint)}"] if status.sprint else []
    about += [f"branch {escape(status.branch)}"] if status.branch else []
    advice = f"advice: {status.advice}"
    counts = (
        f"{status.committed} committed, {len(status.in_flight)} in flight, {len(status.in_doubt)} in doubt"
    )
    lines = [
        " · ".join([status.state, *about]),
        f"{advice} ({escape(status.reason)})" if status.reason else advice,
        *moment_of(status).lines(),
        f"{counts}; commits are {status.commit}",
        *(f"in flight: {line_of(step)}" for step in status.in_flight),
        *(f"in doubt: {line_of(step)}" for step in status.in_doubt),
    ]
    if status.owner is not None:
        lines.append(f"owner {escape(status.owner.id)}: {escape(status.owner.how)}")
    return Answer(_code_of(sight), status.state, lines, status)


def moment_of(status: Status) -> Moment:
    """What moves of a status although the run does not."""
    activity = escape(status.last_activity or "")
    return Moment(status.lsn, status.checkpoint_lsn, activity, status.age_s, stale=status.stale)


def line_of(step: StepReport) -> str:
    """A step that was started and never committed, on one line."""
    named = escape(step.name) if step.key is None else f"{escape(step.name)} {escape(step.key)}"
    told = (
        f"{named} (LSN {step.lsn}, attempt {step.attempt}, started {step.started}): {escape(step.owner.how)}"
    )
    if step.failure is not None:
        told += f"; it ended with {escape(f'{step.failure.type}: {step.failure.message}')}"
    if step.marks:
        told += f"; last mark: {escape(step.marks[-1].label)}"
    return told


# --- is-running ---------------------------------------------------------------------------------------------


def is_running(sight: Sight) -> Answer:
    """0 when a run of ours is RUNNING, else 1."""
    status, known = sight.status, sight.known
    foreign = known is None or known.problem is not None or bool(known.view.damage)
    running = status.state == RUNNING and not foreign and status.advice in {"resume", "resolve"}
    because = f" ({escape(status.reason)})" if status.reason else ""
    line = "yes" if running else f"no: {status.state}{because}"
    facts = {"running": running, "state": status.state, "reason": status.reason}
    return Answer(0 if running else 1, status.state, [line], facts)


def _code_of(sight: Sight) -> int:
    """78 for what is absent, invalid or damaged, else 0."""
    damaged = sight.known is None or bool(sight.known.view.damage)
    return 78 if damaged or sight.status.state in {ABSENT, INVALID} else 0
