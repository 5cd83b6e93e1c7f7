"""A bar on standard error while something takes long; nothing where that is no terminal."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import TracebackType
from typing import Self

__all__ = ["Progress"]

_CELLS = 28
_PAUSE_S = 0.1


class Progress:
    """``with Progress("measuring") as told: told(0.3, "12 runs")``: the share that is done, and a word on it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._drawn = 0.0
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._began = time.monotonic()

    def __call__(self, share: float, word: str = "") -> None:
        """Draw it, unless it was drawn just now."""
        now = time.monotonic()
        with self._lock:
            if not self._shown or now - self._drawn < _PAUSE_S:
                return
            self._drawn = now
            full = round(_CELLS * share)
            bar = "━" * full + "╌" * (_CELLS - full)
            spent = now - self._began
            sys.stderr.write(f"\r{self._what} {bar} {share:4.0%} {spent:4.0f} s  {word}\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
