"""The three words of a run's life, what foreign words mean, and which move is legal in which state."""

from __future__ import annotations

from runledger.errors import (
    LedgerError,
    LedgerMissing,
    RunFinished,
    RunHalted,
    RunMoveRefused,
    RunStateInvalid,
    UsageError,
)

__all__ = [
    "ABSENT",
    "HALTED",
    "INVALID",
    "JACKED_OUT",
    "MOVES",
    "RUNNING",
    "WORDS",
    "check",
    "meaning",
    "valid_sprint_id",
]

RUNNING = "RUNNING"
HALTED = "HALTED"
JACKED_OUT = "JACKED_OUT"
WORDS = (RUNNING, HALTED, JACKED_OUT)

INVALID = "INVALID"
ABSENT = "ABSENT"

_FOREIGN = {
    "COMPLETE": JACKED_OUT,
    "COMPLETED": JACKED_OUT,
    "READY_FOR_HITL": HALTED,
    "INTERRUPTED": HALTED,
}

# Abandoning is a way out of every state but the end: without it, a word that nobody can set right would
# block the directory for ever.
MOVES: dict[str, frozenset[str]] = {
    "start": frozenset({ABSENT, JACKED_OUT}),
    "step": frozenset({RUNNING}),
    "sprint": frozenset({RUNNING}),
    "heartbeat": frozenset({RUNNING}),
    "halt": frozenset({RUNNING, HALTED}),
    "resume": frozenset({HALTED}),
    "finish": frozenset({RUNNING}),
    "abandon": frozenset({RUNNING, HALTED, INVALID}),
}

_DOING = {
    "start": "a new run cannot start",
    "step": "no step may run",
    "sprint": "no sprint may move",
    "heartbeat": "there is nothing to keep alive",
    "halt": "it cannot be halted",
    "resume": "there is nothing to resume",
    "finish": "it cannot be finished",
    "abandon": "there is nothing to abandon",
}

_GO_ON = {
    RUNNING: "Go on with it: runledger wake",
    HALTED: "After looking at the reason: runledger resume --by WHO",
}

_SPRINT_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def meaning(word: object) -> tuple[str, str | None]:
    """The state that a word in a state file stands for, with a note unless it is one of the three words.

    Only exact upper case counts: a word that nobody agreed on must not set an agent to work.
    """
    if isinstance(word, str):
        if word in WORDS:
            return word, None
        if word in _FOREIGN:
            return _FOREIGN[word], f"{word} is read as {_FOREIGN[word]}"
    return INVALID, f"state says {_shown(word)}, which is none of {', '.join(WORDS)}"


def check(move: str, state: str, *, reason: str | None = None, word: object = None) -> bool:
    """Whether ``move`` changes anything: False for the halt of a halted run, which keeps its first reason.

    ``reason`` (why it is halted) and ``word`` (what an INVALID state file says) go into the message.

    Raises:
        LedgerMissing, RunHalted, RunFinished, RunStateInvalid, RunMoveRefused: the move is not legal.
    """
    if move not in MOVES:
        raise UsageError(f"{move!r} is no move of a run; moves are {', '.join(MOVES)}")
    if state not in MOVES[move]:
        raise _refusal(move, state, reason, word)
    return not (move == "halt" and state == HALTED)


def _refusal(move: str, state: str, reason: str | None, word: object) -> LedgerError:
    doing = _DOING[move]
    if state == ABSENT:
        return LedgerMissing(f"There is no run here: {doing}.")
    if state == INVALID:
        says = "" if word is None else f" says {_shown(word)}, which"
        return RunStateInvalid(
            f"The state file{says} is none of {', '.join(WORDS)}: {doing}.",
            hint='Set "state" in .run/sprint-plan-state.json right, or give the run up: '
            "runledger abandon --reason TEXT",
        )
    if state == JACKED_OUT:
        return RunFinished(f"The run is JACKED_OUT: {doing}.")
    why = f" ({_shown(reason)})" if reason and state == HALTED else ""
    message = f"The run is {state}{why}: {doing}."
    if move == "start":
        return RunMoveRefused(
            message, hint=_GO_ON[state] + "\nOr give it up: runledger abandon --reason TEXT"
        )
    if state == HALTED:
        return RunHalted(message)
    return RunMoveRefused(message, hint="To see where it stands: runledger status")


def valid_sprint_id(text: object) -> bool:
    """Whether ``text`` may name a sprint: 1 to 128 characters of ``[A-Za-z0-9._-]``."""
    return isinstance(text, str) and 1 <= len(text) <= 128 and _SPRINT_ID.issuperset(text)


def _shown(value: object) -> str:
    """A foreign value as one printable line of bounded length."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
