"""Heartbeat against progress: when the loop was turning and nothing came of it."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from runledger.granularity.estimate import quantile
from runledger.past.model import Past

__all__ = ["Stall", "stalls"]

TIMES = 5.0
"""So many times the usual pause between two signs of progress is long."""

BEYOND = 1.5
"""And no stretch is that is not so many times as long as the longest step that ever committed."""

LEAST_S = 60.0
"""And shorter than this, in seconds, nothing is."""

BEATS = 2
"""Signs of life in the later half of a stretch from which the loop is seen to turn."""


class Stall(msgspec.Struct, frozen=True):
    """A stretch without progress and with ``signs`` of life: heartbeats, intents and marks, attempts that failed."""

    start: float
    end: float
    signs: int
    open: bool


def stalls(past: Past) -> list[Stall]:
    """The stretches, in order; the last may still be going on."""
    moments = sorted(at for at, _ in past.done)
    signs = sorted(
        [*past.beats, *(a.started for a in past.attempts), *(m.at for a in past.attempts for m in a.marks)]
    )
    if not signs:
        return []
    start, end = past.span
    running = past.plan is not None and past.plan.state == "RUNNING" and bool(past.alive)
    end = max(end, past.now) if running else end
    pauses = sorted(later - before for before, later in pairwise(moments))
    steps = [attempt.seconds for attempt in past.attempts if attempt.status == "committed"]
    long = max(LEAST_S, TIMES * quantile(pauses, 0.5) if pauses else 0.0, BEYOND * max(steps, default=0.0))
    found = []
    for before, later in zip([start, *moments], [*moments, end], strict=True):
        if later - before < long:
            continue
        inside = [at for at in signs if before < at < later]
        # A step that takes long shows its signs at its beginning, and a process that is dead shows none: only one that
        # goes on showing them, and gets nowhere, is worth the alarm.
        if sum(at > (before + later) / 2 for at in inside) >= BEATS:
            found.append(Stall(before, later, len(inside), later == end and running))
    return found
