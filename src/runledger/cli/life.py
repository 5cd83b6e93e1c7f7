"""The moves of a run's life: from ``start`` to ``finish``, and what may come between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from runledger.cli.command import Command, Text
from runledger.cli.output import document, paint, result
from runledger.cli.writing import moved
from runledger.errors import LedgerMissing
from runledger.ledger import Ledger
from runledger.store import Known, Move
from runledger.text import escape
from runledger.view import Run

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def start(args: Any) -> int:
    return _make(
        args, Move(what="start", plan_id=args.plan_id, branch=args.branch, sprints=tuple(args.sprint))
    )


def sprint_begin(args: Any) -> int:
    return _make(args, Move(what="sprint", sprint=args.id, status="in_progress"))


def sprint_complete(args: Any) -> int:
    return _make(args, Move(what="sprint", sprint=args.id, status="completed"))


def halt(args: Any) -> int:
    return _make(args, Move(what="halt", reason=args.reason))


def resume(args: Any) -> int:
    return _make(args, Move(what="resume", by=args.by))


def finish(args: Any) -> int:
    return _make(args, Move(what="finish", force=args.force, reason=args.reason))


def abandon(args: Any) -> int:
    return _make(args, Move(what="abandon", reason=args.reason))


def adopt(args: Any) -> int:
    """Take over a state file, and tell everything that was odd in it."""
    with Ledger.open() as ledger:
        before = ledger.store.known()
        if before.view.run is None and before.unclaimed is None and before.problem is None:
            raise LedgerMissing(f"there is no state file here to adopt ({ledger.root})")
        lsn = ledger.store.transition(Move(what="adopt", force=args.force))
        known = ledger.store.known()
    return _told(args, lsn, known, before.notes)


def _make(args: Any, move: Move) -> int:
    lsn, known = moved(move)
    return _told(args, lsn, known, [])


def _told(args: Any, lsn: int, known: Known, notes: list[str]) -> int:
    run = cast("Run", known.view.run)
    if args.json:
        sprints = {"total": run.total, "completed": run.completed, "list": run.sprints}
        document(
            {
                "lsn": lsn,
                "state": run.state,
                "plan_id": run.plan_id,
                "branch": run.branch,
                "sprint": run.current,
                "sprints": sprints,
                "reason": run.reason,
                "notes": notes,
            }
        )
        return 0
    about = [f"plan {escape(run.plan_id)}"]
    about += [f"branch {escape(run.branch)}"] if run.branch else []
    about += [f"sprint {escape(run.current)}"] if run.current else []
    about += [f"{run.completed} of {run.total} sprints completed"] if run.total else []
    about += [escape(run.reason)] if run.reason else []
    result(" · ".join([paint(run.state), *about]))
    for note in notes:
        result(f"note: {escape(note)}")
    return 0


# --- arguments ----------------------------------------------------------------------------------------------


def _start(parser: ArgumentParser) -> None:
    parser.add_argument("--plan-id", metavar="ID", help="what the run works off; generated unless given")
    parser.add_argument("--branch", metavar="B", help="the branch that the run belongs to")
    parser.add_argument(
        "--sprint",
        metavar="ID",
        action="append",
        default=[],
        help="a sprint of the plan; give it once for each",
    )


def _sprint(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the sprint: letters, digits and . _ -")


def _reason(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", required=True, help=Text.REASON)


def _resume(parser: ArgumentParser) -> None:
    parser.add_argument("--by", metavar="WHO", help="who decided it")


def _finish(parser: ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="finish although something is undone")
    parser.add_argument("--reason", metavar="TEXT", help=Text.REASON + "; needed with --force")


def _adopt(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--force",
        action="store_true",
        help="although the file carries another checkout's ledger, or a run of ours goes on",
    )


COMMANDS = (
    Command("start", "begin a run", start, _start),
    Command("sprint begin", "make a sprint the current one", sprint_begin, _sprint),
    Command("sprint complete", "put on record that a sprint is done", sprint_complete, _sprint),
    Command("halt", "stop the run until somebody resumes it", halt, _reason),
    Command("resume", "let a halted run go on", resume, _resume),
    Command(
        "finish",
        "end the run: JACKED_OUT",
        finish,
        _finish,
        more="Refused (77) while a step is open, a sprint is not completed or nothing was committed.",
    ),
    Command("abandon", "give the run up, unfinished as it is", abandon, _reason),
    Command("adopt", "take over the run of a state file that somebody else wrote", adopt, _adopt),
)
