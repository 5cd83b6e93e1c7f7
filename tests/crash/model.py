"""A small model of the truth: what was asked for, what was acknowledged, and what a ledger may therefore say.

Everything that a ledger puts on record is an entry here, in the same order. A crash leaves a prefix of them: at least
what was acknowledged, perhaps more, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from zlib import crc32

__all__ = [
    "Doubted",
    "Ident",
    "Intended",
    "Marked",
    "Moved",
    "Observed",
    "Seen",
    "Settled",
    "Started",
    "State",
    "Step",
    "Truth",
    "shown",
]


def shown(result: Any) -> Any:
    """A result as it is compared: a long one by its length and checksum."""
    return (
        f"{len(result)} letters, {crc32(result.encode())}"
        if isinstance(result, str) and len(result) > 99
        else result
    )


class Ident(NamedTuple):
    """A step: the number of its run (0: the key lives for ever), its name, its key."""

    run: int
    name: str
    key: str | None


class Seen(NamedTuple):
    """A step as a reader is told of it."""

    status: str
    attempt: int
    result: Any = None
    marks: tuple[str, ...] = ()
    failure: str | None = None


class Observed(NamedTuple):
    """A ledger as a reader is told of it: ``known`` by name and key, ``open`` with those of earlier runs."""

    word: str
    committed: int
    aborted: int
    known: dict[tuple[str, str], Seen]
    open: list[tuple[str, str, Seen]]


@dataclass(frozen=True)
class Step:
    """``owner`` is who holds an open one, ``until`` how long a lease does; ``over``: the call ended, said so
    on record."""

    status: str
    attempt: int
    run: int
    owner: str = ""
    until: float | None = None
    idempotent: bool = False
    inputs: int | None = None
    result: Any = None
    marks: tuple[str, ...] = ()
    over: bool = False
    failure: str | None = None


@dataclass
class State:
    """What a prefix of the entries amounts to."""

    word: str = "ABSENT"
    run: int = 0
    committed: int = 0
    aborted: int = 0
    steps: dict[tuple[Ident, int], Step] = field(default_factory=dict)

    def find(self, ident: Ident) -> Step | None:
        return self.steps.get((ident, 0))

    def open_by(self, name: str, key: str) -> Ident | None:
        """The open step that a name and key mean: of this run, for ever, or else of an earlier run."""
        still = [
            i for (i, _), s in self.steps.items() if (i.name, i.key) == (name, key) and s.status == "open"
        ]
        return min(still, key=lambda i: i.run not in {0, self.run}, default=None)

    def observed(self, is_alive: Callable[[Step], bool]) -> Observed:
        """What a reader must say, if ``is_alive`` tells who is at work."""
        known: dict[tuple[str, str], Seen] = {}
        still = []
        for (ident, _), step in self.steps.items():
            if step.status == "open":
                status = "in_flight" if is_alive(step) else "in_doubt"
                seen = Seen(status, step.attempt, None, step.marks, step.failure)
                still.append((ident.name, ident.key or "", seen))
            else:
                seen = Seen(step.status, step.attempt, step.result, step.marks)
            if ident.key is not None and ident.run in {0, self.run}:
                known[ident.name, ident.key] = seen
        return Observed(self.word, self.committed, self.aborted, known, sorted(still, key=str))


class Entry:
    """One fact that a ledger puts on record."""

    def apply(self, state: State) -> None:
        raise NotImplementedError


class Started(Entry):
    def apply(self, state: State) -> None:
        state.word, state.run, state.committed, state.aborted = "RUNNING", state.run + 1, 0, 0


@dataclass
class Moved(Entry):
    word: str

    def apply(self, state: State) -> None:
        state.word = self.word


@dataclass
class Intended(Entry):
    """``number`` tells keyless steps apart; 0 for keyed ones, here and below."""

    ident: Ident
    number: int
    step: Step

    def apply(self, state: State) -> None:
        before = state.steps.pop((self.ident, self.number), None)
        attempt = 1 if before is None else before.attempt + 1
        state.steps[self.ident, self.number] = replace(self.step, attempt=attempt, run=state.run)


@dataclass
class Marked(Entry):
    ident: Ident
    number: int
    label: str

    def apply(self, state: State) -> None:
        step = state.steps[self.ident, self.number]
        state.steps[self.ident, self.number] = replace(step, marks=(*step.marks, self.label))


@dataclass
class Settled(Entry):
    ident: Ident
    number: int
    status: str
    result: Any = None

    def apply(self, state: State) -> None:
        step = state.steps.pop((self.ident, self.number))
        if self.ident.key is not None:
            state.steps[self.ident, 0] = replace(step, status=self.status, result=self.result)
        if step.run == state.run:
            state.committed += self.status == "committed"
            state.aborted += self.status == "aborted"


@dataclass
class Doubted(Entry):
    ident: Ident
    number: int
    failure: str

    def apply(self, state: State) -> None:
        step = state.steps[self.ident, self.number]
        state.steps[self.ident, self.number] = replace(step, over=True, failure=self.failure)


class Truth:
    """``entries`` in the order of the journal. The first ``acknowledged`` were answered, and are seen whatever process
    ends; the first ``durable`` are seen whatever happens."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.acknowledged = 0
        self.durable = 0

    def copy(self) -> Truth:
        twin = Truth()
        twin.entries = list(self.entries)
        twin.acknowledged, twin.durable = self.acknowledged, self.durable
        return twin

    def attempt(self, *entries: Entry) -> int:
        """These are on their way; the number to acknowledge them by."""
        self.entries += entries
        return len(self.entries)

    def acknowledge(self, upto: int, *, durable: bool = True) -> None:
        self.acknowledged = max(self.acknowledged, upto)
        if durable:
            self.durable = max(self.durable, upto)

    def settled_by(self, ident: Ident) -> int:
        """The number to acknowledge a step's last outcome by."""
        return max(at for at, e in enumerate(self.entries, 1) if isinstance(e, Settled) and e.ident == ident)

    def state(self, upto: int | None = None) -> State:
        state = State()
        for entry in self.entries[:upto]:
            entry.apply(state)
        return state

    def narrow(self, observed: Observed, is_alive: Callable[[Step], bool], least: int) -> None:
        """Find the prefix of at least so many entries that was observed, and go on from there.

        Raises:
            AssertionError: there is none: something acknowledged is gone, or something is seen that never was.
        """
        candidates = [self.state(upto).observed(is_alive) for upto in range(least, len(self.entries) + 1)]
        for upto in range(len(self.entries), least - 1, -1):
            if candidates[upto - least] == observed:
                break
        else:
            may_be = "\n  ".join(_difference(observed, candidate) for candidate in candidates)
            raise AssertionError(f"what is seen is none of what may be:\n  {may_be}")
        del self.entries[upto:]
        self.acknowledged = upto
        self.durable = min(self.durable, upto)


def _difference(observed: Observed, candidate: Observed) -> str:
    return ", ".join(
        f"{name}: seen {seen!r}, may be {may_be!r}"
        for name, seen, may_be in zip(Observed._fields, observed, candidate, strict=True)
        if seen != may_be
    )
