"""``heartbeat``: the loop is turning."""

from __future__ import annotations

from typing import Any

from runledger.cli.command import Command
from runledger.cli.output import document
from runledger.cli.writing import moved
from runledger.store import Move

__all__ = ["COMMANDS", "heartbeat"]


def heartbeat(args: Any) -> int:
    """Move ``last_activity``; says nothing unless asked for JSON."""
    lsn, known = moved(Move(what="heartbeat"))
    if args.json:
        run = known.view.run
        document({"lsn": lsn, "last_activity": run.last_activity if run is not None else None})
    return 0


COMMANDS = (
    Command(
        "heartbeat",
        "say that the loop is turning: moves last_activity",
        heartbeat,
        more="It tells live work from a dead session, and nothing about progress.",
    ),
)
