"""The protocol of one entry into a step: from the claim to the recorded outcome.

An exception proves nothing about the world. Only a return commits; only ``step.abort``, an exception that the caller
declared, or a cancellation before the body began says that nothing happened; all else leaves the step in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from weakref import ref

import msgspec

from runledger.doubt import Happened, NotHappened, report_of, shown
from runledger.errors import LeaseLapsed, LedgerError, UsageError
from runledger.interrupts import is_from_outside
from runledger.keys import idempotency_key
from runledger.log import event
from runledger.outcome import HAPPENED, failure_of, note_on, outcome_of, reason_of
from runledger.refusals import in_doubt, in_flight
from runledger.step import Body, DoubtfulStep, Step, become, current, enclosing
from runledger.store import (
    Aborted,
    Claim,
    Claimed,
    Committed,
    Doubtful,
    InFlight,
    Settle,
    Store,
    Uncertain,
    Verdict,
)
from runledger.store import Happened as ItHappened
from runledger.view import Settled

__all__ = ["Attempt", "Rules", "enter", "exception_classes", "leave", "unrecorded", "withdraw"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a call of ``ledger.step`` says beyond the identity."""

    idempotent: bool = False
    probe: Any = None
    aborts_on: tuple[type[BaseException], ...] = ()
    root: str = ""


def exception_classes(given: Any) -> tuple[type[BaseException], ...]:
    """What ``aborts_on`` is given, as ``except`` takes it. Raises UsageError for anything but exception classes."""
    classes = (given,) if isinstance(given, type) or not isinstance(given, Iterable) else tuple(given)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in classes):
        raise UsageError("aborts_on takes exception classes")
    return classes


def _declared(error: BaseException, classes: tuple[type[BaseException], ...]) -> bool:
    """Whether it is one of them, as ``except`` finds it: no class is asked, since its answer could be an exception."""
    return any(type.__subclasscheck__(kind, type(error)) for kind in classes)


class _Guard(ref["Attempt"]):
    """Lets an attempt go that is collected before its end: an interrupt may come between any two instructions, before
    the first of our own too, and whatever it cuts off is in doubt, not in flight for as long as this process lives.

    No ``__del__``: a handler that runs in one loses its exception, and each step would have one.
    """

    __slots__ = ("claim", "forget")
    forget: Callable[[Claim], None]
    claim: Claim


_guards: set[_Guard] = set()
"""Of the attempts that are under way: a weak reference that is gone itself tells nobody."""


def _collected(guard: _Guard) -> None:
    _guards.discard(guard)
    guard.forget(guard.claim)


class Attempt:
    """One entry into one step: from the claim to the recorded outcome, for every form of a step.

    The blocking and the asyncio forms differ only in who carries a request to the store, so this class makes the
    requests and takes the answers, and never waits: ``claim`` goes to ``store``, by ``rules`` it is decided what an
    exception or a doubt means, and ``step`` is what the body gets. ``begun`` while its intent is on record and nothing
    after it is.
    """

    __slots__ = (
        "__weakref__",
        "_body",
        "_guard",
        "_ledger_id",
        "_step_class",
        "begun",
        "claim",
        "rules",
        "step",
        "store",
    )

    def __init__(
        self,
        store: Store,
        ledger_id: Callable[[], str],
        claim: Claim,
        rules: Rules,
        step_class: type[Step] = Step,
    ) -> None:
        self.store = store
        self.claim = claim
        self.rules = rules
        self._ledger_id = ledger_id
        self._step_class = step_class
        self.begun = False
        self.step: Step | None = None
        self._body: Body | None = None
        guard = _Guard(self, _collected)
        guard.forget, guard.claim = store.forget, claim
        _guards.add(guard)  # before the claim: an interrupt may come as soon as it is written
        self._guard: _Guard | None = guard

    # --- entering -----------------------------------------------------------------------------------------------

    def admit(self, verdict: Verdict) -> Settled | Doubtful | None:
        """None: run the body. The settled step: it is committed. The doubtful one: ask the probe.

        Raises:
            StepInFlight, StepInDoubt
        """
        if type(verdict) is Claimed:
            self.step = step = self._step_class(self.store, self._ledger_id, self.claim, verdict)
            self.begun = True
            self._body = body = Body(self.store, step, enclosing())
            become(body)
            return None
        if type(verdict) is Committed:
            return verdict.settled
        if type(verdict) is InFlight:
            raise in_flight(verdict)
        assert type(verdict) is Doubtful
        if self.rules.probe is None:
            raise in_doubt(verdict, self.rules.root)
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
            raise in_doubt(doubtful, self.rules.root)
        else:
            raise UsageError(
                f"a probe returns Happened(result), NOT_HAPPENED or None, not {type(found).__name__}",
                hint="The step is still in doubt.",
            )
        return Settle(lsn=doubtful.step.lsn, outcome=outcome)

    # --- leaving ------------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """The body is over, whatever comes."""
        if self._body is not None:
            self._body.over = True
            if current.get() is self._body:  # else it ends out of order, or in another context
                become(enclosing())

    def let_go(self) -> None:
        """Nothing more is recorded of it: if nothing was, it is in doubt from now on."""
        self.store.forget(self.claim)
        self.ended()

    def ended(self) -> None:
        """Its end is on record, or cannot be."""
        self.begun = False
        if self._guard is not None:
            _guards.discard(self._guard)
            self._guard = None

    def ending(self, error: BaseException | None, result: Any) -> tuple[Settle, LedgerError | None]:
        """What to record for a body that ended so, and the error that its caller gets once that is durable."""
        step = self.step
        assert step is not None
        refusal: LedgerError | None = None
        outcome: ItHappened | Aborted | Uncertain
        if error is None and result is None:
            outcome = HAPPENED
        elif error is None:
            outcome, refusal = outcome_of(result, shown(step.name, step.key), self.store.result_bytes)
        elif step.aborted_by(error) or _declared(error, self.rules.aborts_on):
            outcome = Aborted(reason=reason_of(error))
        else:
            outcome = Uncertain(failure=failure_of(error))
        return Settle(lsn=step.lsn, outcome=outcome, riding=self.claim.idempotent), refusal

    def cut_off(self, error: BaseException) -> Settle:
        """What to record where the ending, or the recording of it, was interrupted."""
        assert self.step is not None
        return Settle(lsn=self.step.lsn, outcome=Uncertain(failure=failure_of(error, told=False)))


def enter(attempt: Attempt) -> Settled | None:
    """Claim the step for the calling thread: None when its body is to run now, else the committed step."""
    store = attempt.store
    try:
        while True:
            found = attempt.admit(store.claim(attempt.claim))
            if not isinstance(found, Doubtful):
                return found
            try:
                answer = attempt.rules.probe(attempt.question(found))
            except Exception as error:
                raise in_doubt(found, attempt.rules.root) from error
            try:
                store.settle(attempt.finding(found, answer))
            except LeaseLapsed:
                continue
    except BaseException:
        withdraw(attempt)  # what was claimed tells, not the class: a handler may raise an error of ours
        raise


def withdraw(attempt: Attempt) -> None:
    """It was interrupted before its body began: put on record that nothing happened."""
    attempt.leave()
    attempt.store.withdraw(attempt.claim)
    attempt.ended()


def leave(attempt: Attempt, error: BaseException | None, result: Any) -> None:
    """Record how the body ended; durable on return. An error of the body stays the one that its caller sees."""
    refusal: LedgerError | None = None
    try:
        attempt.leave()
        settle, refusal = attempt.ending(error, result)
        attempt.store.settle(settle)
        attempt.ended()
    except BaseException as failed:  # noqa: BLE001  # raised again below, or its place is taken by the body's own
        try:
            if not isinstance(failed, LedgerError) or is_from_outside(failed):
                with suppress(Exception):  # it was recorded before the interrupt, or nothing can be
                    attempt.store.settle(attempt.cut_off(error or failed))
        finally:
            attempt.let_go()
        unrecorded(attempt, error, failed)
    if refusal is not None:
        raise refusal


def unrecorded(attempt: Attempt, error: BaseException | None, failed: BaseException) -> None:
    """The outcome is not on record as it was: raise ``failed``, unless the body's own error is to be seen."""
    if error is None or (isinstance(error, Exception) and not isinstance(failed, Exception)):
        raise failed
    step = attempt.step
    assert step is not None
    note_on(
        error, f"runledger: this could not be recorded, the step is in doubt: {failure_of(failed).message}"
    )
    event(
        "error",
        "step.outcome_not_recorded",
        step=shown(step.name, step.key),
        lsn=step.lsn,
        reason=type(failed).__name__,
    )
