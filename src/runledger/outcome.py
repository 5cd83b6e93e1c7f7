"""From a body's end to what is recorded of it, and back to what its caller gets."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from runledger import values
from runledger.arguments import readable
from runledger.doubt import shown
from runledger.errors import ResultNotStored, StepAborted
from runledger.record import Failure
from runledger.refusals import not_stored
from runledger.store import Happened, Payload, Store
from runledger.view import Settled

__all__ = [
    "HAPPENED",
    "UNSHOWN",
    "failure_of",
    "halt_reason",
    "note_on",
    "outcome_of",
    "reason_of",
    "result_of",
]

HAPPENED = Happened()
"""The outcome without a result."""

UNSHOWN = "(its message cannot be shown)"


def outcome_of(
    result: Any, what: str = "the step", limit: int | None = None
) -> tuple[Happened, ResultNotStored | None]:
    """The commit of a result; one that cannot be stored, or has more than ``limit`` bytes when encoded, is committed
    without it, and its caller is told."""
    if result is None:
        return HAPPENED, None
    try:
        stored = values.encode(result)
    except values.Unstorable as error:
        reason = str(error)
        return Happened(unstored=reason), not_stored(what, reason)
    if limit is not None and len(stored.json) > limit:
        reason = f"it has {len(stored.json)} bytes when encoded, more than the limit of {limit}"
        return Happened(unstored=reason), not_stored(what, reason)
    return Happened(result=Payload(stored.json, stored.typed)), None


def result_of(store: Store, settled: Settled) -> Any:
    """The recorded result, equal in value and type to the first run's.

    Raises:
        ResultNotStored: it was not stored, or needs a class that is not loaded here.
        LedgerCorrupt: it was damaged since.
    """
    if settled.unstored is not None:
        raise not_stored(shown(settled.name, settled.key), settled.unstored)
    payload = store.payload(settled)
    if payload is None:
        return None
    try:
        return values.decode(payload.json, payload.typed)
    except values.Unresolvable as error:
        raise not_stored(shown(settled.name, settled.key), str(error)) from None


def failure_of(error: BaseException, *, told: bool = True) -> Failure:
    """The type and message of an exception; one that cannot even be shown, or shall not be asked, still has a type."""
    return Failure(type=_type_name(error), message=_message(error) if told else UNSHOWN)


def _type_name(error: BaseException) -> str:
    kind = type(error)
    module = kind.__module__
    name = (
        kind.__qualname__
        if module == "builtins" or not isinstance(module, str)
        else f"{module}.{kind.__qualname__}"
    )
    return readable(name)


def _message(error: BaseException) -> str:
    try:
        return readable(str.__str__(str(error))[:2000])
    except Exception:  # noqa: BLE001  # whatever a foreign __str__ does, the doubt must be recorded
        return UNSHOWN


def reason_of(error: BaseException) -> str:
    """Why nothing happened, as the exception says."""
    if isinstance(error, StepAborted):
        reason = error.__dict__.get("reason", "")
        return readable(reason) if isinstance(reason, str) else ""
    message = _message(error)
    return f"{_type_name(error)}: {message}" if message else _type_name(error)


def halt_reason(error: BaseException) -> str:
    """Why a run is halted by an exception that escaped: never empty, since a halt without a reason is none."""
    return reason_of(error)[:2000].strip() or failure_of(error).message.strip() or _type_name(error)


def note_on(error: BaseException, text: str) -> None:
    """A note on somebody's exception, where it takes one: it reaches its caller in any case."""
    with suppress(Exception):
        error.add_note(text)
