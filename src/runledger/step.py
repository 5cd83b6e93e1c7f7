"""The protocol of one step: what happens on entering it, and what is recorded however its body ends.

An exception proves nothing about the world. Only a return commits; only ``step.abort``, an exception that the caller
declared, or a cancellation before the body began says that nothing happened; all else leaves the step in doubt.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from runledger import values
from runledger.doubt import Happened, NotHappened, StepReport, report_of, resolve_lines, shown
from runledger.errors import (
    LeaseLapsed,
    LedgerError,
    ResultNotStored,
    StepAborted,
    StepCommitted,
    StepInDoubt,
    StepInFlight,
    UsageError,
)
from runledger.keys import idempotency_key
from runledger.log import event
from runledger.record import NOTHING, Failure
from runledger.skip import calling_frame
from runledger.store import (
    Aborted,
    Claim,
    Claimed,
    Committed,
    Doubtful,
    InFlight,
    Note,
    Payload,
    Settle,
    Store,
    Uncertain,
    Verdict,
)
from runledger.store import Happened as ItHappened
from runledger.view import Settled

if TYPE_CHECKING:
    from runledger.skip import Skips

__all__ = ["Attempt", "DoubtfulStep", "Rules", "Step", "current", "outcome_of", "result_of"]

current: ContextVar[tuple[int, int] | None] = ContextVar("runledger_step", default=None)
"""The store's id and the LSN of the step whose body this context is in. A thread begins without one."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a call of ``ledger.step`` says beyond the identity."""

    idempotent: bool = False
    probe: Any = None
    aborts_on: tuple[type[BaseException], ...] = ()


class Step:
    """What a body holds of its own step.

    Attributes:
        name, key, lsn, attempt: of the intent.
        idempotency_key: the same for every attempt of this step, to hand on to the outside.
        result: what is recorded when the body ends; None unless set.
        resumed_from: the state that an earlier attempt saved by ``checkpoint``, else None.
    """

    def __init__(self, store: Store, ledger: str, claim: Claim, claimed: Claimed) -> None:
        self._store = store
        self._riding = claim.idempotent
        self._claimed = claimed
        self.name = claim.name
        self.key = claim.key
        self.lsn = claimed.lsn
        self.attempt = claimed.attempt
        self.result: Any = None
        scope = claimed.run if claim.scope == "run" else ""
        self.idempotency_key = idempotency_key(ledger, scope, claim.name, claim.key, claimed.lsn)

    @property
    def resumed_from(self) -> Any:
        saved = self._claimed.saved
        return None if saved is None else values.decode(saved.json, saved.typed)

    def mark(self, label: str, **data: Any) -> None:
        """Leave a durable breadcrumb, such as an id that the outside gave out: for a probe, and for a person later.

        Raises:
            UsageError: ``data`` cannot be encoded as JSON.
        """
        self._store.mark(self._mark(label, data))

    async def amark(self, label: str, **data: Any) -> None:
        """``mark`` that does not block the event loop."""
        from runledger.waiting import answer

        await answer(self._store, self._mark(label, data))

    def _mark(self, label: str, data: dict[str, Any]) -> Note:
        if not isinstance(label, str) or not label:
            raise UsageError("a mark needs a label")
        return Note(lsn=self.lsn, label=label, data=encode_data(data), riding=self._riding)

    def checkpoint(self, state: Any) -> None:
        """Save ``state`` durably; the next attempt of this step gets it as ``resumed_from``.

        Raises:
            ResultNotStored: it cannot be stored.
        """
        self._store.mark(Note(lsn=self.lsn, state=self._encoded(state)))

    def _encoded(self, state: Any) -> Payload:
        try:
            stored = values.encode(state)
        except values.Unstorable as error:
            raise ResultNotStored(
                f"{shown(self.name, self.key)}: the state cannot be stored: {error}"
            ) from None
        return Payload(stored.json, stored.typed)

    def abort(self, reason: str = "") -> StepAborted:
        """The exception to raise when it is known that the effect did not happen."""
        return StepAborted(f"{shown(self.name, self.key)} aborted: {reason}", reason=reason, lsn=self.lsn)


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
        return Raw(values.encode(data).json)
    except values.Unstorable as error:
        raise UsageError(f"the data of a mark cannot be stored: {error}") from None


class Attempt:
    """One entry into one step: from the claim to the recorded outcome, for every form of a step.

    The blocking and the asyncio forms differ only in who carries a request to the store, so this class makes the
    requests and takes the answers, and never waits.
    """

    def __init__(self, store: Store, ledger_id: Any, claim: Claim, rules: Rules) -> None:
        self.store = store
        self.claim = claim
        self.rules = rules
        self._ledger_id = ledger_id
        self.step: Step | None = None
        self._token: Token[tuple[int, int] | None] | None = None

    # --- entering -----------------------------------------------------------------------------------------------

    def admit(self, verdict: Verdict) -> Settled | Doubtful | None:
        """None: run the body. The settled step: it is committed. The doubtful one: ask the probe.

        Raises:
            StepInFlight, StepInDoubt
        """
        if type(verdict) is Claimed:
            self.step = Step(self.store, self._ledger_id(), self.claim, verdict)
            self._token = current.set((id(self.store), verdict.lsn))
            return None
        if type(verdict) is Committed:
            return verdict.settled
        if type(verdict) is InFlight:
            raise in_flight(verdict)
        assert type(verdict) is Doubtful
        if self.rules.probe is None:
            raise in_doubt(verdict)
        return verdict

    def question(self, doubtful: Doubtful) -> DoubtfulStep:
        """What the probe is asked."""
        step = doubtful.step
        scope = step.run if step.scope == "run" else ""
        key = idempotency_key(self._ledger_id(), scope, step.name, step.key, step.lsn)
        return DoubtfulStep(report_of(step, doubtful.fate), key)

    def finding(self, doubtful: Doubtful, found: Any) -> Settle:
        """What the probe's answer puts on record.

        Raises:
            StepInDoubt: it does not know.
            UsageError: it answered something else.
        """
        if isinstance(found, Happened):
            outcome: Any = msgspec.structs.replace(outcome_of(found.result)[0], probed=True)
        elif isinstance(found, NotHappened):
            outcome = Aborted(reason="the probe found that it did not happen", probed=True)
        elif found is None:
            raise in_doubt(doubtful)
        else:
            raise UsageError(
                f"a probe returns Happened(result), NOT_HAPPENED or None, not {type(found).__name__}",
                hint="The step is still in doubt.",
            )
        return Settle(lsn=doubtful.step.lsn, outcome=outcome)

    # --- leaving ------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """The body is over, whatever comes."""
        token, self._token = self._token, None
        if token is not None:
            try:
                current.reset(token)
            except ValueError:
                current.set(None)

    def ending(self, error: BaseException | None, result: Any) -> tuple[Settle, LedgerError | None]:
        """What to record for a body that ended so, and the error that its caller gets once that is durable."""
        step = self.step
        assert step is not None
        refusal: LedgerError | None = None
        if error is None:
            outcome, refusal = outcome_of(result, shown(step.name, step.key))
        elif (isinstance(error, StepAborted) and error.__dict__.get("lsn") == step.lsn) or isinstance(
            error, self.rules.aborts_on
        ):
            outcome = Aborted(reason=_reason(error))
        else:
            outcome = Uncertain(failure=failure_of(error))
        return Settle(lsn=step.lsn, outcome=outcome, riding=self.claim.idempotent), refusal


def in_flight(verdict: InFlight) -> StepInFlight:
    step, fate = verdict.step, verdict.fate
    by = step.by if step.lease is None else None
    return StepInFlight(
        f"{shown(step.name, step.key)} is in flight since {step.started} (LSN {step.lsn}): {fate.how}",
        hint="Try again when it is done.",
        pid=by.pid if by is not None else None,
        host=step.by.host if step.by is not None else None,
        since=step.started,
        step=report_of(step, fate),
    )


def in_doubt(verdict: Doubtful) -> StepInDoubt:
    step, fate = verdict.step, verdict.fate
    report = report_of(step, fate)
    lines = resolve_lines(report)
    mark = f"; last mark: {shown(step.marks[-1].label, None)}" if step.marks else ""
    failed = f"; it ended with {shown(step.failure.type, step.failure.message)}" if step.failure else ""
    return StepInDoubt(
        f"{shown(step.name, step.key)} was started {step.started} (LSN {step.lsn}, attempt {step.attempt}) and never "
        f"committed: {fate.how}{failed}{mark}. It may or may not have happened.",
        hint="Look whether it happened, then one of:\n  " + "\n  ".join(lines),
        step=report,
        resolve=lines,
    )


def committed(settled: Settled, result: Any) -> StepCommitted:
    return StepCommitted(
        f"{shown(settled.name, settled.key)} is committed (LSN {settled.lsn}): its body does not run again",
        hint="To pass over it: with ledger.skip_committed(), ledger.step(...)",
        result=result,
        lsn=settled.lsn,
    )


def outcome_of(result: Any, what: str = "the step") -> tuple[ItHappened, ResultNotStored | None]:
    """The commit of a result; one that cannot be stored is committed without it, and its caller is told."""
    if result is None:
        return ItHappened(), None
    try:
        stored = values.encode(result)
    except values.Unstorable as error:
        reason = str(error)
        return ItHappened(unstored=reason), not_stored(what, reason)
    return ItHappened(result=Payload(stored.json, stored.typed)), None


def not_stored(what: str, reason: str) -> ResultNotStored:
    return ResultNotStored(
        f"{what} is committed, and its result is not on record: {reason}",
        hint="It happened and is not run again. Return something that can be stored, or nothing.",
    )


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
    except Exception:  # whatever a foreign __str__ does, the doubt must be recorded
        return "(its message cannot be shown)"
    return text.encode("utf-8", "backslashreplace").decode()


def _reason(error: BaseException) -> str:
    if isinstance(error, StepAborted):
        return str(error.__dict__.get("reason", ""))
    return f"{_type_name(error)}: {_message(error)}"


class StepBlock:
    """``ledger.step(...)``: a context manager for one block, sync or async; ``ledger.py`` makes a decorator of it too."""

    def __init__(self, store: Store, ledger_id: Any, skips: Skips, make_claim: Any, rules: Rules) -> None:
        self._store = store
        self._ledger_id = ledger_id
        self._skips = skips
        self._make_claim = make_claim
        self._rules = rules
        self._attempts: list[Attempt] = []

    def _enter(self, frame: FrameType) -> Step:
        skip = self._skips.take(frame)
        attempt = Attempt(self._store, self._ledger_id, self._make_claim(), self._rules)
        settled = enter(attempt)
        if settled is not None:
            raise self._refusal(settled, skip)
        self._attempts.append(attempt)
        assert attempt.step is not None
        return attempt.step

    def _refusal(self, settled: Settled, skip: Any) -> StepCommitted:
        try:
            result = result_of(self._store, settled)
        except ResultNotStored:
            result = None
        refusal = committed(settled, result)
        if skip is not None:
            skip.caught = refusal
        return refusal

    def __enter__(self) -> Step:
        return self._enter(calling_frame(1))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        attempt = self._attempts.pop()
        assert attempt.step is not None
        leave(attempt, error, attempt.step.result)

    def __aenter__(self) -> Any:
        return self._aenter(calling_frame(1))

    async def _aenter(self, frame: FrameType) -> Step:
        from runledger.waiting import enter_async

        skip = self._skips.take(frame)
        attempt = Attempt(self._store, self._ledger_id, self._make_claim(), self._rules)
        settled = await enter_async(attempt)
        if settled is not None:
            raise self._refusal(settled, skip)
        self._attempts.append(attempt)
        assert attempt.step is not None
        return attempt.step

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from runledger.waiting import leave_async

        attempt = self._attempts.pop()
        assert attempt.step is not None
        await leave_async(attempt, error, attempt.step.result)


def enter(attempt: Attempt) -> Settled | None:
    """Claim the step for the calling thread: None when its body is to run now, else the committed step."""
    store = attempt.store
    try:
        while True:
            found = attempt.admit(store.claim(attempt.claim))
            if type(found) is not Doubtful:
                return found
            try:
                answer = attempt.rules.probe(attempt.question(found))
            except Exception as error:
                raise in_doubt(found) from error
            try:
                store.settle(attempt.finding(found, answer))
            except LeaseLapsed:
                continue
    except BaseException as error:
        if not isinstance(error, LedgerError):
            store.withdraw(attempt.claim)
        attempt.leave()
        raise


def leave(attempt: Attempt, error: BaseException | None, result: Any) -> None:
    """Record how the body ended; durable on return. An error of the body stays the one that its caller sees."""
    attempt.leave()
    settle, refusal = attempt.ending(error, result)
    store = attempt.store
    try:
        store.settle(settle)
    except BaseException as failed:
        store.forget(settle.lsn)
        if error is None:
            raise
        error.add_note(f"runledger: this could not be recorded, the step is in doubt: {failed}")
        event("error", "step.outcome_not_recorded", lsn=settle.lsn, reason=type(failed).__name__)
    if refusal is not None:
        raise refusal
