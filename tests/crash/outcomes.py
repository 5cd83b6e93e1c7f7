"""What a power cut leaves: a few telling outcomes, and any other by a seed."""

from __future__ import annotations

import random

from tests.crash.pages import Choice

__all__ = ["OUTCOMES", "Everything", "Nothing", "Seeded", "outcome"]


class Everything(Choice):
    """All writes and names made it."""

    def size(self, sizes: list[int]) -> int:
        return sizes[-1]

    def sectors(self, versions: dict[int, list[bytes]]) -> dict[int, bytes]:
        return {sector: held[-1] for sector, held in versions.items()}

    def happened(self, what: str) -> bool:
        return True


class Nothing(Choice):
    """Only what was synced is there."""

    def size(self, sizes: list[int]) -> int:
        return sizes[0]

    def sectors(self, versions: dict[int, list[bytes]]) -> dict[int, bytes]:
        return {sector: held[0] for sector, held in versions.items()}

    def happened(self, what: str) -> bool:
        return False


class NamesOnly(Nothing):
    """The names made it, the bytes did not, nor the sizes."""

    def happened(self, what: str) -> bool:
        return True


class BytesOnly(Everything):
    """The bytes made it, the names did not."""

    def happened(self, what: str) -> bool:
        return False


class Zeros(NamesOnly):
    """Files grew before their bytes were there."""

    def size(self, sizes: list[int]) -> int:
        return max(sizes)


class Torn(Everything):
    """Of each file the first sectors made it, in order; ``late``: the last ones, in reverse."""

    def __init__(self, kept: int, *, late: bool = False) -> None:
        self.kept = kept
        self.late = late

    def sectors(self, versions: dict[int, list[bytes]]) -> dict[int, bytes]:
        order = sorted(versions, reverse=self.late)
        return {s: versions[s][-1 if at < self.kept else 0] for at, s in enumerate(order)}


class Seeded(Choice):
    """Anything, by a seed; each kind of change is likely or unlikely as a whole, so that rare mixtures come up."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names, self.bytes = self.random.random(), self.random.random()

    def size(self, sizes: list[int]) -> int:
        return self.random.choice(sizes)

    def sectors(self, versions: dict[int, list[bytes]]) -> dict[int, bytes]:
        chosen = {}
        for sector, held in versions.items():
            new = self.random.random() < self.bytes
            chosen[sector] = self.random.choice(held[1:]) if new else held[0]
        return chosen

    def happened(self, what: str) -> bool:
        return self.random.random() < self.names


OUTCOMES: dict[str, Choice] = {
    "everything": Everything(),
    "nothing": Nothing(),
    "names only": NamesOnly(),
    "bytes only": BytesOnly(),
    "zeros": Zeros(),
    "torn after 1": Torn(1),
    "torn after 2": Torn(2),
    "last sector only": Torn(1, late=True),
}


def outcome(name: str | int) -> Choice:
    """A telling outcome by its name, any other by a number."""
    return OUTCOMES[name] if isinstance(name, str) else Seeded(name)
