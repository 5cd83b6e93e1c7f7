"""The port between the step protocol and whatever keeps the ledger.

A store decides one thing at a time, in LSN order, and what it answers is durable as far as the caller asked. The files
of this machine implement it (``local.store``); an engine over several machines will implement the same and nothing
else, so nothing here speaks of files, locks or processes.

A request checks what it is made of: nothing of a wrong type gets any nearer to a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from runledger.arguments import flag, maybe_text, text, texts
from runledger.errors import LedgerError, SprintUnknown, UsageError
from runledger.record import NOTHING, Failure, Record
from runledger.state_reading import Reading
from runledger.view import Damage, OpenStep, Owner, Saved, Settled, View

__all__ = [
    "Aborted",
    "Claim",
    "Claimed",
    "Committed",
    "Doubtful",
    "Fate",
    "Happened",
    "InFlight",
    "Known",
    "Move",
    "Note",
    "Payload",
    "Request",
    "Resolution",
    "Settle",
    "Store",
    "Uncertain",
    "Verdict",
]


def _exact(request: msgspec.Struct, field: str, value: Any) -> None:
    if value is not getattr(request, field):
        msgspec.structs.force_setattr(request, field, value)


class Fate(msgspec.Struct, frozen=True):
    """Whether whoever holds a step is at work on it, and how that is known, in words for people."""

    alive: bool
    how: str


class Payload(msgspec.Struct, frozen=True):
    """An encoded value: JSON with or without type tags; a store that keeps it beside its records names it by digest."""

    json: bytes
    typed: bool = False
    file: str | None = None
    size: int | None = None


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A wish to run a step. ``idempotent``: its records need no sync of their own; ``lease`` in seconds.
    ``memo`` is the
    store's: the LSN and the time of the intent once it is written, so that a claim that was interrupted can be
    found again."""

    name: str
    key: str | None
    scope: str = "run"
    inputs: str | None = None
    unfingerprinted: tuple[str, ...] = ()
    idempotent: bool = False
    probed: bool = False
    parent: int | None = None
    lease: float | None = None
    code: str | None = None
    memo: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        name, key = self.name, self.key
        if not (type(name) is str and name.isascii() and type(key) is str and key.isascii()):
            text("the name of a step", name)
            maybe_text("a key", key)
        if self.scope != "run":
            text("scope", self.scope)
        flag("idempotent", self.idempotent)


class Claimed(msgspec.Struct, frozen=True):
    """The intent is on record: the body may run. ``saved`` is what an earlier attempt left by a checkpoint."""

    lsn: int
    attempt: int
    run: str
    nonce: str | None
    saved: Saved | None


class Committed(msgspec.Struct, frozen=True):
    """It happened."""

    settled: Settled


class InFlight(msgspec.Struct, frozen=True):
    """Somebody is at work on it."""

    step: OpenStep
    fate: Fate


class Doubtful(msgspec.Struct, frozen=True):
    """It was started, and nobody is at work on it."""

    step: OpenStep
    fate: Fate


Verdict = Claimed | Committed | InFlight | Doubtful


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """It happened. ``probed``: known by looking at the world afterwards. ``unstored`` says why there is no result."""

    result: Payload | None = None
    unstored: str | None = None
    probed: bool = False


class Aborted(msgspec.Struct, frozen=True, kw_only=True):
    """It did not happen."""

    reason: str
    probed: bool = False

    def __post_init__(self) -> None:
        _exact(self, "reason", text("a reason", self.reason))


class Uncertain(msgspec.Struct, frozen=True, kw_only=True):
    """The call is over; nobody knows."""

    failure: Failure


class Settle(msgspec.Struct, frozen=True, kw_only=True):
    """How the attempt ``lsn`` ended; with ``nonce`` it must be the one that was claimed with it."""

    lsn: int
    outcome: Happened | Aborted | Uncertain
    riding: bool = False
    nonce: str | None = None


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Inside the attempt ``lsn``: a breadcrumb (``label``, ``data`` one JSON value), or state for the next attempt."""

    lsn: int
    label: str | None = None
    data: Raw = NOTHING
    state: Payload | None = None
    riding: bool = False
    nonce: str | None = None

    def __post_init__(self) -> None:
        _exact(self, "label", maybe_text("a mark's label", self.label))


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """A person's decision on a doubtful step; with ``lsn`` it must be the current attempt."""

    name: str | None
    key: str | None
    lsn: int | None
    happened: bool
    reason: str
    result: Payload | None = None

    def __post_init__(self) -> None:
        for field in ("name", "key"):
            _exact(self, field, maybe_text(field, getattr(self, field)))
        if self.lsn is not None and type(self.lsn) is not int:
            raise UsageError(f"an LSN is an int, not {type(self.lsn).__name__}")
        flag("happened", self.happened)
        _exact(self, "reason", text("a reason", self.reason))


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A move of the run's life; ``what`` names it: start, sprint, halt, resume, finish, abandon, heartbeat, adopt."""

    what: str
    plan_id: str | None = None
    branch: str | None = None
    sprints: tuple[str, ...] = ()
    sprint: str | None = None
    status: str | None = None
    reason: str | None = None
    by: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        for field in ("plan_id", "branch", "reason", "by"):
            _exact(self, field, maybe_text(field, getattr(self, field)))
        _exact(self, "sprint", maybe_text("a sprint id", self.sprint, SprintUnknown))
        _exact(self, "sprints", texts("sprints", self.sprints, SprintUnknown))
        flag("force", self.force)


Request = Claim | Settle | Note | Resolution | Move


class Known(msgspec.Struct, frozen=True):
    """Everything that is known at one moment.

    ``fates`` are those of the open steps' holders by LSN, ``owner`` the last owner that is alive, ``torn`` what a crash
    left behind the last record, ``problem`` why the state file forbids to go on, ``notes`` what was odd in it,
    ``shown`` the LSN that the state file covers, and ``unclaimed`` what a state file says that no journal speaks for.
    """

    view: View
    fates: dict[int, Fate]
    owner: tuple[Owner, Fate] | None
    torn: dict[str, Any] | None
    problem: LedgerError | None
    notes: list[str]
    shown: int
    unclaimed: Reading | None


class Store(Protocol):
    """What a ledger is kept in. What a request returns is durable first, unless the request rides."""

    @property
    def result_bytes(self) -> int:
        """A result of more bytes when encoded is not kept."""

    def claim(self, claim: Claim) -> Verdict:
        """Decide on a step and put its intent on record.

        Raises RunHalted, RunFinished, RunStateInvalid before anything else, then InputsMismatch.
        """

    def settle(self, settle: Settle) -> int:
        """Record how an attempt ended; returns the LSN. Raises LeaseLapsed when it is no longer the current one."""

    def mark(self, note: Note) -> int:
        """Record a breadcrumb or saved state; returns the LSN. Raises LeaseLapsed like ``settle``."""

    def resolve(self, resolution: Resolution) -> int:
        """Record a person's decision on a step in doubt; returns the LSN. Raises ResolveRefused."""

    def transition(self, move: Move) -> int:
        """Record a move of the run's life; returns the LSN. Raises RunMoveRefused and its kin."""

    def withdraw(self, claim: Claim) -> None:
        """After an interrupted ``claim``: if its intent was written all the same, record that nothing happened."""

    def forget(self, claim: Claim) -> None:
        """Nobody is at work on what was claimed, and its outcome could not be recorded: it is in doubt from now on."""

    def nowait(
        self,
        request: Request,
        done: Callable[[Any, BaseException | None], None],
        soon: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        """Any of the above without waiting: ``done`` gets what it returns or raises, on whatever thread.

        ``soon`` has a call made on the caller's thread, once it is through with what is ready there: taken where a sync
        is known to be so short that handing it to another thread costs more.
        """

    def lookup(self, name: str, key: str) -> Settled | OpenStep | None:
        """What is known of a step of this run, or of one whose key lives for ever; records nothing."""

    def payload(self, held: Settled | Saved) -> Payload | None:
        """An encoded value that was recorded, wherever it is kept; None where there is none."""

    def known(self) -> Known:
        """Everything that is known now."""

    def committed(self) -> Iterator[Settled]:
        """The committed keyed steps of the run, in no order."""

    def records(self, after: int = 0) -> Iterator[Record | Damage]:
        """The records after an LSN that are still kept, in order."""

    def compact(self) -> dict[str, Any]:
        """Fold what is new and drop what is folded; says what it did."""

    def close(self) -> None:
        """Make everything durable and leave."""
