"""How often the run died, how sure that is, and what each death cost."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from runledger.granularity import FailureRate, failure_rate
from runledger.granularity.estimate import quantile
from runledger.past.model import Attempt, Past

__all__ = ["Death", "Deaths", "Hit", "deaths_of"]


class Hit(msgspec.Struct, frozen=True):
    """A step that a death struck: ``low`` to ``high`` seconds of it were lost; ``became`` says what came of it."""

    name: str
    key: str | None
    low: float
    high: float
    became: str


class Death(msgspec.Struct, frozen=True):
    """One death that the journal still tells of; ``at`` is its last record, ``idle`` the seconds until it was found."""

    owner: str
    at: float
    idle: float
    hits: list[Hit]


class Deaths(msgspec.Struct, frozen=True):
    """All of them; those in ``told`` are in the journal, of the others only the number is known."""

    count: int
    exposure: float
    rate: FailureRate
    told: list[Death]
    external: int


def deaths_of(past: Past) -> Deaths:
    """The deaths, over the seconds that owners were seen at work."""
    typical = _typical(past)
    hit = defaultdict(list)
    for attempt in past.attempts:
        if not attempt.folded and attempt.ended is None and not attempt.external:
            hit[attempt.owner].append(attempt)
    told = []
    unseen = 0.0
    for owner, life in past.owners.items():
        if life.ended != "lost" and owner not in past.unburied:
            continue
        found = life.found if life.found is not None else past.now
        idle = max(0.0, found - life.last)
        hits = [_hit(attempt, life.last, found, typical) for attempt in hit[owner]]
        unseen += min([idle, *(typical[h.name] for h in hits if h.name in typical)]) / 2 if hits else 0.0
        told.append(Death(owner, life.last, idle, hits))
    exposure = _exposure(past) + unseen
    count = max(past.deaths + len(past.unburied), len(told))
    # A death without any time at work is a clock that was set back: nothing can be said of its rate.
    rate = failure_rate(count if exposure else 0, exposure)
    return Deaths(count, exposure, rate, told, sum(attempt.external for attempt in past.attempts))


def _typical(past: Past) -> dict[str, float]:
    """How long nine of ten committed attempts of a name took at most."""
    durations = defaultdict(list)
    for attempt in past.attempts:
        if attempt.status == "committed" and attempt.ended is not None:
            durations[attempt.name].append(attempt.seconds)
    return {name: quantile(sorted(found), 0.9) for name, found in durations.items()}


def _hit(attempt: Attempt, last: float, found: float, typical: dict[str, float]) -> Hit:
    """What was not recorded of an attempt: from its last boundary to the last sign of life, or to when it was found."""
    kept = max([attempt.started, *attempt.saved, *(child.ended or 0.0 for child in attempt.children)])
    if attempt.status == "committed":
        return Hit(attempt.name, attempt.key, 0.0, 0.0, "it had happened")
    low = max(0.0, last - kept)
    high = max(low, min(found - kept, typical.get(attempt.name, found - kept)))
    words = {"aborted": "it had not happened", "again": "it was done again", "in_doubt": "it is in doubt"}
    return Hit(attempt.name, attempt.key, low, high, words.get(attempt.status, "it is not settled"))


def _exposure(past: Past) -> float:
    """The seconds that owners were at work, whole or only in the folded part."""
    spans = {owner: (life.first, life.last) for owner, life in past.owners.items()}
    for attempt in past.attempts:
        if attempt.folded and attempt.ended is not None:
            first, last = spans.get(attempt.owner, (attempt.started, attempt.ended))
            spans[attempt.owner] = min(first, attempt.started), max(last, attempt.ended)
    for owner in past.alive:
        if owner in spans:
            first, last = spans[owner]
            spans[owner] = first, max(last, past.now)
    return sum(max(0.0, last - first) for first, last in spans.values())
