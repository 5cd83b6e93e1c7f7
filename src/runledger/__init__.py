"""runledger: a write-ahead ledger for autonomous agent runs.

A step's intent is on the disk before its effect, its outcome after it, and a second attempt of a committed step is a
no-op. After a crash, replay tells what was started and never committed, whether its owner is dead, and how to
settle it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as ``typing`` has it: that module alone costs as much as a bare interpreter
if TYPE_CHECKING:
    from typing import Any

    from runledger.doubt import NOT_HAPPENED as NOT_HAPPENED
    from runledger.doubt import Happened as Happened
    from runledger.doubt import NotHappened as NotHappened
    from runledger.doubt import StepReport as StepReport
    from runledger.errors import *  # noqa: F403  # the errors are listed once, there
    from runledger.known_step import KnownStep as KnownStep
    from runledger.ledger import Ledger as Ledger
    from runledger.options import Options as Options
    from runledger.pacing import AsyncPace as AsyncPace
    from runledger.pacing import Pace as Pace
    from runledger.replay_report import ReplayReport as ReplayReport
    from runledger.replay_report import replay as replay
    from runledger.status import Status as Status
    from runledger.step import AsyncStep as AsyncStep
    from runledger.step import DoubtfulStep as DoubtfulStep
    from runledger.step import Step as Step
    from runledger.version import VERSION

    __version__ = VERSION

_HOMES = {
    "Ledger": "ledger",
    "KnownStep": "known_step",
    "Options": "options",
    "AsyncPace": "pacing",
    "Pace": "pacing",
    "AsyncStep": "step",
    "Step": "step",
    "DoubtfulStep": "step",
    "StepReport": "doubt",
    "Happened": "doubt",
    "NOT_HAPPENED": "doubt",
    "NotHappened": "doubt",
    "ReplayReport": "replay_report",
    "replay": "replay_report",
    "Status": "status",
}

_ERRORS = (
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
)

__all__ = [*_HOMES, *_ERRORS, "__version__"]  # noqa: PLE0604  # the two tables are the list


def __getattr__(name: str) -> Any:
    """Names are imported when first used: a hook that only asks for the state must not pay for the engine."""
    from importlib import import_module

    if name == "__version__":
        value: Any = import_module("runledger.version").VERSION
    elif name in _HOMES:
        value = getattr(import_module(f"runledger.{_HOMES[name]}"), name)
    elif name in _ERRORS:
        value = getattr(import_module("runledger.errors"), name)
    else:
        raise AttributeError(f"module 'runledger' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
