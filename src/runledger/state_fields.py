"""The fields of a state file, one function each: what it says, and a note where it cannot be followed."""

from __future__ import annotations

from typing import TypeGuard

import msgspec

from runledger.document import Document, Path
from runledger.errors import NewerVersion
from runledger.run_state import INVALID, meaning, valid_sprint_id
from runledger.view import SprintView

__all__ = [
    "LIST",
    "STATUSES",
    "VERSION",
    "Claim",
    "claim_of",
    "completed_of",
    "count_of",
    "current_of",
    "sprint_items",
    "state_of",
    "stop_of",
    "text_of",
]

VERSION = 1
"""Of the ``ledger`` object that this package adds."""

LIST: Path = ("sprints", "list")
STATUSES = ("completed", "in_progress", "pending")

_COUNTED = 1 << 53
_SHOWN = 200


class Claim(msgspec.Struct, frozen=True):
    """The ``ledger`` object: which state of which journal the file says it is. The digest alone proves it."""

    lsn: int
    digest: str


def state_of(document: Document, notes: list[str]) -> tuple[str, str]:
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
    if document.kind(LIST) != "array":
        if document.kind(LIST) is not None:
            notes.append("sprints.list is not an array; it is left alone")
        return None
    found: dict[str, tuple[int, SprintView]] = {}
    foreign: list[str] = []
    odd = 0
    for position in range(document.length(LIST)):
        name, status, cycles = (document.scalar((*LIST, position, key)) for key in ("id", "status", "cycles"))
        if not isinstance(name, str) or not name or name in found:
            odd += 1
            continue
        if status is not None and status not in STATUSES:
            foreign.append(f"sprint {name[:_SHOWN]!r} has the status {str(status)[:_SHOWN]!r}")
        found[name] = (
            position,
            SprintView(
                id=name,
                status=status if isinstance(status, str) else "pending",
                cycles=cycles if _is_count(cycles) else 0,
            ),
        )
    if foreign:
        more = f", and {len(foreign) - 1} more have odd ones" if len(foreign) > 1 else ""
        notes.append(f"{foreign[0]}{more}; that does not count as completed")
    if odd:
        notes.append(f"sprints.list has {odd} items without an id of their own; they are left alone")
    return list(found.values())


def completed_of(
    document: Document, items: list[tuple[int, SprintView]] | None, notes: list[str]
) -> int | None:
    """How many sprints are completed: by the list, where there is one."""
    said = count_of(document, ("sprints", "completed"), notes)
    if not items:
        return said
    done = sum(sprint.status == "completed" for _, sprint in items)
    if said is not None and said != done:
        notes.append(f"completed says {said} but the list has {done} completed; the list is followed")
    return done


def current_of(document: Document, notes: list[str]) -> str | None:
    """The id of the current sprint, None where there is none or it is no id."""
    current = document.scalar(("sprints", "current"))
    if current is None:
        return None
    if isinstance(current, str) and valid_sprint_id(current):
        return current
    notes.append("sprints.current is not a sprint's id; it is read as null")
    return None


def stop_of(document: Document) -> tuple[str | None, str | None, str | None]:
    """Sprint, reason and time of a stop: those of ``failure``, else of the ``pause`` that others write."""
    where, sprint = (
        ("failure", "sprint") if document.kind(("failure",)) == "object" else ("pause", "at_sprint")
    )
    said = [document.scalar((where, key)) for key in (sprint, "reason", "timestamp")]
    one, two, three = (value if isinstance(value, str) and value else None for value in said)
    return one, two, three


def claim_of(document: Document) -> Claim | None:
    """The ``ledger`` object where it has the fields of one of ours."""
    version, lsn, digest = (document.scalar(("ledger", key)) for key in ("version", "lsn", "digest"))
    if not _is_count(version) or not _is_count(lsn) or version < 1:
        return None
    if version > VERSION:
        raise NewerVersion(f"The state file is of version {version}; this is version {VERSION}.")
    return Claim(lsn=lsn, digest=digest) if isinstance(digest, str) else None


def text_of(document: Document, path: Path, notes: list[str]) -> str:
    """A string, "" where there is none."""
    value = document.scalar(path)
    if isinstance(value, str):
        return value
    if document.kind(path) is not None:
        notes.append(f"{'.'.join(map(str, path))} is not a string; it is left alone")
    return ""


def count_of(document: Document, path: Path, notes: list[str]) -> int | None:
    """An integer from 0 on, None where there is none."""
    value = document.scalar(path)
    if _is_count(value):
        return value
    if document.kind(path) is not None:
        notes.append(f"{'.'.join(map(str, path))} is not a count; it is counted anew")
    return None


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < _COUNTED
