"""From a body's end to what is recorded of it, and back to what its caller gets."""

from __future__ import annotations

from typing import Any

from runledger import values
from runledger.doubt import shown
from runledger.errors import ResultNotStored, StepAborted
from runledger.record import Failure
from runledger.refusals import not_stored
from runledger.store import Happened, Payload, Store
from runledger.view import Settled

__all__ = ["failure_of", "outcome_of", "reason_of", "result_of"]


def outcome_of(
    result: Any, what: str = "the step", limit: int | None = None
) -> tuple[Happened, ResultNotStored | None]:
    """The commit of a result; one that cannot be stored, or has more than ``limit`` bytes when encoded, is committed
    without it, and its caller is told."""
    if result is None:
        return Happened(), None
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


def failure_of(error: BaseException) -> Failure:
    """The type and message of an exception; one that cannot even be shown still has a type."""
    return Failure(type=_type_name(error), message=_message(error))


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        text = str(error)[:2000]
    except Exception:  # noqa: BLE001  # whatever a foreign __str__ does, the doubt must be recorded
        return "(its message cannot be shown)"
    return text.encode("utf-8", "backslashreplace").decode()


def reason_of(error: BaseException) -> str:
    """Why nothing happened, as the exception says."""
    if isinstance(error, StepAborted):
        return str(error.__dict__.get("reason", ""))
    return f"{_type_name(error)}: {_message(error)}"
