"""``ledger.every``: a loop inside an idempotent step, saved as often as is cheapest.

A controller dies with its process. What it knows is read off the journal at each start: how long the owners before
lived, and which of them died. What a save costs it measures on its own saves.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from runledger.clock import parse_duration
from runledger.errors import UsageError
from runledger.granularity import Pacer
from runledger.lives import lives_of, owners_of, survived
from runledger.record import Intent, Record
from runledger.step import AsyncStep, Step, enclosing
from runledger.store import Store
from runledger.view import Damage

__all__ = ["AsyncPace", "Over", "Pace", "pace"]

T = TypeVar("T")


class Pace:
    """The pace of one loop in one step's body; not to be shared between threads.

    Attributes:
        state: what the attempt before had saved by ``over(…, state=…)``; None on a first attempt.
        done: how many items of ``over`` an attempt before had saved as done.
    """

    def __init__(self, step: Step, pacer: Pacer, lived: float) -> None:
        self._step = step
        self._pacer = pacer
        self._born = time.monotonic() - lived
        self.done = 0
        self.state: Any = None
        saved = step.resumed_from
        self._otherwise = saved is not None and not _is_of_a_loop(saved)
        if saved is not None and not self._otherwise:
            self.done, self.state = saved["done"], saved["state"]
        self._pacer.begin(self._now())

    def _now(self) -> float:
        return time.monotonic() - self._born

    @property
    def interval(self) -> float:
        """Seconds of work between two saves, as now recommended; 0 while nothing is known: the next boundary saves."""
        return self._pacer.interval

    @property
    def record_cost(self) -> float | None:
        """Seconds that a save takes; None before the first."""
        return self._pacer.record_cost

    def due(self) -> bool:
        """Whether to save at this boundary between two units of work; ask once at each."""
        return self._pacer.due(self._now())

    def save(self, state: Any) -> Any:
        """At each boundary between two units of work: ``step.checkpoint(state)`` if it is due.

        ``state``, or what it returns if it can be called, comes back as ``step.resumed_from``. In an async step, await
        it. Returns whether it was saved; it is durable then.
        """
        if not self.due():
            return False
        started = self._now()
        self._step.checkpoint(state() if callable(state) else state)
        self._saved(started)
        return True

    def _saved(self, started: float) -> None:
        now = self._now()
        self._pacer.recorded(now, now - started)

    def over(self, items: Iterable[T] | AsyncIterable[T], state: Callable[[], Any] | None = None) -> Over[T]:
        """``items`` without those that an attempt before had saved as done; the same items in the same order each time.

        An item is done when the loop asks for the next. ``state`` is called at each save, and the next attempt finds
        what it returned as ``pace.state``.

        Raises:
            UsageError: the step was saved otherwise before.
        """
        if self._otherwise:
            raise UsageError(
                f"{self._step.name}: an earlier attempt saved its state by itself, and not by a loop over items",
                hint="Use pace.save(state) with step.resumed_from, or another key.",
            )
        return Over(self, items, state)


class AsyncPace(Pace):
    """The pace of a loop in an async step: ``await pace.save(state)``, ``async for item in pace.over(items)``."""

    async def save(self, state: Any) -> Any:
        """As in ``Pace``."""
        if not self.due():
            return False
        started = self._now()
        await cast("AsyncStep", self._step).checkpoint(state() if callable(state) else state)
        self._saved(started)
        return True


class Over(Generic[T]):
    """A loop over items that is saved at its pace."""

    def __init__(
        self, pace: Pace, items: Iterable[T] | AsyncIterable[T], state: Callable[[], Any] | None
    ) -> None:
        self._pace = pace
        self._items = items
        self._state = state

    def _saving(self) -> dict[str, Any]:
        return {"done": self._pace.done, "state": self._state() if self._state is not None else None}

    def __iter__(self) -> Iterator[T]:
        if isinstance(self._pace, AsyncPace) or not isinstance(self._items, Iterable):
            raise UsageError("in an async step, or over async items: `async for`")
        pace = self._pace
        for item in islice(self._items, pace.done, None):
            yield item
            pace.done += 1
            pace.save(self._saving)

    async def __aiter__(self) -> AsyncIterator[T]:
        if not isinstance(self._pace, AsyncPace):
            raise UsageError("`async for` needs an async step: `async with ledger.step(…)`")
        pace, skipped = self._pace, self._pace.done
        async for item in _async(self._items):
            if skipped:
                skipped -= 1
                continue
            yield item
            pace.done += 1
            await pace.save(self._saving)


def _is_of_a_loop(saved: Any) -> bool:
    return type(saved) is dict and saved.keys() == {"done", "state"} and type(saved["done"]) is int


async def _async(items: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


def pace(store: Store, step: Step | None, seconds: float | str | None, at_most: float | str | None) -> Pace:
    """The pace for ``step``, by default the one whose body this is.

    Raises:
        UsageError: there is no such step, or it is not idempotent.
    """
    if step is None:
        body = enclosing()
        step = body.step if body is not None and body.store is store else None
    if not isinstance(step, Step):
        raise UsageError("ledger.every needs a step: call it in the step's body, or pass step=…")
    if not step.idempotent:
        raise UsageError(
            f"{step.name} is not idempotent: nobody would take up what it saved",
            hint="Say idempotent=True where repeating the part since the last save is harmless.",
        )
    lives, lived = _learnt(store.records(), step.lsn)
    pacer = Pacer(lives, first=_duration(seconds), at_most=_duration(at_most))
    return (AsyncPace if isinstance(step, AsyncStep) else Pace)(step, pacer, lived)


def _learnt(records: Iterable[Record | Damage], mine: int) -> tuple[list[Any], float]:
    """The lives before this one, and how long it has lasted so far."""
    me: list[str] = []

    def watched() -> Iterator[Record | Damage]:
        for item in records:
            if type(item) is Intent and item.lsn == mine:
                me.append(item.owner)
            yield item

    owners = owners_of(watched())
    here = me[0] if me else ""
    return lives_of(owners.values(), here), survived(owners, here, time.time())


def _duration(seconds: float | str | None) -> float | None:
    found = parse_duration(seconds) if isinstance(seconds, str) else seconds
    if found is not None and (type(found) not in {int, float} or not found > 0):
        raise UsageError(f"{seconds!r} is not a number of seconds above 0")
    return found
