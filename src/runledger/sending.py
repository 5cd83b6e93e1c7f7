"""A request of an asyncio task on its way to the store, and its answer.

A request that was sent is not taken back by a cancellation: its answer is waited for first, and then the cancellation
goes on. So it is always known what was recorded.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

from runledger.store import Request, Store

__all__ = ["Answer", "Done", "LateCancel", "answer", "is_in_loop", "send", "sent"]


class LateCancel(Exception):
    """The waiting task was cancelled; the request went through all the same."""

    def __init__(self, error: BaseException | None, cancelled: asyncio.CancelledError) -> None:
        super().__init__()
        self.error = error
        self.cancelled = cancelled


class Answer(asyncio.Future[Any]):
    """The store's answer on its way. It cannot be cancelled: a task that waits for it and is cancelled learns the
    answer first, and then that it was cancelled."""

    def cancel(self, msg: Any = None) -> bool:  # noqa: ARG002  # the name is asyncio's
        """Refuse; the waiting task is cancelled when the answer is there."""
        return False


def is_in_loop() -> bool:
    """Whether the calling thread runs an event loop just now."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Done:
    """An answer that is there; it can be awaited like one that is not, or left."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Generator[None, None, Any]:
        return self._value
        yield


def sent(store: Store, request: Request) -> Answer:
    """The store's answer to ``request``, which is on its way."""
    loop = asyncio.get_running_loop()
    here = threading.get_ident()
    future = Answer(loop=loop)

    def set_answer(got: Any, error: BaseException | None) -> None:
        if future.done():  # told again: whoever told it was interrupted right after
            return
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


async def send(store: Store, request: Request) -> Any:
    """The answer, awaited to the end. Raises LateCancel when the task was cancelled meanwhile."""
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
        raise LateCancel(future.exception(), cancelled)
    return future.result()


async def answer(store: Store, request: Request) -> Any:
    """What the store answers to ``request``, or the error it raises."""
    try:
        return await send(store, request)
    except LateCancel as late:
        raise late.cancelled from None
