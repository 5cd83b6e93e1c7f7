"""A handle for the commands that put something on record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runledger.errors import LedgerMissing
from runledger.ledger import Ledger
from runledger.local.files import find_root
from runledger.local.known import inspect

__all__ = ["existing", "moved"]

from runledger.store import Known, Move


@contextmanager
def existing(root: str | None = None) -> Iterator[Ledger]:
    """The ledger of ``root``, by default the one here; nothing is made where there is none.

    Raises:
        LedgerMissing: there is none.
    """
    root = find_root(root)
    _, reader = inspect(root)
    missing = reader.files.ledger is None
    reader.close()
    if missing:
        raise LedgerMissing(f"there is no ledger here ({root})")
    with Ledger.open(root) as ledger:
        yield ledger


def moved(move: Move) -> tuple[int, Known]:
    """Make a move of the run's life; its LSN, and what is known after it."""
    with Ledger.open() as ledger:
        lsn = ledger.store.transition(move)
        return lsn, ledger.store.known()
