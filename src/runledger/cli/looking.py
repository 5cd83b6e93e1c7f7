"""Looking at the ledger of this place without touching it, for the commands that only tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runledger.answers import Sight
from runledger.errors import LedgerError
from runledger.local.files import find_root
from runledger.local.known import inspect
from runledger.local.reader import Reader
from runledger.run_state import INVALID
from runledger.status import SCHEMA, Status, status_of
from runledger.store import Known

__all__ = ["looked", "opened", "unusable"]


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
