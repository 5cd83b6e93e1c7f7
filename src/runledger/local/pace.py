"""Long work beside others who are in a hurry: it stops for a moment, often."""

from __future__ import annotations

import threading
import time

__all__ = ["Pace"]

WORK_S = 150e-6
"""A thread that comes back from a system call waits about as long for the interpreter's lock; a step makes ten of
those calls, a state file's replacement some fifty."""

PAUSE_S = 20e-6
"""Asleep, and not only yielding: a thread that asks for the lock again at once gets it before the one that waits has
woken up, which then waits out the interpreter's whole switch interval."""


class Pace:
    """The pace of one thread's work. Where it is the process's only thread, nothing is in its way here."""

    def __init__(self) -> None:
        self._ends = time.monotonic() + WORK_S
        self._alone = threading.active_count() == 1

    def turn(self) -> None:
        """Between two pieces of work of some microseconds each, or after a call that kept the interpreter's lock."""
        if not self._alone and time.monotonic() >= self._ends:
            time.sleep(PAUSE_S)
            self._ends = time.monotonic() + WORK_S
