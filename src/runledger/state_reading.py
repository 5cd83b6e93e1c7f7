"""What a state file says, whoever wrote it: every reader of ``.run/sprint-plan-state.json`` asks here.

Nothing in the file is trusted: a field of another type is noted and left alone, times are claims, and bytes
that are no document raise ``Unreadable`` and nothing else.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from runledger.document import Document, DocumentDamaged
from runledger.run_state import HALTED, INVALID
from runledger.state_fields import (
    Claim,
    claim_of,
    completed_of,
    count_of,
    current_of,
    sprint_items,
    state_of,
    stop_of,
    text_of,
)
from runledger.view import Run, SprintView

__all__ = [
    "LARGEST",
    "Reading",
    "Unreadable",
    "apply_reading",
    "interpret",
    "read",
]

LARGEST = 1 << 20
"""Bytes of a state file; more than that is no state file."""

_MARK = b"\xef\xbb\xbf"


class Unreadable(ValueError):
    """The bytes are no state file. ``reason`` says why, for a person."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


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


@lru_cache(maxsize=1)  # a writer asks several times for what it has just seen or written
def read(data: bytes) -> Reading:
    """Read the bytes of a state file. A byte order mark is dropped, and said so. What is returned is not to be changed.

    Raises:
        Unreadable: no document; nothing is known.
        NewerVersion: a later version of this package wrote it.
    """
    if len(data) > LARGEST:
        raise Unreadable(f"it has more than the {LARGEST} bytes that a state file may have")
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
    state, word = state_of(document, notes)
    items = sprint_items(document, notes)
    stops = stop_of(document)
    return Reading(
        document=document.text,
        state=state,
        word=word,
        notes=notes,
        plan_id=text_of(document, ("plan_id",), notes),
        branch=text_of(document, ("branch",), notes),
        started=text_of(document, ("timestamps", "started"), notes)
        or text_of(document, ("timestamps", "started_at"), notes),
        last_activity=text_of(document, ("timestamps", "last_activity"), notes),
        sprints=None if items is None else [sprint for _, sprint in items],
        current=current_of(document, notes),
        says_current=document.kind(("sprints", "current")) is not None,
        total=count_of(document, ("sprints", "total"), notes),
        completed=completed_of(document, items, notes),
        failure_sprint=stops[0],
        reason=stops[1],
        failed_at=stops[2],
        paused=document.kind(("failure",)) != "object",
        ledger=claim_of(document),
        foreign_ledger=document.kind(("ledger",)) is not None and claim_of(document) is None,
    )


def apply_reading(run: Run | None, reading: Reading, *, run_id: str, obey: bool = True) -> Run:
    """The run after a state file was adopted (``run`` None) or was seen edited.

    What the file does not say stays as the run has it. ``obey=False`` takes over the foreign fields alone:
    for an edit that was recorded as ignored.
    """
    if run is None:
        run = Run(id=run_id, plan_id=reading.plan_id or f"plan-{run_id}", last_activity=reading.last_activity)
    plan_id = run.plan_id or reading.plan_id
    if not obey:
        return msgspec.structs.replace(run, plan_id=plan_id, document=reading.document)
    sprints = [
        msgspec.structs.replace(one) for one in (run.sprints if reading.sprints is None else reading.sprints)
    ]
    done = sum(sprint.status == "completed" for sprint in sprints)
    sprint, reason, at = _why(run, reading)
    return msgspec.structs.replace(
        run,
        plan_id=plan_id,
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
    if reading.paused and run.document is not None and said == stop_of(Document(run.document)):
        return None, None, None
    return said
