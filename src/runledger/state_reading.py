"""What a state file says, whoever wrote it: every reader of ``.run/sprint-plan-state.json`` asks here.

Nothing in the file is trusted: a field of another type is noted and left alone, times are claims, and bytes
that are no document raise ``Unreadable`` and nothing else.
"""

from __future__ import annotations

from typing import TypeGuard

import msgspec

from runledger.document import Document, DocumentDamaged, Path
from runledger.errors import NewerVersion
from runledger.run_state import HALTED, INVALID, meaning, valid_sprint_id
from runledger.view import Run, SprintView

__all__ = [
    "LARGEST",
    "STATUSES",
    "VERSION",
    "Claim",
    "Reading",
    "Unreadable",
    "apply_reading",
    "interpret",
    "read",
    "sprint_items",
]

LARGEST = 1 << 20
"""Bytes of a state file; more than that is no state file."""

VERSION = 1
"""Of the ``ledger`` object that this package adds."""

STATUSES = ("completed", "in_progress", "pending")

_LIST: Path = ("sprints", "list")
_MARK = b"\xef\xbb\xbf"
_COUNTED = 1 << 53
_SHOWN = 200


class Unreadable(ValueError):
    """The bytes are no state file. ``reason`` says why, for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Claim(msgspec.Struct, frozen=True):
    """The ``ledger`` object: which state of which journal the file says it is. The digest alone proves it."""

    lsn: int
    digest: str


class Reading(msgspec.Struct, frozen=True):
    """What a state file says.

    ``state`` is one of the three words or ``INVALID``; ``word`` is what the file says itself. ``total``,
    ``completed`` and ``sprints`` are None where it says nothing usable. ``foreign_ledger``: it has a
    ``ledger`` that is not of this package. ``paused``: the reason is that of a ``pause``. ``notes`` are for
    a person.
    """

    document: str
    state: str
    word: str
    notes: list[str]
    plan_id: str = ""
    branch: str = ""
    started: str = ""
    last_activity: str = ""
    sprints: list[SprintView] | None = None
    current: str | None = None
    says_current: bool = False
    total: int | None = None
    completed: int | None = None
    reason: str | None = None
    failure_sprint: str | None = None
    failed_at: str | None = None
    paused: bool = False
    ledger: Claim | None = None
    foreign_ledger: bool = False


def read(data: bytes) -> Reading:
    """Read the bytes of a state file. A byte order mark is dropped, and said so.

    Raises:
        Unreadable: no document; nothing is known.
        NewerVersion: a later version of this package wrote it.
    """
    if len(data) > LARGEST:
        raise Unreadable(f"it has {len(data)} bytes; a state file has at most {LARGEST}")
    try:
        text = data.removeprefix(_MARK).decode("utf-8")
        reading = interpret(Document(text))
    except UnicodeDecodeError as error:
        raise Unreadable(f"it is not UTF-8 (at byte {error.start})") from None
    except DocumentDamaged as error:
        raise Unreadable(str(error)) from None
    if data.startswith(_MARK):
        reading.notes.append("it begins with a byte order mark, which is dropped when it is next written")
    return reading


def interpret(document: Document) -> Reading:
    """Read a document that is already open.

    Raises:
        NewerVersion: a later version of this package wrote it.
    """
    notes: list[str] = []
    state, word = _state(document, notes)
    items = sprint_items(document, notes)
    stops = _stop(document)
    return Reading(
        document=document.text,
        state=state,
        word=word,
        notes=notes,
        plan_id=_text(document, ("plan_id",), notes),
        branch=_text(document, ("branch",), notes),
        started=_text(document, ("timestamps", "started"), notes)
        or _text(document, ("timestamps", "started_at"), notes),
        last_activity=_text(document, ("timestamps", "last_activity"), notes),
        sprints=None if items is None else [sprint for _, sprint in items],
        current=_current(document, notes),
        says_current=document.kind(("sprints", "current")) is not None,
        total=_count(document, ("sprints", "total"), notes),
        completed=_completed(document, items, notes),
        failure_sprint=stops[0],
        reason=stops[1],
        failed_at=stops[2],
        paused=document.kind(("failure",)) != "object",
        ledger=_claim(document),
        foreign_ledger=document.kind(("ledger",)) is not None and _claim(document) is None,
    )


def apply_reading(run: Run | None, reading: Reading, *, run_id: str, obey: bool = True) -> Run:
    """The run after a state file was adopted (``run`` None) or was seen edited.

    What the file does not say stays as the run has it. ``obey=False`` takes over the foreign fields alone:
    for an edit that was recorded as ignored.
    """
    if run is None:
        run = Run(id=run_id, plan_id=reading.plan_id or f"plan-{run_id}", last_activity=reading.last_activity)
    if not obey:
        return msgspec.structs.replace(run, document=reading.document)
    sprints = [
        msgspec.structs.replace(one) for one in (run.sprints if reading.sprints is None else reading.sprints)
    ]
    done = sum(sprint.status == "completed" for sprint in sprints)
    sprint, reason, at = _why(run, reading)
    return msgspec.structs.replace(
        run,
        branch=reading.branch or run.branch,
        state=reading.state,
        word=reading.word if reading.state == INVALID else None,
        started=reading.started or run.started,
        sprints=sprints,
        current=reading.current if reading.says_current else run.current,
        total=max(len(sprints), run.total if reading.total is None else reading.total),
        completed=done if sprints else reading.completed or 0,
        reason=reason,
        failure_sprint=sprint,
        failed_at=at,
        document=reading.document,
    )


def _why(run: Run, reading: Reading) -> tuple[str | None, str | None, str | None]:
    """The sprint, the reason and the time of a halt; nothing for any other state.

    Nobody clears a ``pause`` on resuming: one that was there before this halt is not its reason.
    """
    said = (reading.failure_sprint, reading.reason, reading.failed_at)
    if reading.state != HALTED:
        return None, None, None
    if run.state == HALTED and run.document is not None:
        return said if reading.reason is not None else (run.failure_sprint, run.reason, run.failed_at)
    if reading.paused and run.document is not None and said == _stop(Document(run.document)):
        return None, None, None
    return said


# --- one field each ---------------------------------------------------------------------------------------


def _state(document: Document, notes: list[str]) -> tuple[str, str]:
    """The state and what the file says itself, cut to what a message can show."""
    kind = document.kind(("state",))
    if kind == "string":
        word = str(document.scalar(("state",)))
        state, note = meaning(word)
    else:
        word = (document.raw(("state",)) or "")[:_SHOWN]
        state, note = INVALID, "it says no state" if kind is None else f"state is no word but {kind}"
    if note is not None:
        notes.append(note)
    return state, word[:_SHOWN]


def sprint_items(document: Document, notes: list[str] | None = None) -> list[tuple[int, SprintView]] | None:
    """The sprints of ``sprints.list``, each with its position; None where there is no list.

    An item that is no object, has no id, or has the id of an earlier one is left alone. A status that is
    not one of the format's words is kept and never counts as completed.
    """
    notes = [] if notes is None else notes
    if document.kind(("sprints",)) not in ("object", None):
        notes.append("sprints is not an object; it is left alone")
    if document.kind(_LIST) != "array":
        if document.kind(_LIST) is not None:
            notes.append("sprints.list is not an array; it is left alone")
        return None
    found: dict[str, tuple[int, SprintView]] = {}
    foreign: list[str] = []
    odd = 0
    for position in range(document.length(_LIST)):
        name, status, cycles = (
            document.scalar((*_LIST, position, key)) for key in ("id", "status", "cycles")
        )
        if not isinstance(name, str) or not name or name in found:
            odd += 1
            continue
        if status is not None and status not in STATUSES:
            notes.append(
                f"sprint {name[:_SHOWN]!r} has the status {str(status)[:_SHOWN]!r}; it is not completed"
            )
        found[name] = (
            position,
            SprintView(
                id=name,
                status=status if isinstance(status, str) else "pending",
                cycles=cycles if _is_count(cycles) else 0,
            ),
        )
    if foreign:
        notes.append(
            f"{foreign[0]}: {len(foreign)} sprints have a status of another kind; they are not completed"
        )
    if odd:
        notes.append(f"sprints.list has {odd} items without an id of their own; they are left alone")
    return list(found.values())


def _completed(
    document: Document, items: list[tuple[int, SprintView]] | None, notes: list[str]
) -> int | None:
    """How many sprints are completed: by the list, where there is one."""
    said = _count(document, ("sprints", "completed"), notes)
    if not items:
        return said
    done = sum(sprint.status == "completed" for _, sprint in items)
    if said is not None and said != done:
        notes.append(f"completed says {said} but the list has {done} completed; the list is followed")
    return done


def _current(document: Document, notes: list[str]) -> str | None:
    current = document.scalar(("sprints", "current"))
    if current is None:
        return None
    if isinstance(current, str) and valid_sprint_id(current):
        return current
    notes.append("sprints.current is not a sprint's id; it is read as null")
    return None


def _stop(document: Document) -> tuple[str | None, str | None, str | None]:
    """Sprint, reason and time of a stop: those of ``failure``, else of the ``pause`` that others write."""
    where, sprint = (
        ("failure", "sprint") if document.kind(("failure",)) == "object" else ("pause", "at_sprint")
    )
    said = [document.scalar((where, key)) for key in (sprint, "reason", "timestamp")]
    one, two, three = (value if isinstance(value, str) and value else None for value in said)
    return one, two, three


def _claim(document: Document) -> Claim | None:
    """The ``ledger`` object where it has the fields of one of ours."""
    version, lsn, digest = (document.scalar(("ledger", key)) for key in ("version", "lsn", "digest"))
    if not _is_count(version) or not _is_count(lsn) or version < 1:
        return None
    if version > VERSION:
        raise NewerVersion(f"The state file is of version {version}; this is version {VERSION}.")
    return Claim(lsn=lsn, digest=digest) if isinstance(digest, str) else None


def _text(document: Document, path: Path, notes: list[str]) -> str:
    value = document.scalar(path)
    if isinstance(value, str):
        return value
    if document.kind(path) is not None:
        notes.append(f"{'.'.join(map(str, path))} is not a string; it is left alone")
    return ""


def _count(document: Document, path: Path, notes: list[str]) -> int | None:
    value = document.scalar(path)
    if _is_count(value):
        return value
    if document.kind(path) is not None:
        notes.append(f"{'.'.join(map(str, path))} is not a count; it is counted anew")
    return None


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < _COUNTED
