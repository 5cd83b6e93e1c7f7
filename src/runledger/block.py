"""A step as a block: ``with`` and ``async with``."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import get_ident
from types import FrameType, TracebackType
from typing import Any

from runledger.attempt import Attempt, Rules, enter, leave, withdraw
from runledger.errors import ResultNotStored, StepCommitted, UsageError
from runledger.outcome import result_of
from runledger.refusals import committed
from runledger.skip import SkipCommitted, Skips, calling_frame
from runledger.step import AsyncStep, Step
from runledger.store import Claim, Store
from runledger.view import Settled

__all__ = ["StepBlock"]


class StepBlock(ABC):
    """``ledger.step(...)``: a context manager for one block, sync or async; ``ledger.py`` makes a decorator of
    it too."""

    __slots__ = ("_attempts", "_ledger_id", "_rules", "_skips", "_store")

    def __init__(self, store: Store, ledger_id: Callable[[], str], skips: Skips, rules: Rules) -> None:
        self._store = store
        self._ledger_id = ledger_id
        self._skips = skips
        self._rules = rules
        self._attempts: list[tuple[Any, Attempt]] = []

    @abstractmethod
    def _make_claim(self) -> Claim:
        """What the block claims."""

    def _enter(self, frame: FrameType | None) -> Step:
        skip = None if frame is None else self._skips.take(frame)
        attempt = Attempt(self._store, self._ledger_id, self._make_claim(), self._rules)
        mine = (_whoever(), attempt)
        try:
            settled = enter(attempt)
            if settled is not None:
                raise self._refusal(settled, skip)
            self._attempts.append(mine)
        except BaseException:
            if attempt.begun:
                withdraw(attempt)
            if mine in self._attempts:
                self._attempts.remove(mine)
            raise
        assert attempt.step is not None
        return attempt.step

    def _refusal(self, settled: Settled, skip: SkipCommitted | None) -> StepCommitted:
        try:
            result = result_of(self._store, settled)
        except ResultNotStored:
            result = None
        refusal = committed(settled, result)
        if skip is not None:
            skip.caught = refusal
        return refusal

    def _last(self) -> Attempt:
        """The attempt that ends now: one object may be in the blocks of several threads and tasks at once. A block that
        is left by another than entered it, as a stack may be, ends the last one."""
        open_ones = list(self._attempts)
        if not open_ones:
            raise UsageError("this step is left more often than it was entered")
        last = open_ones[-1]
        if len(open_ones) > 1:
            here = _whoever()
            last = next((one for one in reversed(open_ones) if one[0] == here), last)
        self._attempts.remove(last)
        return last[1]

    def __enter__(self) -> Step:
        return self._enter(calling_frame(1) if self._skips.waiting else None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        attempt = self._last()
        assert attempt.step is not None
        leave(attempt, error, attempt.step.result)

    def __aenter__(self) -> Any:
        return self._aenter(calling_frame(1) if self._skips.waiting else None)

    async def _aenter(self, frame: FrameType | None) -> Step:
        from runledger.waiting import enter_async

        skip = None if frame is None else self._skips.take(frame)
        attempt = Attempt(self._store, self._ledger_id, self._make_claim(), self._rules, AsyncStep)
        settled = await enter_async(attempt)
        if settled is not None:
            raise self._refusal(settled, skip)
        self._attempts.append((_whoever(), attempt))
        assert attempt.step is not None
        return attempt.step

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from runledger.waiting import leave_async

        attempt = self._last()
        assert attempt.step is not None
        await leave_async(attempt, error, attempt.step.result)


def _whoever() -> Any:
    """The task that is running, else the thread."""
    current_task = getattr(sys.modules.get("asyncio"), "current_task", None)
    if current_task is not None:  # another thread may be in the middle of importing it
        try:
            task = current_task()
        except RuntimeError:  # no loop here
            task = None
        if task is not None:
            return task
    return get_ident()
