"""Decorated functions: what may be decorated, and when it runs."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runledger import (
    InputsMismatch,
    Ledger,
    StepInDoubt,
    StepInFlight,
    UsageError,
)
from tests.support.tree import records


def keys(root: Path) -> list[str | None]:
    """Of all intents, in order."""
    return [one.get("key") for one in records(root) if one["t"] == "intent"]


def test_it_looks_like_the_function(ledger: Ledger) -> None:
    """Name, docstring and signature are the function's; an async one is still one."""

    def publish(slug: str, *, mode: str = "fast") -> str:
        """Publish it."""
        return slug

    async def send(slug: str) -> None:
        """Send it."""

    decorated = ledger.step("publish", key="{slug}")(publish)
    assert (decorated.__name__, decorated.__doc__) == ("publish", "Publish it.")
    assert inspect.signature(decorated) == inspect.signature(publish)
    assert inspect.iscoroutinefunction(ledger.step("send", key="{slug}")(send))


def test_methods(root: Path, ledger: Ledger) -> None:
    """Methods of an instance, of a class and of neither; a key may name ``self``."""

    class Site:
        def __init__(self, name: str) -> None:
            self.name = name

        @ledger.step("publish", key="{self.name}/{slug}")
        def publish(self, slug: str) -> str:
            return f"{self.name}: {slug}"

        @classmethod
        @ledger.step("count", key="{slug}")
        def count(cls, slug: str) -> str:
            return f"{cls.__name__} {slug}"

        @staticmethod
        @ledger.step("ping", key="{slug}")
        def ping(slug: str) -> str:
            return slug

    one, two = Site("one"), Site("two")
    assert [one.publish("a"), two.publish("a"), Site("one").publish("a")] == ["one: a", "two: a", "one: a"]
    assert [Site.count("a"), one.count("a"), Site.ping("a"), one.ping("a")] == ["Site a", "Site a", "a", "a"]
    assert keys(root) == ["one/a", "two/a", "a", "a"]


def test_a_partial_and_a_callable_object(ledger: Ledger) -> None:
    """Whatever can be called may be a step."""

    class Work:
        def __call__(self, slug: str) -> str:
            return f"called {slug}"

    def two(prefix: str, slug: str) -> str:
        return f"{prefix} {slug}"

    part = ledger.step("part", key="{slug}")(functools.partial(two, "part"))
    assert [ledger.step("call", key="{slug}")(Work())("a"), part("a"), part("a")] == [
        "called a",
        "part a",
        "part a",
    ]


def test_other_decorators_around_and_inside(ledger: Ledger) -> None:
    """A wrapper inside runs once, with the body; one outside runs at each call."""
    inside: list[int] = []
    outside: list[int] = []

    def counting(calls: list[int]) -> Callable[[Any], Any]:
        def decorate(function: Any) -> Any:
            @functools.wraps(function)
            def wrapper(*arguments: Any) -> Any:
                calls.append(1)
                return function(*arguments)

            return wrapper

        return decorate

    @counting(outside)
    @ledger.step("publish", key="{slug}")
    @counting(inside)
    def publish(slug: str) -> str:
        return slug

    assert [publish("a"), publish("a")] == ["a", "a"]
    assert (len(inside), len(outside)) == (1, 2)


def generator(slug: str) -> Iterator[str]:
    """Its body would run while it is iterated."""
    yield slug


async def async_generator(slug: str) -> AsyncIterator[str]:
    """The same."""
    yield slug


@pytest.mark.parametrize("function", [generator, async_generator, "text", None, 7, dict, "".format])
def test_what_cannot_be_a_step(ledger: Ledger, function: Any) -> None:
    """A generator's body would run outside of the step; what cannot be called, or does not tell how, has none."""
    with pytest.raises(UsageError):
        ledger.step("work", key="k1")(function)


def test_a_function_that_returns_a_generator(ledger: Ledger) -> None:
    """Its work may not have begun: refused, and in doubt."""

    @ledger.step("work", key="k1")
    def work() -> Any:
        return generator("a")

    with pytest.raises(UsageError, match="generator"):
        work()
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.status == "in_doubt"


def test_a_plain_function_that_returns_a_coroutine(root: Path, ledger: Ledger) -> None:
    """Committing it would commit what has not begun: refused, without a warning of Python's, and in doubt."""

    async def send() -> str:
        return "sent"

    @ledger.step("work", key="k1")
    def work() -> Any:
        return send()

    with pytest.raises(UsageError, match="async"):
        work()
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.status == "in_doubt"


def test_an_async_function_runs_when_it_is_awaited(root: Path, ledger: Ledger) -> None:
    """The call alone records nothing; each awaited call is an entry."""
    runs = []

    @ledger.step("work", key="{slug}")
    async def work(slug: str) -> tuple[str, ...]:
        runs.append(slug)
        return (slug,)

    waiting = work("never")
    assert not (root / ".run").exists()
    waiting.close()

    async def main() -> list[Any]:
        return [await work("a"), await work("a"), *await asyncio.gather(work("b"), work("c"))]

    assert asyncio.run(main()) == [("a",), ("a",), ("b",), ("c",)]
    assert runs == ["a", "b", "c"]


def test_recursion_with_other_keys(root: Path, ledger: Ledger) -> None:
    """Each level is a step of its own, inside of the one that called it."""

    @ledger.step("factorial", key="{n}")
    def factorial(n: int) -> int:
        return n * factorial(n - 1) if n > 1 else 1

    assert factorial(5) == 120
    assert keys(root) == ["5", "4", "3", "2", "1"]
    assert factorial(4) == 24
    intents = [one for one in records(root) if one["t"] == "intent"]
    assert len(intents) == 5
    assert [one.get("parent") for one in intents[1:]] == [one["lsn"] for one in intents[:-1]]


def test_recursion_with_the_same_key(ledger: Ledger) -> None:
    """A step cannot wait for itself: in flight, and nothing loops."""

    @ledger.step("work", key="k1")
    def work() -> None:
        work()

    with pytest.raises(StepInFlight):
        work()
    with pytest.raises(StepInDoubt, match="StepInFlight"):
        work()


def test_the_result_is_not_the_caller_s_to_change(ledger: Ledger) -> None:
    """What a caller does to what it got changes nothing for the next."""

    @ledger.step("work", key="k1")
    def work() -> dict[str, list[int]]:
        return {"a": [1]}

    for _ in range(3):
        got = work()
        assert got == {"a": [1]}
        got["a"].append(2)


def test_the_arguments_are_fingerprinted_before_the_body(ledger: Ledger) -> None:
    """A body that changes its arguments does not change what the call was made from."""

    @ledger.step("work", key="k1")
    def work(items: list[int]) -> int:
        items.append(1)
        return len(items)

    assert work([]) == 1
    assert work([]) == 1
    with pytest.raises(InputsMismatch):
        work([1])


def test_nothing_is_entered_when_the_function_is_decorated(root: Path, ledger: Ledger) -> None:
    """Importing a module full of steps records nothing."""

    @ledger.step("work", key="k1")
    def work() -> None:
        raise AssertionError("the body ran")

    assert callable(work)
    assert not (root / ".run").exists()


def test_without_a_key_it_runs_each_time(root: Path, ledger: Ledger) -> None:
    """And each time is on record."""

    @ledger.step("work")
    def work(n: int) -> int:
        return n

    assert [work(1), work(1), work(2)] == [1, 1, 2]
    assert keys(root) == [None, None, None]
    assert ledger.replay().committed == 3
