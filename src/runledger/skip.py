"""``with ledger.skip_committed(), ledger.step(...)``: the block is skipped when its step is committed.

A ``with`` body cannot be skipped by its own manager: only an exception raised on entering, and suppressed by a manager
further out, does that. So this one suppresses exactly one exception: the ``StepCommitted`` that the first step entered
from the same frame raises on entering. The frame is what ties the two together. A step in a called function or further
inside has another frame or is not the first, and whatever else is raised passes.
"""

from __future__ import annotations

import contextlib
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any, Self

from runledger.errors import StepCommitted

__all__ = ["SkipCommitted", "Skips", "calling_frame"]

_CONTEXTLIB = contextlib.__file__


def calling_frame(depth: int) -> FrameType:
    """The frame that entered a context manager, past the exit stacks of contextlib; ``depth`` as for ``sys._getframe``,
    counted from the caller."""
    frame = sys._getframe(depth + 1)  # noqa: SLF001  # frames are what ties a skip to its step
    while _of_contextlib(frame.f_code) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _of_contextlib(code: CodeType) -> bool:
    return code.co_filename == _CONTEXTLIB


class Skips:
    """The skips of one ledger that are ``waiting`` for their step, by the frame that entered them."""

    def __init__(self) -> None:
        self.waiting: dict[int, list[SkipCommitted]] = {}

    def add(self, skip: SkipCommitted, frame: FrameType) -> None:
        """``skip`` waits for the first step that ``frame`` enters."""
        self.waiting.setdefault(id(frame), []).append(skip)

    def take(self, frame: FrameType) -> SkipCommitted | None:
        """The innermost skip of this frame that has seen no step yet; from now on it has."""
        waiting = self.waiting.get(id(frame))
        if not waiting:
            return None
        skip = waiting.pop()
        if not waiting:
            del self.waiting[id(frame)]
        return skip

    def drop(self, skip: SkipCommitted, frame: FrameType) -> None:
        """``skip`` ended; no step took it."""
        waiting = self.waiting.get(id(frame), [])
        if skip in waiting:
            waiting.remove(skip)
            if not waiting:
                del self.waiting[id(frame)]


class SkipCommitted:
    """See the module. ``skipped`` and ``result`` tell afterwards whether the block was skipped, and with what
    result."""

    def __init__(self, skips: Skips) -> None:
        self.skipped = False
        self.result: Any = None
        self._skips = skips
        self._frame: FrameType | None = None
        self.caught: StepCommitted | None = None

    def _wait(self, frame: FrameType) -> Self:
        self._frame = frame
        self.skipped, self.result, self.caught = False, None, None
        self._skips.add(self, frame)
        return self

    def _end(self, error: BaseException | None) -> bool:
        frame, self._frame = self._frame, None
        if frame is not None:
            self._skips.drop(self, frame)
        if error is None or error is not self.caught:
            return False
        self.skipped, self.result = True, error.__dict__["result"]
        self.caught = None
        return True

    def __enter__(self) -> Self:
        return self._wait(calling_frame(1))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return self._end(error)

    def __aenter__(self) -> Any:
        return _ready(self._wait(calling_frame(1)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return self._end(error)


async def _ready(value: Any) -> Any:
    return value
