"""Every error that runledger raises: one class for each cause, each with a slug, an exit code and a next step.

The exit codes are those of ``sysexits.h`` where it has one, and never 2, which agent runtimes read as "block the tool".
All of them survive pickling: only plain data is kept, in ``__dict__``.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as ``typing`` has it: that module alone costs as much as a bare interpreter
if TYPE_CHECKING:
    from typing import Any, ClassVar

__all__ = [
    "AdoptionRequired",
    "CompactionBusy",
    "DiskRefused",
    "EmptyKey",
    "FinishRefused",
    "ForkedHandle",
    "InputsMismatch",
    "InputsNotEncodable",
    "KeyInvalid",
    "LeaseLapsed",
    "LedgerBusy",
    "LedgerClosed",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerFailed",
    "LedgerMissing",
    "LockUnavailable",
    "NewerVersion",
    "ResolveRefused",
    "ResultNotStored",
    "RunFinished",
    "RunHalted",
    "RunMoveRefused",
    "RunStateInvalid",
    "SprintUnknown",
    "StepAborted",
    "StepCommitted",
    "StepInDoubt",
    "StepInFlight",
    "TokenUnknown",
    "UsageError",
]


def _rebuild(cls: type[LedgerError], message: str, state: dict[str, Any]) -> LedgerError:
    """Recreate an error from its pickle without calling its class's own constructor."""
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class LedgerError(Exception):
    """Base of all errors of this package.

    Attributes:
        slug: a stable name for programs, such as ``"step-in-doubt"``.
        exit_code: what the command line exits with for it.
        hint: the next thing to do, often an exact command; may be empty.
    """

    slug: ClassVar[str] = "ledger-error"
    exit_code: ClassVar[int] = 78
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = self.default_hint if hint is None else hint
        self.__dict__.update(facts)

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, dict(self.__dict__))


# --- the call itself is wrong: 64 -------------------------------------------------------------------------------


class UsageError(LedgerError):
    """The call cannot mean anything: a wrong argument, an unknown option."""

    slug = "usage"
    exit_code = 64


class KeyInvalid(UsageError):
    """A step name or key is not text that can be stored."""

    slug = "key-invalid"


class EmptyKey(KeyInvalid):
    """A key is empty; a step without a key leaves the argument out instead."""

    slug = "empty-key"
    default_hint = "Leave key= out for a step without a natural key; it is then recorded but never skipped."


class InputsNotEncodable(UsageError):
    """Inputs that were asked for by name cannot be fingerprinted; raised before the effect."""

    slug = "inputs-not-encodable"


class TokenUnknown(UsageError):
    """A token of ``begin`` that no open step answers to."""

    slug = "token-unknown"


class SprintUnknown(UsageError):
    """A sprint id that the plan does not list, or that may not name one."""

    slug = "sprint-unknown"


# --- one key, two meanings: 65 ----------------------------------------------------------------------------------


class InputsMismatch(LedgerError):
    """The key is already taken by a call with other inputs; nothing ran."""

    slug = "inputs-mismatch"
    exit_code = 65


# --- the step's own state: 75, 76, 79 ---------------------------------------------------------------------------


class StepInFlight(LedgerError):
    """Another owner that is alive holds the step.

    Attributes:
        pid, host, since: of the owner; ``pid`` is None for an external session, which only has a lease.
    """

    slug = "step-in-flight"
    exit_code = 75


class LedgerBusy(LedgerError):
    """The append lock could not be had within its bound; nothing was written."""

    slug = "ledger-busy"
    exit_code = 75


class CompactionBusy(LedgerError):
    """Another process is compacting this ledger."""

    slug = "compaction-busy"
    exit_code = 75


class StepInDoubt(LedgerError):
    """The step was started and never committed, and nobody is at work on it: it may or may not have happened.

    Attributes:
        step: what is known of it (name, key, lsn, attempt, started, owner, marks, failure).
        resolve: the exact command lines that settle it.
    """

    slug = "step-in-doubt"
    exit_code = 76


class ResolveRefused(LedgerError):
    """A resolution does not fit: the step is settled, is another attempt by now, or its owner is alive."""

    slug = "resolve-refused"
    exit_code = 76


class LeaseLapsed(LedgerError):
    """A late commit, abort or mark of an attempt that is no longer the current one."""

    slug = "lease-lapsed"
    exit_code = 76


class StepCommitted(LedgerError):
    """The step is already committed; raised by ``with`` before the body, so that no body repeats an effect.

    Attributes:
        result: the recorded result, None where it could not be stored.
    """

    slug = "step-committed"
    exit_code = 79


class ResultNotStored(LedgerError):
    """The effect is committed, its result is not on record; raised at each later call too."""

    slug = "result-not-stored"
    exit_code = 79


class StepAborted(LedgerError):
    """Made by ``step.abort(reason)``: the effect did not happen, entering again runs it."""

    slug = "step-aborted"
    exit_code = 76


# --- the run's state: 77 ----------------------------------------------------------------------------------------


class RunHalted(LedgerError):
    """The run stopped on an error or a blocker and waits for an explicit resume."""

    slug = "run-halted"
    exit_code = 77
    default_hint = "After looking at the reason: runledger resume --by WHO"


class RunFinished(LedgerError):
    """The run is over; nothing more is done in it."""

    slug = "run-finished"
    exit_code = 77
    default_hint = "A new run begins with: runledger start --plan-id ID"


class RunMoveRefused(LedgerError):
    """A move of the run that its state does not allow."""

    slug = "run-move-refused"
    exit_code = 77


class FinishRefused(LedgerError):
    """The run is not done: a step is open, a sprint is not completed, or nothing was committed."""

    slug = "finish-refused"
    exit_code = 77


# --- the ledger or the state file: 78 ---------------------------------------------------------------------------


class LedgerMissing(LedgerError):
    """There is no ledger and no run here."""

    slug = "ledger-missing"
    default_hint = "A run begins with: runledger start --plan-id ID"


class RunStateInvalid(LedgerError):
    """The state file says a word that is none of the three, or cannot be used; steps are refused until it is
    set right."""

    slug = "run-state-invalid"


class AdoptionRequired(RunStateInvalid):
    """A state file of somebody else (no journal here, or another plan) is not ours to resume."""

    slug = "adoption-required"
    default_hint = "To take it over: runledger adopt"


class LedgerCorrupt(LedgerError):
    """Damage that a crash does not leave.

    Attributes:
        damage: a list of findings, each with file, offset, lsn and reason.
    """

    slug = "ledger-corrupt"


class NewerVersion(LedgerError):
    """The ledger was written by a later version of runledger; nothing was touched."""

    slug = "newer-version"
    default_hint = "Upgrade runledger-engine; this version leaves the ledger as it is."


class LedgerClosed(LedgerError):
    """The handle was closed."""

    slug = "ledger-closed"


class ForkedHandle(LedgerError):
    """The handle belongs to the parent process; a forked child opens its own."""

    slug = "forked-handle"
    default_hint = "Call Ledger.open() again in the child process."


# --- the disk: 74 -----------------------------------------------------------------------------------------------


class DiskRefused(LedgerError):
    """The operating system refused a read or a write; nothing was acknowledged.

    Attributes:
        path, errno: what it was about.
    """

    slug = "disk-refused"
    exit_code = 74


class LedgerFailed(DiskRefused):
    """An earlier sync of this handle failed: it acknowledges nothing more until the ledger is opened again."""

    slug = "ledger-failed"
    default_hint = "Open the ledger again; what is really on the disk is then read back and rewritten."


class LockUnavailable(DiskRefused):
    """File locks do not work, or do not answer, on this file system."""

    slug = "lock-unavailable"
