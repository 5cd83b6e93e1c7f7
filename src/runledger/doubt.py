"""A step in doubt, for whoever settles it: a probe, a person, a program; and the words that do."""

from __future__ import annotations

from typing import Any

import msgspec

from runledger.errors import DiskRefused
from runledger.record import Failure
from runledger.store import Fate
from runledger.text import escape, shell_quote
from runledger.view import Damage, MarkView, OpenStep, View

__all__ = [
    "NOT_HAPPENED",
    "Happened",
    "MarkReport",
    "NotHappened",
    "OwnerReport",
    "StepReport",
    "loss_lines",
    "report_of",
    "resolve_lines",
]


class Happened:
    """What a probe returns, or ``resolve`` is told, when the effect is there: with the result to record."""

    __slots__ = ("result",)

    def __init__(self, result: Any = None) -> None:
        self.result = result

    def __repr__(self) -> str:
        return "Happened(...)"


class NotHappened:
    """The type of ``NOT_HAPPENED``: the effect is not there."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NOT_HAPPENED"

    def __reduce__(self) -> str:
        return "NOT_HAPPENED"


NOT_HAPPENED = NotHappened()


class MarkReport(msgspec.Struct, frozen=True):
    """A breadcrumb: when, what, and the data that came with it."""

    at: str
    label: str
    data: Any = None


class OwnerReport(msgspec.Struct, frozen=True):
    """Who holds or held the step, whether they live, and how that is known. ``lease``: an external session, which has
    nothing but its lease."""

    id: str
    pid: int | None
    host: str | None
    since: str | None
    alive: bool
    how: str
    lease: str | None = None


class StepReport(msgspec.Struct, frozen=True):
    """A step that was started and never committed."""

    name: str
    key: str | None
    lsn: int
    attempt: int
    started: str
    owner: OwnerReport
    marks: list[MarkReport]
    failure: Failure | None
    scope: str = "run"
    inputs: str | None = None
    idempotent: bool = False
    probed: bool = False
    parent: int | None = None


def mark_report(mark: MarkView) -> MarkReport:
    """A mark with its data decoded."""
    return MarkReport(mark.at, mark.label, _told(mark.data) if memoryview(mark.data) else None)


def _told(raw: msgspec.Raw) -> Any:
    """The value of a payload; where Python has none for it, its JSON as a text: whoever wrote it, a report comes."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return bytes(raw).decode("utf-8", "replace")


def report_of(step: OpenStep, fate: Fate) -> StepReport:
    """The report of an open step."""
    by = step.by
    return StepReport(
        name=step.name,
        key=step.key,
        lsn=step.lsn,
        attempt=step.attempt,
        started=step.started,
        owner=OwnerReport(
            id=step.owner,
            pid=by.pid if by is not None and step.lease is None else None,
            host=by.host if by is not None else None,
            since=step.started,
            alive=fate.alive,
            how=fate.how,
            lease=step.lease,
        ),
        marks=[mark_report(m) for m in step.marks],
        failure=step.failure,
        scope=step.scope,
        inputs=step.inputs,
        idempotent=step.idempotent,
        probed=step.probed,
        parent=step.parent,
    )


def resolve_lines(step: StepReport | OpenStep, root: str = "") -> list[str]:
    """The two command lines that settle a doubtful step: it happened, it did not. They name the attempt, so that one
    that was looked up too long ago is refused, and the ledger at ``root`` where they would find another from here.

    Any POSIX shell reads them: a name or key that it could not is left out, since the number of the attempt suffices.
    """
    which = f"--lsn {step.lsn}{_at(root)}"
    if step.key is not None and all(_is_plain_word(word) for word in (step.name, step.key)):
        which = f"{shell_quote(step.name)} {shell_quote(step.key)} {which}"
    resolve = f"runledger resolve {which}"
    return [
        f"{resolve} --happened --reason 'looked: it is there'",
        f"{resolve} --not-happened --reason 'looked: it is not there'",
    ]


def _is_plain_word(text: str) -> bool:
    return not text.startswith("-") and escape(text) == text


def loss_lines(damage: Damage, view: View, root: str = "") -> list[str]:
    """The command lines that settle a loss, once the steps that are legible in it are settled."""
    if any(step.damaged and damage.first <= lsn <= damage.last for lsn, step in view.open.items()):
        return []
    resolve = f"runledger resolve --lsn {damage.first}{_at(root)}"
    return [
        f"{resolve} --happened --reason 'looked: nothing is missing'",
        f"{resolve} --not-happened --reason 'looked: nothing of it happened'",
    ]


def _at(root: str) -> str:
    """What makes a command line find the ledger at ``root``, where it would find another one here."""
    if not root:
        return ""
    from os.path import realpath

    from runledger.local.files import find_root

    try:
        here = realpath(find_root(None)) == realpath(root)
    except (DiskRefused, OSError):
        here = False
    return "" if here else f" --root {shell_quote(root)}"


def shown(name: str, key: str | None) -> str:
    """A step's name and key on one line of a terminal."""
    return escape(name) if key is None else f"{escape(name)} {escape(key)}"
