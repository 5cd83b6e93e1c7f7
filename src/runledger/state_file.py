"""The state file's text: the snapshot made from a view, and what a version means that somebody else wrote.

Pure: no file is touched here. Only the values that this package owns are set, in the text that others wrote.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any, Literal

import msgspec

from runledger.clock import to_second
from runledger.document import Document, DocumentDamaged
from runledger.errors import LedgerCorrupt
from runledger.run_state import HALTED, INVALID, JACKED_OUT, RUNNING
from runledger.state_fields import LIST, VERSION, sprint_items
from runledger.state_reading import Reading, Unreadable, interpret, read
from runledger.view import Run, SprintView, View

__all__ = ["Edit", "observe", "render", "renewed", "seal", "verifies"]

DOUBTS_SHOWN = 100
LETTERS_SHOWN = 200
"""Bounds of the ``in_doubt`` list: the file stays small, however many steps are open."""

_DIGEST = ("ledger", "digest")
_RANK = {"pending": 0, "in_progress": 1, "completed": 2}


class Edit(msgspec.Struct, frozen=True):
    """A version of the state file that is not our last one.

    ``edit``: to be recorded; ``document`` is its text, and ``ignored`` says why it is not obeyed, if it is
    not. ``stale``: an old version of ours, put back; ``unreadable``: no state file. Both are kept aside and
    rewritten. ``other-plan``: not ours; never overwritten, and steps wait until it is adopted or gone.
    """

    kind: Literal["edit", "stale", "unreadable", "other-plan"]
    document: str | None
    reason: str
    ignored: str | None = None


# --- writing ----------------------------------------------------------------------------------------------


def render(view: View, in_doubt: list[dict[str, Any]]) -> str | None:
    """The snapshot of a view, sealed; None without a run and while it is ``INVALID``, which is kept as it is.

    ``in_doubt`` has ``name``, ``key``, ``lsn`` and ``attempt`` of each step in doubt.
    """
    run = view.run
    if run is None or run.state == INVALID:
        return None
    if run.document is None:
        document = Document.new(_fresh(run, view))
    else:
        document = Document(run.document)
        _set_run(document, run)
        _set_times(document, run)
        _set_sprints(document, run)
    if run.state != HALTED:
        document.remove(("failure",))
    elif document.kind(("failure",)) == "object":
        for name, value in _failure(run, view).items():
            document.set(("failure", name), value)
    else:
        document.set(("failure",), _failure(run, view))
    _set_ledger(document, view, in_doubt)
    document.end_with_newline()
    return seal(document, view.ledger)


def seal(document: Document, ledger_id: str) -> str:
    """Set the digest and return the text. It covers every byte but its own value, and names one ledger."""
    document.set(_DIGEST, "")
    document.set(_DIGEST, _digest(document.text, ledger_id))
    return document.text


@lru_cache(maxsize=1)  # see ``state_reading.read``
def verifies(text: str, ledger_id: str) -> bool:
    """Whether ``text`` is, to the byte, a version that this ledger wrote."""
    try:
        document = Document(text)
    except DocumentDamaged:
        return False
    said = document.get(_DIGEST)
    if not isinstance(said, str) or not said:
        return False
    document.set(_DIGEST, "")
    return said == _digest(document.text, ledger_id)


def renewed(text: str, *, plan_id: str, branch: str, sprints: list[str], at: str) -> str:
    """The document of a new run over that of an ended one: foreign fields stay, what is ours begins anew."""
    document = Document(text)
    document.set(("plan_id",), plan_id)
    if branch:
        document.set(("branch",), branch)
    if document.kind(("timestamps",)) == "object":
        document.remove(("timestamps", "started_at"))
        document.set(("timestamps", "started"), to_second(at))
    if document.kind(("sprints",)) == "object":
        document.set(LIST, [_item(SprintView(id=name)) for name in sprints])
        for name, value in (("total", len(sprints)), ("completed", 0), ("current", None)):
            document.set(("sprints", name), value)
    document.remove(("failure",))
    return document.text


def _digest(text: str, ledger_id: str) -> str:
    return f"crc32:{zlib.crc32(text.encode(), zlib.crc32(ledger_id.encode())):08x}"


def _fresh(run: Run, view: View) -> dict[str, Any]:
    return {
        "plan_id": run.plan_id,
        "branch": run.branch,
        "state": run.state,
        "timestamps": _times(run),
        "sprints": _sprints(run),
        "options": {},
        "metrics": {},
        **({"failure": _failure(run, view)} if run.state == HALTED else {}),
    }


def _times(run: Run) -> dict[str, str]:
    started = to_second(run.started) or to_second(run.last_activity)
    return {"started": started, "last_activity": to_second(run.last_activity) or started}


def _sprints(run: Run) -> dict[str, Any]:
    return {
        "total": run.total,
        "completed": run.completed,
        "current": run.current,
        "list": [_item(sprint) for sprint in run.sprints],
    }


def _item(sprint: SprintView) -> dict[str, Any]:
    return {"id": sprint.id, "status": sprint.status, "cycles": sprint.cycles}


def _failure(run: Run, view: View) -> dict[str, Any]:
    return {
        "sprint": run.failure_sprint,
        "reason": run.reason or "no reason was given",
        "timestamp": to_second(run.failed_at or "") or to_second(run.last_activity) or to_second(view.at),
    }


def _set_run(document: Document, run: Run) -> None:
    document.set(("state",), run.state)
    if document.kind(("plan_id",)) is None:
        document.set(("plan_id",), run.plan_id)


def _set_times(document: Document, run: Run) -> None:
    times = _times(run)
    kind = document.kind(("timestamps",))
    if kind is None:
        document.set(("timestamps",), times)
    elif kind == "object":
        if not any(document.kind(("timestamps", name)) for name in ("started", "started_at")):
            document.set(("timestamps", "started"), times["started"])
        if to_second(run.last_activity):
            document.set(("timestamps", "last_activity"), times["last_activity"])


def _set_sprints(document: Document, run: Run) -> None:
    """Only what a sprint's move changed is touched: an item whose status stands keeps its bytes."""
    kind = document.kind(("sprints",))
    if kind is None:
        document.set(("sprints",), _sprints(run))
    if kind != "object":
        return
    for name in ("total", "completed", "current"):
        document.set(("sprints", name), getattr(run, name))
    items = sprint_items(document)
    if items is None:
        if document.kind(LIST) is None:
            document.set(LIST, [_item(sprint) for sprint in run.sprints])
        return
    places = {sprint.id: (position, sprint.status) for position, sprint in items}
    for sprint in run.sprints:
        position, status = places.get(sprint.id, (None, ""))
        if position is None:
            document.append(LIST, _item(sprint))
        elif status != sprint.status:
            document.set((*LIST, position, "status"), sprint.status)
            document.set((*LIST, position, "cycles"), sprint.cycles)


def _set_ledger(document: Document, view: View, in_doubt: list[dict[str, Any]]) -> None:
    doubts = [{name: _cut(value) for name, value in doubt.items()} for doubt in in_doubt[:DOUBTS_SHOWN]]
    ledger = {"version": VERSION, "lsn": view.lsn, "digest": "", "in_doubt": doubts}
    if len(in_doubt) > DOUBTS_SHOWN:
        ledger["in_doubt_more"] = len(in_doubt) - DOUBTS_SHOWN
    if document.kind(("ledger",)) != "object":
        document.set(("ledger",), ledger)
        return
    document.remove(("ledger", "in_doubt_more"))
    for name, value in ledger.items():
        document.set(("ledger", name), value)


def _cut(value: Any) -> Any:
    long = isinstance(value, str) and len(value) > LETTERS_SHOWN
    return f"{value[: LETTERS_SHOWN - 1]}…" if long else value


# --- what others wrote ------------------------------------------------------------------------------------


def observe(view: View, data: bytes, written_lsn: int, *, moved_lsn: int = 0) -> Edit | None:
    """What the bytes of the state file mean; None for a version of ours that is not out of date.

    ``written_lsn`` is the LSN of the version that this ledger is known to have written last, 0 if none is.
    ``moved_lsn`` is that of the record that gave the run its state: an edit of a version before it did not
    know of the move, also where no version was written since.

    Raises:
        LedgerCorrupt: a version of ours from beyond the journal's end: the journal lost its last records.
        NewerVersion: a later version of this package wrote it.
    """
    try:
        reading = read(data)
    except Unreadable as error:
        return Edit("unreadable", None, error.reason)
    claim = reading.ledger
    if claim is not None and verifies(reading.document, view.ledger) and data == reading.document.encode():
        return _of_ours(view, reading, claim.lsn, written_lsn)
    run = view.run
    if run is None:
        return Edit("edit", reading.document, "it was written by somebody else")
    if reading.plan_id and run.plan_id and reading.plan_id != run.plan_id:
        return Edit(
            "other-plan", reading.document, f"its plan is {reading.plan_id!r}, the run's is {run.plan_id!r}"
        )
    based = claim is None or claim.lsn >= max(written_lsn, moved_lsn)
    ignored = _ignored(run, reading, based=based)
    if based or ignored is not None:
        return Edit("edit", reading.document, "it was edited by somebody else", ignored)
    return Edit("edit", _forward(reading, run), "it was edited by somebody else, from an older version")


def _of_ours(view: View, reading: Reading, lsn: int, written_lsn: int) -> Edit | None:
    if lsn > view.lsn:
        raise LedgerCorrupt(
            f"The state file covers the journal up to LSN {lsn}, but the journal ends at {view.lsn}: "
            "its last records are lost, steps that they tell of may have happened.",
            hint="To keep what is left and have the loss on record: runledger repair. Then: runledger replay",
            damage=[
                {
                    "file": "sprint-plan-state.json",
                    "offset": 0,
                    "lsn": lsn,
                    "reason": "beyond the journal's end",
                }
            ],
        )
    if lsn < written_lsn:
        return Edit(
            "stale", None, f"an old version was put back: it is of LSN {lsn}, the last one of {written_lsn}"
        )
    run = view.run
    if run is not None and run.unsure and lsn >= run.unsure:
        ignored = "a later record tells how the run went on" if lsn < run.moved else None
        return Edit("edit", reading.document, "it tells of the run what records said that are lost", ignored)
    return None


def _ignored(run: Run, reading: Reading, *, based: bool) -> str | None:
    """Why an edit is not obeyed, if it is not. ``based``: it was made from the current version.

    Nothing else moves a closed run back or takes a halt away; a stop is obeyed whatever it was made from.
    """
    if run.state == JACKED_OUT and reading.state in (RUNNING, HALTED):
        if reading.ledger is not None and based:
            return None
        return f"the run is JACKED_OUT, and this {reading.state} was not made from its last version"
    if run.state == HALTED and reading.state == RUNNING and not based:
        return "the run is HALTED, and this RUNNING was made from an older version"
    return None


def _forward(reading: Reading, run: Run) -> str:
    """An edit made from an older version, without what it would take back: a sprint only moves forward."""
    document = Document(reading.document)
    known = {sprint.id: sprint for sprint in run.sprints}
    done = set()
    for position, said in sprint_items(document) or ():
        sprint = known.get(said.id)
        if sprint is not None and _RANK.get(sprint.status, 0) > _RANK.get(said.status, 0):
            document.set((*LIST, position, "status"), sprint.status)
            document.set((*LIST, position, "cycles"), sprint.cycles)
            done.add(said.id)
    if interpret(document).current in done and document.kind(("sprints",)) == "object":
        document.set(("sprints", "current"), run.current)
    return document.text
