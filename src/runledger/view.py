"""What is known after the fold of the journal up to some record: the run, the open steps, the settled ones.

A view is plain data, without cycles: its parts are kept out of the collector's rounds, which would otherwise grow with
the steps in the journal. ``fold.advance`` is the only writer; everything that is shown (status, replay, snapshot,
verify) is read off it.
"""

# No postponed annotations: see record.py.
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from runledger.record import NOTHING, Failure

__all__ = [
    "Counted",
    "Damage",
    "Identity",
    "MarkView",
    "OpenStep",
    "Owner",
    "Run",
    "Saved",
    "Settled",
    "SprintView",
    "View",
    "identity_of",
]


class Identity(NamedTuple):
    """What makes two calls the same step. ``scope`` is the run's id, or "" for keys that live for ever."""

    scope: str
    name: str
    key: str


def identity_of(scope: str, run: str, name: str, key: str | None) -> Identity | None:
    """What makes two calls the same step; None for a keyless one."""
    # Made several times for each step: the class's own constructor takes twice as long.
    return None if key is None else _new(Identity, (run if scope == "run" else "", name, key))


_new = tuple.__new__


class Counted(dict[Any, Any]):
    """Stands for ``View.settled`` where settled steps are only counted: those alone are put in that have a file."""


class Damage(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Records that are lost to damage: ``first`` to ``last`` by LSN, where, and what could be read of them.

    ``intents`` is how many of them were intents, ``salvaged`` the identities (scope, name, key) legible in the bad
    bytes, ``sure`` of how many of the intents the identity is certain: two lines tell it, or a good one elsewhere. One
    bad line alone is not believed that its key is the one that was written. ``moves`` is how many of the records may
    have moved the run: all but those that legibly are of another kind.
    """

    file: str
    offset: int
    first: int
    last: int
    reason: str
    intents: int = 0
    salvaged: list[tuple[str, str, str | None]] = []
    sure: int = 0
    moves: int = 0


class Owner(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A process that opened the ledger."""

    id: str
    pid: int
    start: int
    boot: str
    pidns: str
    host: str
    since: str
    program: str = ""
    commit: str = "durable"


class MarkView(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A breadcrumb: when, what, and the data that came with it."""

    at: str
    label: str
    data: Raw = NOTHING


class Saved(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """State that a long step saved inside its body: inline or in a file by its digest."""

    state: Raw = NOTHING
    file: str | None = None
    size: int | None = None
    typed: bool = False


class OpenStep(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """An intent without an outcome. ``over``: the call ended (``failure`` says how), so that it is in doubt whoever
    lives; ``lease``: held by an external session until then."""

    lsn: int
    name: str
    key: str | None
    scope: str
    run: str
    attempt: int
    started: str
    owner: str
    inputs: str | None = None
    idempotent: bool = False
    probed: bool = False
    parent: int | None = None
    lease: str | None = None
    nonce: str | None = None
    code: str | None = None
    marks: tuple[MarkView, ...] = ()
    marks_dropped: int = 0
    saved: Saved | None = None
    over: bool = False
    failure: Failure | None = None
    damaged: bool = False
    by: Owner | None = None


class Settled(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A step whose outcome is known; ``lsn`` is the outcome's record, ``of`` the intent's."""

    lsn: int
    of: int
    name: str
    key: str | None
    scope: str
    run: str
    attempt: int
    status: str
    at: str
    owner: str
    started: str = ""
    inputs: str | None = None
    result: Raw = NOTHING
    file: str | None = None
    size: int | None = None
    typed: bool = False
    unstored: str | None = None
    reason: str | None = None
    resolved: bool = False
    nonce: str | None = None
    code: str | None = None
    marks: tuple[MarkView, ...] = ()


class SprintView(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """One sprint of the plan, as the state file lists it."""

    id: str
    status: str = "pending"
    cycles: int = 0


class Run(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One run. ``state`` is one of the three words, or ``INVALID`` while the state file says a word that is none of
    them (``word`` is then what it says). ``document`` is the state file's text that foreign fields are kept
    from, ``moved`` the LSN of the last record that changed ``state``, ``unsure`` that of the last lost record that may
    have. A run whose beginning is lost has no ``plan_id`` until its state file tells it."""

    id: str
    plan_id: str
    branch: str = ""
    declared_branch: bool = False
    state: str = "RUNNING"
    word: str | None = None
    started: str = ""
    last_activity: str = ""
    sprints: list[SprintView] = []
    current: str | None = None
    total: int = 0
    completed: int = 0
    reason: str | None = None
    failure_sprint: str | None = None
    failed_at: str | None = None
    document: str | None = None
    ours: bool = True
    committed: int = 0
    aborted: int = 0
    last_commit: str | None = None
    moved: int = 0
    replaces: str | None = None
    unsure: int = 0

    @property
    def known(self) -> bool:
        """Whether ``state`` is what the last move left, and not what a lost one may have changed."""
        return self.unsure <= self.moved


class View(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """Everything that the records up to ``lsn`` say. Settled steps are only those that no compaction has folded into
    the history yet, so that a checkpointed view is bounded by the open steps. ``news`` is the LSN of the last record
    that says more than that an owner came or went."""

    ledger: str
    lsn: int = 0
    at: str = ""
    durable: int = 0
    steps: int = 0
    run: Run | None = None
    open: dict[int, OpenStep] = {}
    settled: dict[Identity, Settled] = {}
    keys: dict[Identity, int] = {}
    owners: dict[str, Owner] = {}
    damage: list[Damage] = []
    news: int = 0
    deaths: int = 0
    torn: int = 0
