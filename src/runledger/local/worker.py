"""One thread for what no caller waits for: leading batches of asyncio tasks, and late syncs. Started when
first needed."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from runledger.log import event

__all__ = ["Worker"]


class Worker:
    """Runs calls one after the other on a daemon thread, and others at a later time."""

    def __init__(self) -> None:
        # Held by itself: a condition's own entry is Python, where a handler may come between taking it and the block.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._calls: deque[Callable[[], None]] = deque()
        self._later: dict[Callable[[], None], float] = {}
        self._thread: threading.Thread | None = None
        self._ended = False

    def call(self, call: Callable[[], None]) -> None:
        """Run ``call`` soon; it must not raise."""
        with self._lock:
            self._calls.append(call)
            self._wake()

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Run ``call`` in so many seconds, unless it is due already."""
        if call in self._later:
            return
        with self._lock:
            self._later[call] = time.monotonic() + seconds
            self._wake()

    def _wake(self) -> None:
        # An interrupt in the middle of starting it may leave a thread that never runs.
        if self._thread is None or not (self._ended or self._thread.is_alive()):
            thread = threading.Thread(target=self._run, name="runledger-worker", daemon=True)
            thread.start()
            self._thread = thread
        self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._lock:
                call = self._next()
                while call is None:
                    if self._ended:
                        return
                    wait = min(self._later.values()) - time.monotonic() if self._later else None
                    self._changed.wait(wait)
                    call = self._next()
            try:
                call()
            except Exception as error:  # noqa: BLE001  # a call that fails must not take the thread from those after it
                event("error", "worker.call_failed", reason=repr(error))

    def _next(self) -> Callable[[], None] | None:
        if self._calls:
            return self._calls.popleft()
        now = time.monotonic()
        for call, due in self._later.items():
            if self._ended or due <= now:
                del self._later[call]
                return call
        return None

    def end(self) -> None:
        """Run what is left and let the thread go; called from another thread than its own."""
        with self._lock:
            self._ended = True
            thread = self._thread
            self._changed.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
