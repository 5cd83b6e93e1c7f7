"""Steps of asyncio tasks: the same protocol with the store's answers awaited; no sync blocks the event loop."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from threading import Event, Thread
from typing import Any

from runledger.attempt import Attempt, unrecorded, withdraw
from runledger.errors import LeaseLapsed, LedgerError
from runledger.refusals import in_doubt
from runledger.sending import LateCancel, answer, send
from runledger.store import Doubtful, Settle
from runledger.view import Settled

__all__ = ["enter_async", "leave_async"]

PATIENCE_S = 1.0
"""For the record of a closed coroutine: a collector may close it on the very thread that would write it."""


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
                raise in_doubt(found, attempt.rules.root) from error
            try:
                await answer(store, attempt.finding(found, said))
            except LeaseLapsed:
                continue
    except GeneratorExit:
        # The coroutine is closed: nothing can be awaited any more, and what was sent is on its way.
        Thread(target=_withdraw, args=(attempt,), name="runledger-withdrawal", daemon=True).start()
        attempt.leave()
        raise
    except BaseException:
        attempt.leave()
        raise


def _withdraw(attempt: Attempt) -> None:
    """Have the claim decided, the second time as the first, and take it back."""
    with suppress(LedgerError):
        attempt.store.claim(attempt.claim)
        withdraw(attempt)


async def leave_async(attempt: Attempt, error: BaseException | None, result: Any) -> None:
    """Record how the body ended; durable on return. An error of the body stays the one that its caller sees."""
    refusal: LedgerError | None = None
    try:
        attempt.leave()
        settle, refusal = attempt.ending(error, result)
        if isinstance(error, GeneratorExit):
            _send_off(attempt, settle)
            return
        await _settle(attempt, settle)
        attempt.ended()
    except asyncio.CancelledError:
        raise
    except BaseException as failed:  # noqa: BLE001  # raised again below, or its place is taken by the body's own
        try:
            if not isinstance(failed, LedgerError):
                _send_off(attempt, attempt.cut_off(error or failed))
        finally:
            attempt.let_go()
        unrecorded(attempt, error, failed)
    if refusal is not None:
        raise refusal


def _send_off(attempt: Attempt, settle: Settle) -> None:
    """Have it recorded by others: the coroutine is closed or interrupted, and can await nothing. It waits for them a
    while all the same, so that whoever closed it finds the step as it is."""
    over = Event()

    def done(_: Any, failed: BaseException | None) -> None:
        if failed is not None:
            attempt.let_go()
        over.set()

    attempt.store.nowait(settle, done)
    attempt.ended()
    if not over.wait(PATIENCE_S):
        attempt.let_go()


async def _settle(attempt: Attempt, settle: Settle) -> None:
    """Record it to the end, then let a cancellation through."""
    try:
        await send(attempt.store, settle)
    except LateCancel as late:
        attempt.ended()
        if late.error is not None:
            attempt.let_go()
        raise late.cancelled from None
