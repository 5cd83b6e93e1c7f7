"""Drift: what the code of this process does not reach of what its run has committed, and what changed since.

Informative only. Keys keep their meaning whatever the code does: a step that moved, was renamed or got a new key is not
run again by itself, and this is where that shows.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from runledger.view import Settled

__all__ = ["Drift", "Reached"]

MOST = 1000
"""Steps listed of each kind; there may be more."""

REMEMBERED = 250_000
"""Entries of one handle, at some 60 bytes each. Beyond that it is no longer said which steps were not reached."""


class Drift(msgspec.Struct, frozen=True):
    """The committed steps (name and key) that this process has not entered so far, and those whose function has another
    fingerprint than when they were committed."""

    not_reached: list[tuple[str, str | None]]
    changed: list[tuple[str, str | None]]


class Reached:
    """Which steps a handle has entered, as hashes, and the fingerprint of each decorated function by step name."""

    def __init__(self) -> None:
        self._entered: set[int] = set()
        self._code: dict[str, str | None] = {}

    def enter(self, scope: str, name: str, key: str | None, code: str | None) -> None:
        """A step was entered."""
        if len(self._entered) <= REMEMBERED:
            self._entered.add(hash((scope, name, key)))
        if code is not None:
            self._code[name] = code

    def against(self, settled: Iterable[Settled]) -> Drift:
        """The drift of this process against the committed steps of its run."""
        not_reached: list[tuple[str, str | None]] = []
        changed: list[tuple[str, str | None]] = []
        told = len(self._entered) <= REMEMBERED
        for step in settled:
            if hash((step.scope, step.name, step.key)) not in self._entered:
                if told and len(not_reached) < MOST:
                    not_reached.append((step.name, step.key))
            elif (
                step.code is not None
                and self._code.get(step.name, step.code) != step.code
                and len(changed) < MOST
            ):
                changed.append((step.name, step.key))
        return Drift(not_reached, changed)
