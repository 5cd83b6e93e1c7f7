"""A call that hands its work back instead of doing it is not committed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from runledger import Ledger, UsageError

effects: list[str] = []


def later() -> Iterator[str]:
    effects.append("done")
    yield "done"


async def awaited() -> str:
    effects.append("done")
    return "done"


async def streamed() -> AsyncIterator[str]:
    effects.append("done")
    yield "done"


class Called:
    """An object whose call is a generator."""

    def __call__(self) -> Iterator[str]:
        yield from later()


class Awaited:
    """An object whose call is a coroutine."""

    async def __call__(self) -> str:
        return await awaited()


@pytest.mark.parametrize(
    "function",
    [Called(), contextmanager(later), asynccontextmanager(streamed)],
    ids=["object", "context manager", "async context manager"],
)
def test_what_does_nothing_when_it_is_called(ledger: Ledger, function: Any) -> None:
    """Refused where it is decorated."""
    with pytest.raises(UsageError):
        ledger.step("work", key="k1")(function)


@pytest.mark.parametrize(
    "deferred",
    [later, streamed, awaited, contextmanager(later), Future, lambda: map(print, "ab")],
    ids=["generator", "async generator", "coroutine", "context manager", "future", "map"],
)
def test_what_was_handed_back(ledger: Ledger, deferred: Callable[[], Any]) -> None:
    """In doubt: the function around it may have done something, and the rest has not begun."""
    effects.clear()

    @ledger.step("work", key="k1")
    def work() -> Any:
        return deferred()

    with pytest.raises(UsageError, match="returned a"):
        work()
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.status == "in_doubt"
    assert effects == []


def test_a_coroutine_that_a_coroutine_hands_back(ledger: Ledger) -> None:
    """The same for an async step."""

    @ledger.step("work", key="k1")
    async def work() -> Any:
        return awaited()

    with pytest.raises(UsageError, match="coroutine"):
        asyncio.run(work())


def test_an_object_whose_call_is_a_coroutine(ledger: Ledger) -> None:
    """It is an async step like a function."""
    work = ledger.step("work", key="k1")(Awaited())
    assert [asyncio.run(work()), asyncio.run(work())] == ["done", "done"]
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.attempt == 1
