"""``repair``: make a spoiled ledger usable again, and say what that cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command
from runledger.cli.output import document, result
from runledger.doubt import shown
from runledger.repair import RepairReport
from runledger.repair import repair as repaired
from runledger.text import escape

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]

_DONE = {
    "nothing": "nothing to repair: every file is what was written",
    "finished": "the repair that was cut off is finished",
    "repaired": "repaired; the ledger as it was is kept in {kept}",
    "would repair": "this is what a repair would do; nothing was changed",
}


def repair(args: Any) -> int:
    """Repair, and tell what was put right, what is lost, and what is to be settled."""
    report = repaired(dry_run=args.dry_run)
    if args.json:
        document(report)
    else:
        _tell(report)
    return 0


def _tell(report: RepairReport) -> None:
    result(_DONE[report.done].format(kept=escape(report.kept or "")))
    for change in report.put_right:
        result(f"put right: {escape(change.file)}, offset {change.offset}: {escape(change.what)}")
    for loss in report.lost:
        result(
            f"lost: {escape(loss.file)}, offset {loss.offset}: LSN {loss.first} to {loss.last}, "
            f"{loss.intents} intents among them: {escape(loss.reason)}"
        )
    if report.unknown:
        result(
            f"{report.unknown} lost intents are of steps that nothing tells: until they are resolved, every step "
            "that nothing is known of is refused"
        )
    for step in report.in_doubt:
        why = "its intent is lost" if step.damaged else "it was started and its outcome is not on record"
        result(f"in doubt: {shown(step.name, step.key)} (LSN {step.lsn}, attempt {step.attempt}): {why}")
    for line in report.resolve:
        result(f"  {line}")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")


COMMANDS = (
    Command(
        "repair",
        "make a damaged ledger usable again, and say what is lost",
        repair,
        _arguments,
        more="Builds a new ledger from everything that is intact and keeps the old one aside in "
        ".run/ledger.broken-N. Refused while an owner is alive. What is lost stays known as lost: its steps are in "
        "doubt until they are resolved. May be cut off anywhere and run again.",
    ),
)
