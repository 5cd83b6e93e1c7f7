"""Long work beside others who are in a hurry: it stops for a moment, often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Pace"]

WORK_S = 120e-6
"""A thread that comes back from a system call waits about as long for the interpreter's lock; a step makes some ten of
those calls."""

PAUSE_S = 20e-6
"""Asleep, and not only yielding: a thread that asks for the lock again at once gets it before the one that waits has
woken up, which then waits out the interpreter's whole switch interval."""

NAP_S = 200e-6
LONGEST_S = 10e-3
"""While others are busy with many calls in a row, up to so long at a time."""


class Pace:
    """The pace of one thread's work. Where it is the process's only thread, nothing is in its way here.

    ``busy`` says whether others are at something that takes so many system calls that all of it had better pass first.
    """

    def __init__(self, busy: Callable[[], bool] | None = None) -> None:
        self._ends = time.monotonic() + WORK_S
        self._busy = busy
        self._alone = threading.active_count() == 1

    def turn(self) -> None:
        """Between two pieces of work of some microseconds each, or after a call that kept the interpreter's lock."""
        if self._alone or time.monotonic() < self._ends:
            return
        time.sleep(PAUSE_S)
        ends = time.monotonic() + LONGEST_S
        while self._busy is not None and self._busy() and time.monotonic() < ends:
            time.sleep(NAP_S)
        self._ends = time.monotonic() + WORK_S
