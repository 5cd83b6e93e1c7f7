"""The work of the experiment, in a process of its own that may be killed at any moment."""

from __future__ import annotations

import mmap
import os
import struct
import time
from typing import NamedTuple

from runledger.ledger import Ledger
from runledger.pacing import Pace
from runledger.step import Step

__all__ = ["Seen", "Shared", "child"]

_READY = struct.Struct("dd")
_KEPT = struct.Struct("dddd")


class Seen(NamedTuple):
    """What a child had done when it ended; moments are of the machine's monotonic clock, 0 for never.

    ``resumed`` is how many segments the ledger had when it began, ``overhead`` the seconds beyond their work that
    ``records`` segments took until they were durable.
    """

    ready: float
    resumed: int
    kept: float
    done: int
    records: int
    overhead: float


class Shared:
    """Memory that a child writes and its parent reads after the child's death."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)

    def clear(self) -> None:
        """Before a new child."""
        self._memory[: _READY.size + _KEPT.size] = bytes(_READY.size + _KEPT.size)

    def ready(self, resumed: int) -> float:
        """The child says that its restart is over: the moment."""
        now = time.monotonic()
        _READY.pack_into(self._memory, 0, now, resumed)
        return now

    def kept(self, at: float, done: int, records: int, overhead: float) -> None:
        """The child says what is durable."""
        _KEPT.pack_into(self._memory, _READY.size, at, done, records, overhead)

    def seen(self) -> Seen:
        """What the child said last."""
        ready, resumed = _READY.unpack_from(self._memory, 0)
        at, done, records, overhead = _KEPT.unpack_from(self._memory, _READY.size)
        return Seen(ready, int(resumed), at, int(done), int(records), overhead)

    def close(self) -> None:
        """Let the memory go."""
        self._memory.close()


def child(root: str, lengths: list[float], *, every: bool, shared: Shared, tell: int) -> None:
    """Go on with the work where the ledger says that it was left; says on ``tell`` when the restart is over."""
    with Ledger.open(root) as ledger, ledger.step("work", key="all", idempotent=True) as step:
        pace = ledger.every() if every else None
        _work(step, pace, lengths, shared, tell)


def _work(step: Step, pace: Pace | None, lengths: list[float], shared: Shared, tell: int) -> None:
    done = int(step.resumed_from or 0)
    records, overhead, work = 0, 0.0, 0.0
    begun = shared.ready(done)
    os.write(tell, b"r")
    for place in range(done, len(lengths)):
        work += lengths[place]
        # Until the end of the segment's work, not for its length: a late awakening is not added up.
        rest = begun + work - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        if pace is None or place + 1 == len(lengths):
            step.checkpoint(place + 1)
        elif not pace.save(place + 1):
            continue
        now = time.monotonic()
        records, overhead = records + 1, overhead + now - begun - work
        shared.kept(now, place + 1, records, overhead)
        begun, work = now, 0.0
