"""What a body holds of its own step, and what a probe is told of a doubtful one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import ContextVar
from threading import get_ident
from typing import Any

from msgspec import Raw

from runledger import values
from runledger.arguments import text
from runledger.doubt import StepReport, shown
from runledger.errors import ResultNotStored, StepAborted, UsageError
from runledger.keys import idempotency_key
from runledger.record import NOTHING
from runledger.store import Claim, Claimed, Note, Payload, Store

__all__ = ["MARK_BYTES", "AsyncStep", "Body", "DoubtfulStep", "Step", "become", "current", "enclosing"]

MARK_BYTES = 1 << 20
"""Of the data of one mark: the marks of all open steps are in memory."""


class Body:
    """A step's body, and the one around it. ``over``: nothing is inside it any more."""

    __slots__ = ("outer", "over", "step", "store")

    def __init__(self, store: Store, step: Step, outer: Body | None) -> None:
        self.store = store
        self.step = step
        self.outer = outer
        self.over = False


current: ContextVar[Body | None] = ContextVar("runledger_step", default=None)
"""The body that this context entered last. A thread begins without one."""

_changing: set[int] = set()


def become(body: Body | None) -> None:
    """Make it the current one.

    The garbage collector may run in the middle of this and end a generator with a step in it; Python itself crashes
    where that changes the same variable. Such an end leaves it as it is: a body that is over is passed over anyway.
    """
    here = get_ident()
    if here in _changing:
        return
    _changing.add(here)
    try:
        current.set(body)
    finally:
        _changing.discard(here)


def enclosing(store: Store | None = None) -> Body | None:
    """The innermost body, of ``store`` or of any, that this context is in. Bodies need not end in the order in which
    they began, nor where they began: what is over is passed by."""
    body = current.get()
    while body is not None and (body.over or (store is not None and body.store is not store)):
        body = body.outer
    return body


class Step:
    """What a body holds of its own step.

    Attributes:
        name, key, lsn, attempt, idempotent: of the intent.
        result: what is recorded when the body ends; None unless set.
    """

    __slots__ = (
        "_claimed",
        "_ledger_id",
        "_scope",
        "_seal",
        "_store",
        "attempt",
        "idempotent",
        "key",
        "lsn",
        "name",
        "result",
    )

    def __init__(self, store: Store, ledger_id: Callable[[], str], claim: Claim, claimed: Claimed) -> None:
        self._store = store
        self.idempotent = claim.idempotent
        self._claimed = claimed
        self.name = claim.name
        self.key = claim.key
        self.lsn = claimed.lsn
        self.attempt = claimed.attempt
        self.result: Any = None
        self._ledger_id = ledger_id
        self._seal: str | None = None
        self._scope = claimed.run if claim.scope == "run" else ""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this step, to hand on to the outside."""
        return idempotency_key(self._ledger_id(), self._scope, self.name, self.key, self.lsn)

    @property
    def resumed_from(self) -> Any:
        """The state that an earlier attempt saved by ``checkpoint``, else None.

        Raises:
            ResultNotStored: it needs a class that is not loaded here.
        """
        saved = None if self._claimed.saved is None else self._store.payload(self._claimed.saved)
        try:
            return None if saved is None else values.decode(saved.json, saved.typed)
        except values.Unresolvable as error:
            raise ResultNotStored(
                f"{shown(self.name, self.key)}: the saved state cannot be brought back: {error}",
                hint="Import what its class is in before the step; or begin again under another key.",
            ) from None

    def mark(self, label: str, **data: Any) -> None:
        """Leave a durable breadcrumb, such as an id that the outside gave out: for a probe, and for a person later.

        They are told of the last 50 of an attempt; the journal has them all.

        Raises:
            UsageError: ``label`` is no text, or ``data`` cannot be encoded as JSON, or has more than a MiB then.
        """
        self._store.mark(self._mark(label, data))

    def _mark(self, label: str, data: dict[str, Any]) -> Note:
        if not text("a mark's label", label):
            raise UsageError("a mark needs a label")
        return Note(lsn=self.lsn, label=label, data=encode_data(data), riding=self.idempotent)

    def checkpoint(self, state: Any) -> None:
        """Save ``state`` durably; the next attempt of this step gets it as ``resumed_from``.

        Raises:
            ResultNotStored: it cannot be stored.
        """
        self._store.mark(self._saving(state))

    def _saving(self, state: Any) -> Note:
        return Note(lsn=self.lsn, state=self._encoded(state))

    def _encoded(self, state: Any) -> Payload:
        try:
            stored = values.encode(state)
        except values.Unstorable as error:
            raise ResultNotStored(
                f"{shown(self.name, self.key)}: the state cannot be stored: {error}"
            ) from None
        return Payload(stored.json, stored.typed)

    def abort(self, reason: str = "") -> StepAborted:
        """The exception to raise when it is known that the effect did not happen. It says so of this step alone."""
        self._seal = self._seal or os.urandom(8).hex()
        said = text("a reason", reason)
        return StepAborted(
            f"{shown(self.name, self.key)} aborted: {said}", reason=said, lsn=self.lsn, seal=self._seal
        )

    def aborted_by(self, error: BaseException) -> bool:
        """Whether ``abort`` of this very step made the error. An LSN does not tell: another ledger has it too."""
        seal = error.__dict__.get("seal") if isinstance(error, StepAborted) else None
        return seal is not None and seal == self._seal


class AsyncStep(Step):
    """A step inside ``async with``. ``mark`` and ``checkpoint`` are on their way when they return, in order with what
    follows, and do not block the event loop; what they return can be awaited until they are durable. Where no loop is
    running, as in ``asyncio.to_thread``, they are durable when they return."""

    __slots__ = ()

    def mark(self, label: str, **data: Any) -> Any:
        """As in ``Step``, durable when awaited; in any case before the step's commit."""
        return self._sent(self._mark(label, data))

    def checkpoint(self, state: Any) -> Any:
        """As in ``Step``, durable when awaited; in any case before the step's commit."""
        return self._sent(self._saving(state))

    def _sent(self, note: Note) -> Any:
        from runledger.sending import Done, is_in_loop, sent

        return sent(self._store, note) if is_in_loop() else Done(self._store.mark(note))


class DoubtfulStep:
    """What a probe is given: who started the step when, how far its marks tell that it came, and the idempotency key
    by which the outside may know it."""

    def __init__(self, report: StepReport, idempotency_key: str) -> None:
        self.name = report.name
        self.key = report.key
        self.lsn = report.lsn
        self.attempt = report.attempt
        self.started = report.started
        self.owner = report.owner
        self.marks = report.marks
        self.failure = report.failure
        self.idempotency_key = idempotency_key


def encode_data(data: dict[str, Any]) -> Raw:
    """A mark's data as JSON."""
    if not data:
        return NOTHING
    try:
        json = values.encode(data).json
    except values.Unstorable as error:
        raise UsageError(f"the data of a mark cannot be stored: {error}") from None
    if len(json) > MARK_BYTES:
        raise UsageError(
            f"the data of a mark has {len(json)} bytes, and may have {MARK_BYTES}: a mark says how far a step came; "
            "keep the rest in a file, in the step's result or in a checkpoint"
        )
    return Raw(json)
