"""The past as plain data. Moments are seconds since the epoch, by whichever clock wrote them."""

from __future__ import annotations

from typing import Any

import msgspec

from runledger.lives import OwnerLife

__all__ = ["Attempt", "Event", "Mark", "Past", "Plan"]


class Mark(msgspec.Struct, frozen=True):
    """A breadcrumb: when, what, and the data that came with it."""

    at: float
    label: str
    data: Any = None


class Attempt(msgspec.Struct):
    """One attempt of a step.

    Attributes:
        status: ``committed``, ``aborted``, ``in_doubt``, ``in_flight``, or ``again``: in doubt, then begun again.
        saved: the moments of the checkpoints inside it.
        children: the attempts that were begun inside it.
        folded: known from the history alone, which does not tell who its parent was or whether it is idempotent.
    """

    lsn: int
    name: str
    key: str | None
    attempt: int
    owner: str
    started: float
    ended: float | None
    status: str
    idempotent: bool = False
    probed: bool = False
    external: bool = False
    parent: int | None = None
    failure: str | None = None
    marks: list[Mark] = []
    saved: list[float] = []
    children: list[Attempt] = []
    folded: bool = False
    depth: int = 0

    @property
    def seconds(self) -> float:
        """From the intent to the outcome; 0 where that is not known."""
        return 0.0 if self.ended is None else max(0.0, self.ended - self.started)

    def numbers(self, column: str) -> list[float]:
        """What its marks say under a column, as far as it is numbers."""
        values = [mark.data.get(column) for mark in self.marks if isinstance(mark.data, dict)]
        return [float(value) for value in values if type(value) is int or type(value) is float]

    def cost(self, column: str) -> float:
        """The sum of a column in the data of its marks; 0 where there is none, or less than none."""
        return max(0.0, sum(self.numbers(column)))


class Event(msgspec.Struct, frozen=True):
    """Something else that happened: ``kind`` is death, halted, resumed, started, finished, abandoned, compacted,
    sprint, torn, damage or edited."""

    at: float
    kind: str
    what: str
    lsn: int = 0


class Plan(msgspec.Struct, frozen=True):
    """How far the run is in its plan."""

    plan_id: str
    state: str
    total: int
    completed: int
    current: str | None


class Past(msgspec.Struct):
    """Everything that is still known.

    ``first`` is the LSN of the first record that is still in the journal; of what was before, ``attempts`` has the
    outcomes of keyed steps and ``deaths`` the count. ``beats`` are the moments of heartbeats, ``done`` those of what
    counts as progress: commits, completed sprints, checkpoints inside steps. ``gaps`` are the seconds between a commit
    and the same owner's next intent: after a durable commit, and (``light_gaps``) after one that needs no sync.
    """

    attempts: list[Attempt]
    owners: dict[str, OwnerLife]
    events: list[Event]
    plan: Plan | None
    first: int
    lsn: int
    deaths: int
    alive: list[str]
    unburied: list[str]
    beats: list[float]
    done: list[tuple[float, str]]
    gaps: list[float]
    light_gaps: list[float]
    riding: bool
    now: float

    @property
    def span(self) -> tuple[float, float]:
        """From the first moment that is known to the last."""
        moments = [a.started for a in self.attempts] + [e.at for e in self.events]
        moments += [a.ended for a in self.attempts if a.ended is not None]
        moments += [m for life in self.owners.values() for m in (life.first, life.last)]
        return (min(moments), max(moments)) if moments else (self.now, self.now)
