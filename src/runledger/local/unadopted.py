"""What is refused before anything is made on the disk: steps beside a state file that no journal speaks for, and moves
of a run that is not there. Neither may leave a ledger behind."""

from __future__ import annotations

from runledger.errors import LedgerMissing
from runledger.local.files import Files
from runledger.local.group_commit import Ticket
from runledger.local.reader import Reader
from runledger.store import Claim, Move

__all__ = ["refuse_unadopted"]


def refuse_unadopted(files: Files, reader: Reader, batch: list[Ticket]) -> None:
    """Refuse a batch that would be the first of a ledger, and must not be.

    Raises:
        AdoptionRequired, RunHalted, RunFinished, RunStateInvalid: what the state file says to steps.
        LedgerMissing: there is no run to move.
    """
    reader.refresh()
    snapshot = reader.snapshot
    if files.ledger is None and snapshot is not None and any(type(t.request) is Claim for t in batch):
        snapshot.look(reader.view, keep=False)
        if snapshot.problem is not None:
            raise snapshot.problem
    if files.ledger is None and all(type(t.request) is Move and t.request.what != "start" for t in batch):
        _refuse_moves(reader, batch)


def _refuse_moves(reader: Reader, batch: list[Ticket]) -> None:
    snapshot = reader.snapshot
    if snapshot is not None:
        snapshot.look(reader.view, keep=False)
    for ticket in batch:
        if ticket.request.what == "adopt":
            if snapshot is None or snapshot.missing:
                raise LedgerMissing("there is no state file here to adopt")
        else:
            if snapshot is not None and snapshot.problem is not None:
                raise snapshot.problem
            raise LedgerMissing(f"there is no run here to {ticket.request.what}")
