"""``wake``, ``status``, ``is-running`` and ``heartbeat``, as the parser knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runledger.cli import quick
from runledger.cli.command import Command

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def _quiet(parser: ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only exit 0 or 1")


COMMANDS = (
    Command(
        "wake",
        "say what a woken agent does now: the word, then one line",
        quick.wake,
        more="Exits 0 only where the advice is to resume; else 76 (settle a doubt first), 77 (not RUNNING, "
        "or not ours) or 78 (no run, or it cannot be read).",
    ),
    Command("status", "say where the run stands", quick.status),
    Command("is-running", "exit 0 when a run of ours is RUNNING, else 1", quick.is_running, _quiet),
    Command(
        "heartbeat",
        "say that the loop is turning: moves last_activity",
        quick.heartbeat,
        more="It tells live work from a dead session, and nothing about progress.",
    ),
)
