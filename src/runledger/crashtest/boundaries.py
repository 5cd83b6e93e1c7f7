"""What the watched program reports, one line for each thing that its ledger saw, and the places at which to kill it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from runledger.text import escape

__all__ = [
    "BODY",
    "KILLED",
    "OPENED",
    "OUTSIDE",
    "Boundary",
    "Hit",
    "boundaries_of",
    "nth_of",
    "read",
    "spread",
]

OPENED = "opened"
OUTSIDE = "outside"
KILLED = "killed"
"""Reports that are no place to kill at: a ledger was opened, one outside of the copy was refused, the kill itself."""

BODY = "after intent"
"""The place that every body passes which runs."""


class Hit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One report. ``pid`` and ``seq`` make it unique; ``detail`` is a mark's label."""

    place: str
    pid: int
    seq: int
    root: str = ""
    name: str = ""
    key: str | None = None
    detail: str = ""
    scope: str = "run"
    run: str = ""
    lsn: int = 0
    attempt: int = 0
    idempotent: bool = False
    probed: bool = False


class Boundary(NamedTuple):
    """The ``nth`` time that a program passes a place of a step (``name`` is empty for what is of no step).

    The key is no part of what is looked for: a program whose keys change from run to run is to be killed too.
    """

    place: str
    name: str
    nth: int
    key: str | None = None
    detail: str = ""

    def __str__(self) -> str:
        what = " ".join(escape(word) for word in (self.name, self.key or "") if word)
        detail = f" {escape(self.detail)}" if self.detail else ""
        return f"{self.place}{detail} of {what}" if what else f"{self.place}{detail}"


def read(path: Path) -> list[Hit]:
    """All reports; a line that a kill cut short is none."""
    decoder = msgspec.json.Decoder(Hit)
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return [decoder.decode(line) for line in whole.split(b"\n") if line]


def boundaries_of(hits: Iterable[Hit]) -> list[Boundary]:
    """Every place at which the program can be killed, in the order in which it came there."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for hit in hits:
        if hit.place not in {OPENED, OUTSIDE, KILLED}:
            seen[hit.place, hit.name] += 1
            found.append(Boundary(hit.place, hit.name, seen[hit.place, hit.name], hit.key, hit.detail))
    return found


def nth_of(hits: Iterable[Hit], mine: Hit) -> int:
    """How often the program, over all its processes and restarts, had come to the place of ``mine`` by then."""
    nth = 0
    for hit in hits:
        nth += (hit.place, hit.name) == (mine.place, mine.name)
        if (hit.pid, hit.seq) == (mine.pid, mine.seq):
            break
    return nth


def spread(boundaries: Sequence[Boundary], most: int) -> list[Boundary]:
    """At most ``most`` of them, evenly over the whole run."""
    if len(boundaries) <= most:
        return list(boundaries)
    return [boundaries[i * len(boundaries) // most] for i in range(most)]
