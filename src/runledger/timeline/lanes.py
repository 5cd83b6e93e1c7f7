"""The attempts of a run in lanes: one for each step's name under its parents', its attempts side by side."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from runledger.past.model import Attempt, Past

__all__ = ["WORDS", "Bar", "Lane", "lanes_of"]

WORDS = {
    "committed": "committed",
    "aborted": "aborted",
    "again": "cut off, done again",
    "in_doubt": "in doubt",
    "in_flight": "in flight",
}
"""What came of an attempt, as it is said."""

ACROSS = 300
"""Parts of the width: what lies nearer together than one of them is drawn as one bar."""


class Bar(msgspec.Struct):
    """One attempt, or so many of the same status that lie close together."""

    start: float
    end: float
    status: str
    count: int
    first: Attempt


class Lane(msgspec.Struct):
    """The bars of one name, inside ``path``; ``marks`` and ``saves`` are moments."""

    name: str
    path: tuple[str, ...]
    bars: list[Bar]
    marks: list[tuple[float, str]]
    saves: list[float]
    attempts: int
    steps: int

    @property
    def depth(self) -> int:
        """How many parents it has."""
        return len(self.path)


def lanes_of(past: Past) -> list[Lane]:
    """The lanes in the order in which their first attempts began, children below their parents."""
    start, end = past.span
    least = max(1e-9, (end - start) / ACROSS)
    by_lsn = {attempt.lsn: attempt for attempt in past.attempts}
    by_path: dict[tuple[str, ...], list[Attempt]] = {}
    for attempt in past.attempts:
        by_path.setdefault(_path(attempt, by_lsn), []).append(attempt)
    first = {path: min(a.started for a in attempts) for path, attempts in by_path.items()}
    order = sorted(by_path, key=lambda path: [first.get(path[: n + 1], 0.0) for n in range(len(path))])
    return [_lane(path, by_path[path], least, past) for path in order]


def _path(attempt: Attempt, by_lsn: dict[int, Attempt]) -> tuple[str, ...]:
    names = [attempt.name]
    while attempt.parent is not None and attempt.parent in by_lsn:
        attempt = by_lsn[attempt.parent]
        names.append(attempt.name)
    return tuple(reversed(names))


def _lane(path: tuple[str, ...], attempts: list[Attempt], least: float, past: Past) -> Lane:
    bars: list[Bar] = []
    for attempt in sorted(attempts, key=lambda one: one.started):
        end = _end(attempt, past)
        last = bars[-1] if bars else None
        if last is not None and last.status == attempt.status and attempt.started - last.end < least:
            last.end, last.count = max(last.end, end), last.count + 1
        else:
            bars.append(Bar(attempt.started, end, attempt.status, 1, attempt))
    return Lane(
        name=path[-1],
        path=path[:-1],
        bars=bars,
        marks=[(mark.at, mark.label) for attempt in attempts for mark in attempt.marks],
        saves=[moment for attempt in attempts for moment in attempt.saved],
        attempts=len(attempts),
        steps=len(
            {(attempt.name, attempt.key if attempt.key is not None else attempt.lsn) for attempt in attempts}
        ),
    )


def _end(attempt: Attempt, past: Past) -> float:
    """Where its bar ends: with its outcome, else with the last sign of life of its owner, or now."""
    if attempt.ended is not None:
        return attempt.ended
    if attempt.status == "in_flight":
        return past.now
    life = past.owners.get(attempt.owner)
    return max(attempt.started, _latest(attempt, () if life is None else (life.last,)))


def _latest(attempt: Attempt, more: Iterable[float]) -> float:
    return max([attempt.started, *attempt.saved, *(mark.at for mark in attempt.marks), *more])
