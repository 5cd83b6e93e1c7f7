"""The protocol of one entry into a step: from the claim to the recorded outcome.

An exception proves nothing about the world. Only a return commits; only ``step.abort``, an exception that the caller
declared, or a cancellation before the body began says that nothing happened; all else leaves the step in doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from typing import Any

import msgspec

from runledger.doubt import Happened, NotHappened, report_of, shown
from runledger.errors import LeaseLapsed, LedgerError, StepAborted, UsageError
from runledger.keys import idempotency_key
from runledger.log import event
from runledger.outcome import failure_of, outcome_of, reason_of
from runledger.refusals import in_doubt, in_flight
from runledger.step import DoubtfulStep, Step, current
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

__all__ = ["Attempt", "Rules", "enter", "leave"]


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What a call of ``ledger.step`` says beyond the identity."""

    idempotent: bool = False
    probe: Any = None
    aborts_on: tuple[type[BaseException], ...] = ()


class Attempt:
    """One entry into one step: from the claim to the recorded outcome, for every form of a step.

    The blocking and the asyncio forms differ only in who carries a request to the store, so this class makes the
    requests and takes the answers, and never waits.
    """

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
        self.step: Step | None = None
        self._token: Token[tuple[int, int, Step] | None] | None = None

    # --- entering -----------------------------------------------------------------------------------------------

    def admit(self, verdict: Verdict) -> Settled | Doubtful | None:
        """None: run the body. The settled step: it is committed. The doubtful one: ask the probe.

        Raises:
            StepInFlight, StepInDoubt
        """
        if type(verdict) is Claimed:
            self.step = self._step_class(self.store, self._ledger_id(), self.claim, verdict)
            self._token = current.set((id(self.store), verdict.lsn, self.step))
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
        outcome: ItHappened | Aborted | Uncertain
        if error is None:
            outcome, refusal = outcome_of(result, shown(step.name, step.key), self.store.result_bytes)
        elif (isinstance(error, StepAborted) and error.__dict__.get("lsn") == step.lsn) or isinstance(
            error, self.rules.aborts_on
        ):
            outcome = Aborted(reason=reason_of(error))
        else:
            outcome = Uncertain(failure=failure_of(error))
        return Settle(lsn=step.lsn, outcome=outcome, riding=self.claim.idempotent), refusal


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
