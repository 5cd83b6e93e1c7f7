"""What is known of the steps of one name: how long they take, between which boundaries, what the ledger costs them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from runledger.advice.cost import RecordCost
from runledger.granularity import Spread, spread
from runledger.past.model import Attempt, Past

__all__ = ["Group", "groups_of"]


class Group(msgspec.Struct, frozen=True):
    """The committed attempts of one name.

    ``lengths`` are the seconds between two boundaries (intent, checkpoint, a nested step, commit), what one death can
    take; of attempts that were cut off, those up to their last checkpoint. ``ledger`` is the seconds that the ledger
    takes for each attempt, None where a record's cost is not known. ``cost`` is what one attempt costs in the asked
    unit. ``idempotent`` is None where only the history knows the step.
    """

    name: str
    seconds: Spread
    lengths: list[float]
    idempotent: bool | None
    saves: int
    nested: bool
    ledger: float | None
    cost: float

    @property
    def work(self) -> float:
        """Seconds of its own in all, without those of nested steps."""
        return math.fsum(self.lengths)

    @property
    def at_stake(self) -> float:
        """Half the sum of the squared lengths: over a time, what a death at a random moment of it takes on average."""
        return math.fsum(length * length for length in self.lengths) / 2

    @property
    def density(self) -> float:
        """What a second of it costs in the asked unit."""
        return self.cost / self.seconds.mean if self.seconds.mean else 0.0

    @property
    def body(self) -> float:
        """Seconds of one attempt without the sync of its intent, which its time includes."""
        return max(0.0, self.seconds.mean - (self.ledger or 0.0) / 2)

    @property
    def ledger_share(self) -> float | None:
        """The part of its time that the ledger takes."""
        if self.ledger is None:
            return None
        whole = self.body + self.ledger
        return self.ledger / whole if whole else 0.0


def groups_of(past: Past, cost: RecordCost, column: str | None) -> list[Group]:
    """One group for each name with a committed attempt whose time is known, the longest work first."""
    by_name: dict[str, list[Attempt]] = defaultdict(list)
    cut_off: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in past.attempts:
        if attempt.status == "committed" and attempt.ended is not None:
            by_name[attempt.name].append(attempt)
        elif attempt.saved:
            cut_off[attempt.name].append(attempt)
    found = [_group(name, attempts, cut_off[name], cost, column) for name, attempts in by_name.items()]
    return sorted(found, key=lambda group: group.seconds.total, reverse=True)


def _group(
    name: str, attempts: Sequence[Attempt], cut_off: Sequence[Attempt], cost: RecordCost, column: str | None
) -> Group:
    told = [attempt for attempt in attempts if not attempt.folded]
    # A name is as repeatable as the least repeatable step of it.
    idempotent = all(attempt.idempotent for attempt in told) if told else None
    seconds = spread([attempt.seconds for attempt in attempts])
    # A step's time includes the sync of its intent, if there was one: what is quicker than a sync had none.
    rides = idempotent if idempotent is not None else seconds.median < (cost.durable or 0.0)
    record = cost.riding if rides else cost.durable
    costs = [attempt.cost(column) for attempt in attempts] if column else [seconds.mean]
    return Group(
        name=name,
        seconds=seconds,
        lengths=[length for attempt in (*attempts, *cut_off) for length in _lengths(attempt)],
        idempotent=idempotent,
        saves=sum(len(attempt.saved) for attempt in (*attempts, *cut_off)),
        nested=any(attempt.children for attempt in attempts),
        ledger=None if record is None else 2 * record,
        cost=math.fsum(costs) / len(costs),
    )


def _lengths(attempt: Attempt) -> Iterator[float]:
    """The stretches of an attempt that are its own: from boundary to boundary, nested steps left out.

    Of one that was cut off, those that were saved: that work was done, and not done again.
    """
    at = attempt.started
    inside = [(saved, saved) for saved in attempt.saved]
    inside += [(child.started, child.ended) for child in attempt.children if child.ended is not None]
    for begins, ends in sorted(inside):
        if begins > at:
            yield begins - at
        at = max(at, ends)
    if attempt.status == "committed" and attempt.ended is not None:
        yield max(0.0, attempt.ended - at)
