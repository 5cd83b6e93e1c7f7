"""What the journal can say: one small struct for each kind of fact.

The wire form of each is specified in docs/reference/format-v1.md. A kind or a field that is not listed here comes from
a later version and is refused, never skipped: a dropped commit would put a finished step in doubt, a dropped intent
would let an effect run twice.
"""

# No postponed annotations: msgspec compiles each that is text, which took as long as a third of a bare interpreter.
from typing import Any

import msgspec
from msgspec import Raw

__all__ = [
    "NOTHING",
    "RECORDS",
    "Abandoned",
    "Abort",
    "Adopted",
    "Checkpoint",
    "Closed",
    "Commit",
    "Compacted",
    "Doubt",
    "Failure",
    "Finished",
    "Halted",
    "Heartbeat",
    "Intent",
    "Lost",
    "Mark",
    "Observed",
    "Opened",
    "Record",
    "Resolved",
    "Resumed",
    "Sprint",
    "Started",
    "Torn",
]


NOTHING = Raw(b"")
"""The absent payload; a Raw cannot be optional in a decoded type."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a body ended that neither committed nor aborted: for the person who settles it, never re-raised."""

    type: str
    message: str = ""


class Base(
    msgspec.Struct, tag_field="t", kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """The fields of every record.

    ``durable`` is the highest LSN that the writer knew to be on the disk: what tells a hole left by unsynced writes
    from damage. ``steps`` counts the intents up to and including this record: what tells whether a lost line held one.
    """

    lsn: int
    at: str
    run: str = ""
    owner: str = ""
    durable: int = 0
    steps: int = 0
    crc: str = ""


# --- owners -----------------------------------------------------------------------------------------------------


class Opened(Base, tag="opened", kw_only=True):
    """An owner came: the facts by which it can be proved dead later."""

    pid: int
    start: int
    boot: str
    pidns: str
    host: str
    version: str
    commit: str = "durable"
    program: str = ""


class Closed(Base, tag="closed", kw_only=True):
    """An owner left in good order."""


class Lost(Base, tag="lost", kw_only=True):
    """An owner was found dead that never closed."""

    who: str
    proof: str


# --- the run's life ---------------------------------------------------------------------------------------------


class Started(Base, tag="started", kw_only=True):
    """A run begins; its id is this record's ``run``. ``document`` is the text that foreign fields are kept from, if
    there was a state file, and ``replaces`` the crc32 of that file: until the first snapshot it still lies there."""

    plan_id: str
    branch: str = ""
    declared_branch: bool = False
    sprints: list[str] = []
    document: str | None = None
    replaces: str | None = None


class Adopted(Base, tag="adopted", kw_only=True):
    """A run begins from a state file that somebody else wrote, kept whole in ``document``."""

    document: str
    forced: bool = False


class Observed(Base, tag="observed", kw_only=True):
    """Somebody else changed the state file; ``document`` is its new text, or ``rejected`` names the copy kept of one
    that cannot be read. ``ignored`` says why a readable edit was not obeyed."""

    document: str | None = None
    rejected: str | None = None
    ignored: str | None = None


class Sprint(Base, tag="sprint", kw_only=True):
    """A sprint moves: ``in_progress`` or ``completed``."""

    id: str
    status: str


class Halted(Base, tag="halted", kw_only=True):
    """The run stops until somebody resumes it."""

    reason: str


class Resumed(Base, tag="resumed", kw_only=True):
    """Somebody let the run go on."""

    by: str | None = None


class Finished(Base, tag="finished", kw_only=True):
    """The run is done."""

    forced: bool = False
    reason: str | None = None


class Abandoned(Base, tag="abandoned", kw_only=True):
    """The run is given up."""

    reason: str


class Heartbeat(Base, tag="heartbeat", kw_only=True):
    """The loop is turning."""


# --- steps ------------------------------------------------------------------------------------------------------


class Intent(Base, tag="intent", kw_only=True):
    """The durable statement before the effect. ``key`` is None for a keyless step."""

    name: str
    key: str | None = None
    scope: str = "run"
    attempt: int = 1
    inputs: str | None = None
    unfingerprinted: tuple[str, ...] = ()
    idempotent: bool = False
    probed: bool = False
    parent: int | None = None
    lease: str | None = None
    nonce: str | None = None
    code: str | None = None


class Mark(Base, tag="mark", kw_only=True):
    """A breadcrumb inside a step; ``of`` is the LSN of the step's intent, here and below."""

    of: int
    label: str
    data: Raw = NOTHING


class Checkpoint(Base, tag="checkpoint", kw_only=True):
    """State that a long idempotent step saved inside its body, handed back to its next attempt."""

    of: int
    state: Raw = NOTHING
    file: str | None = None
    size: int | None = None
    typed: bool = False


class Commit(Base, tag="commit", kw_only=True):
    """The outcome. It repeats the identity, so that one damaged line never loses a key.

    The result is inline (``result``), in a file by its digest (``file``, ``size`` bytes), or could not be stored
    (``unstored`` says why). ``typed`` says that the JSON carries type tags.
    """

    of: int
    name: str
    key: str | None = None
    scope: str = "run"
    attempt: int = 1
    inputs: str | None = None
    result: Raw = NOTHING
    file: str | None = None
    size: int | None = None
    typed: bool = False
    unstored: str | None = None
    probed: bool = False


class Abort(Base, tag="abort", kw_only=True):
    """Known: the effect did not happen."""

    of: int
    reason: str = ""
    probed: bool = False


class Doubt(Base, tag="doubt", kw_only=True):
    """The call is over and the outcome is unknown."""

    of: int
    failure: Failure


class Resolved(Base, tag="resolved", kw_only=True):
    """A decision that ends doubt. ``name``/``key``/``scope`` repeat the identity, as in a commit."""

    of: int
    happened: bool
    reason: str
    name: str | None = None
    key: str | None = None
    scope: str = "run"
    attempt: int = 1
    inputs: str | None = None
    result: Raw = NOTHING
    file: str | None = None
    size: int | None = None
    typed: bool = False


# --- the journal itself -----------------------------------------------------------------------------------------


class Torn(Base, tag="torn", kw_only=True):
    """Recovery cut an unfinished tail: ``size`` bytes at ``offset`` of ``segment``."""

    segment: str
    offset: int
    size: int


class Compacted(Base, tag="compacted", kw_only=True):
    """A compaction began; everything up to here is folded by it."""


Record = (
    Opened
    | Closed
    | Lost
    | Started
    | Adopted
    | Observed
    | Sprint
    | Halted
    | Resumed
    | Finished
    | Abandoned
    | Heartbeat
    | Intent
    | Mark
    | Checkpoint
    | Commit
    | Abort
    | Doubt
    | Resolved
    | Torn
    | Compacted
)

RECORDS: dict[str, Any] = {cls.__struct_config__.tag: cls for cls in Record.__args__}
