"""Looking at the ledger of this place without touching it, for the commands that only tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from runledger.doubt import StepReport
from runledger.errors import LedgerError
from runledger.local.files import find_root
from runledger.local.known import inspect
from runledger.local.reader import Reader
from runledger.run_state import ABSENT, INVALID
from runledger.status import SCHEMA, Status, status_of
from runledger.store import Known
from runledger.text import escape

__all__ = ["Sight", "line_of", "looked", "opened", "unusable"]


class Sight(NamedTuple):
    """What was seen: ``known`` is None where nothing can be read, and ``status`` says why."""

    status: Status
    known: Known | None


def looked() -> Sight:
    """The status here, INVALID where the ledger cannot be read as one of this version.

    Raises:
        LedgerError: for causes that are not the ledger's own, such as a disk that refuses.
    """
    root = find_root(None)
    try:
        known, reader = inspect(root)
    except LedgerError as error:
        if error.exit_code != 78:
            raise
        return Sight(unusable(error.message), None)
    reader.close()
    return Sight(status_of(known, root), known)


def unusable(reason: str) -> Status:
    """The status of what cannot be read."""
    return Status(
        schema=SCHEMA,
        state=INVALID,
        plan_id=None,
        sprint=None,
        lsn=0,
        checkpoint_lsn=0,
        last_activity=None,
        age_s=None,
        stale=False,
        owner=None,
        advice="none",
        reason=reason,
        committed=0,
        in_flight=[],
        in_doubt=[],
        last_commit=None,
    )


@contextmanager
def opened() -> Iterator[tuple[Known, Reader]]:
    """What is known here, and the reader to look further with."""
    known, reader = inspect(find_root(None))
    try:
        yield known, reader
    finally:
        reader.close()


def code_of(sight: Sight) -> int:
    """78 for what is absent, invalid or damaged, else 0."""
    damaged = sight.known is None or bool(sight.known.view.damage)
    return 78 if damaged or sight.status.state in {ABSENT, INVALID} else 0


def line_of(step: StepReport) -> str:
    """A step that was started and never committed, on one line."""
    named = escape(step.name) if step.key is None else f"{escape(step.name)} {escape(step.key)}"
    told = (
        f"{named} (LSN {step.lsn}, attempt {step.attempt}, started {step.started}): {escape(step.owner.how)}"
    )
    if step.failure is not None:
        told += f"; it ended with {escape(f'{step.failure.type}: {step.failure.message}')}"
    if step.marks:
        told += f"; last mark: {escape(step.marks[-1].label)}"
    return told
