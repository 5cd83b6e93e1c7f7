"""Steps of asyncio tasks: the same protocol, with the store's answers awaited, so that no sync blocks the event loop.

A request that was sent is not taken back by a cancellation: its answer is waited for first, and then the cancellation
goes on. So it is always known what was recorded.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from runledger.attempt import Attempt
from runledger.doubt import shown
from runledger.errors import LeaseLapsed
from runledger.log import event
from runledger.refusals import in_doubt
from runledger.store import Doubtful, Request, Settle, Store
from runledger.view import Settled

__all__ = ["answer", "enter_async", "leave_async", "sent"]


class _Cancelled(Exception):
    """The waiting task was cancelled; the request went through all the same."""

    def __init__(self, error: BaseException | None, cancelled: asyncio.CancelledError) -> None:
        super().__init__()
        self.error = error
        self.cancelled = cancelled


class Answer(asyncio.Future[Any]):
    """The store's answer on its way. It cannot be cancelled: a task that waits for it and is cancelled learns
    the answer
    first, and then that it was cancelled."""

    def cancel(self, msg: Any = None) -> bool:  # noqa: ARG002  # the name is asyncio's
        """Refuse; the waiting task is cancelled when the answer is there."""
        return False


def sent(store: Store, request: Request) -> Answer:
    """The store's answer to ``request``, which is on its way."""
    loop = asyncio.get_running_loop()
    here = threading.get_ident()
    future = Answer(loop=loop)

    def set_answer(got: Any, error: BaseException | None) -> None:
        if error is None:
            future.set_result(got)
        else:
            future.set_exception(error)

    def done(got: Any, error: BaseException | None) -> None:
        if threading.get_ident() == here:
            set_answer(got, error)
            return
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(set_answer, got, error)

    def soon(call: Callable[[], None]) -> None:
        if threading.get_ident() == here:
            loop.call_soon(call)
        else:
            loop.call_soon_threadsafe(call)

    store.nowait(request, done, soon)
    return future


async def _send(store: Store, request: Request) -> Any:
    future = sent(store, request)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await future
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:
            if not future.done():
                raise
    if cancelled is not None:
        raise _Cancelled(future.exception(), cancelled)
    return future.result()


async def answer(store: Store, request: Request) -> Any:
    """What the store answers to ``request``, or the error it raises."""
    try:
        return await _send(store, request)
    except _Cancelled as late:
        raise late.cancelled from None


async def enter_async(attempt: Attempt) -> Settled | None:
    """Claim the step for the calling task: None when its body is to run now, else the committed step.

    A cancellation before the body begins is an abort: it did not happen.
    """
    store = attempt.store
    try:
        while True:
            try:
                verdict = await _send(store, attempt.claim)
            except _Cancelled as late:
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
        await _send(store, settle)
    except _Cancelled as late:
        if late.error is not None:
            store.forget(settle.lsn)
        raise late.cancelled from None
