"""``status`` and ``is-running``: where the run stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command
from runledger.cli.looking import code_of, line_of, looked
from runledger.cli.output import document, paint, result
from runledger.run_state import RUNNING
from runledger.status import Status
from runledger.text import escape

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS", "is_running", "status"]


def status(args: Any) -> int:
    """Print where the run stands; 78 where there is nothing sound to tell of."""
    sight = looked()
    if args.json:
        document(sight.status)
    else:
        for line in _lines(sight.status):
            result(line)
    return code_of(sight)


def _lines(status: Status) -> list[str]:
    about = [f"plan {escape(status.plan_id)}"] if status.plan_id else []
    about += [f"sprint {escape(status.sprint)}"] if status.sprint else []
    about += [f"branch {escape(status.branch)}"] if status.branch else []
    lines = [" · ".join([paint(status.state), *about])]
    advice = f"advice: {status.advice}"
    lines.append(f"{advice} ({escape(status.reason)})" if status.reason else advice)
    if status.last_activity:
        stale = ", stale: that says nothing of why" if status.stale else ""
        ago = "" if status.age_s is None else f", {status.age_s:.0f} s ago{stale}"
        lines.append(f"last activity {escape(status.last_activity)}{ago}")
    lines.append(f"LSN {status.lsn}; the state file covers {status.checkpoint_lsn}")
    counts = (
        f"{status.committed} committed, {len(status.in_flight)} in flight, {len(status.in_doubt)} in doubt"
    )
    lines.append(f"{counts}; commits are {status.commit}")
    lines += [f"in flight: {line_of(step)}" for step in status.in_flight]
    lines += [f"in doubt: {line_of(step)}" for step in status.in_doubt]
    if status.owner is not None:
        lines.append(f"owner {escape(status.owner.id)}: {escape(status.owner.how)}")
    return lines


def is_running(args: Any) -> int:
    """0 when a run of ours is RUNNING, else 1."""
    sight = looked()
    status = sight.status
    foreign = sight.known is None or sight.known.problem is not None or bool(sight.known.view.damage)
    running = status.state == RUNNING and not foreign and status.advice in {"resume", "resolve"}
    if args.json:
        document({"running": running, "state": status.state, "reason": status.reason})
    elif not args.quiet:
        result("yes" if running else f"no: {paint(status.state)}" + _because(status))
    return 0 if running else 1


def _because(status: Status) -> str:
    return f" ({escape(status.reason)})" if status.reason else ""


def _quiet(parser: ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing, only exit 0 or 1")


COMMANDS = (
    Command("status", "say where the run stands", status),
    Command("is-running", "exit 0 when a run of ours is RUNNING, else 1", is_running, _quiet),
)
