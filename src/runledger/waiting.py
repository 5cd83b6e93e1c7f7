"""Steps of asyncio tasks: the same protocol with the store's answers awaited; no sync blocks the event loop."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from runledger.attempt import Attempt
from runledger.doubt import shown
from runledger.errors import LeaseLapsed
from runledger.log import event
from runledger.refusals import in_doubt
from runledger.sending import LateCancel, answer, send
from runledger.store import Doubtful, Settle, Store
from runledger.view import Settled

__all__ = ["enter_async", "leave_async"]


async def enter_async(attempt: Attempt) -> Settled | None:
    """Claim the step for the calling task: None when its body is to run now, else the committed step.

    A cancellation before the body begins is an abort: it did not happen.
    """
    store = attempt.store
    try:
        while True:
            try:
                verdict = await send(store, attempt.claim)
            except LateCancel as late:
                await asyncio.to_thread(store.withdraw, attempt.claim)
                raise late.cancelled from None
            found = attempt.admit(verdict)
            if not isinstance(found, Doubtful):
                return found
            try:
                said = attempt.rules.probe(attempt.question(found))
                if inspect.isawaitable(said):
                    said = await said
            except Exception as error:
                raise in_doubt(found) from error
            try:
                await answer(store, attempt.finding(found, said))
            except LeaseLapsed:
                continue
    except BaseException:
        attempt.leave()
        raise


async def leave_async(attempt: Attempt, error: BaseException | None, result: Any) -> None:
    """Record how the body ended; durable on return. An error of the body stays the one that its caller sees."""
    attempt.leave()
    settle, refusal = attempt.ending(error, result)
    try:
        await _settle(attempt.store, settle)
    except asyncio.CancelledError:
        raise
    except BaseException as failed:
        attempt.store.forget(settle.lsn)
        if error is None:
            raise
        step = attempt.step
        error.add_note(f"runledger: this could not be recorded, the step is in doubt: {failed}")
        event(
            "error",
            "step.outcome_not_recorded",
            step=shown(step.name, step.key) if step else "",
            lsn=settle.lsn,
        )
    if refusal is not None:
        raise refusal


async def _settle(store: Store, settle: Settle) -> None:
    """Record it to the end, then let a cancellation through."""
    try:
        await send(store, settle)
    except LateCancel as late:
        if late.error is not None:
            store.forget(settle.lsn)
        raise late.cancelled from None
