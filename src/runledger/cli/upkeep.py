"""``verify`` and ``compact``: is it sound, and make it short."""

from __future__ import annotations

from typing import Any

from runledger.cli.command import Command
from runledger.cli.looking import opened
from runledger.cli.output import document, result
from runledger.cli.writing import existing
from runledger.errors import LedgerMissing
from runledger.text import escape
from runledger.verify import SCHEMA, Finding
from runledger.verify import verify as findings_of

__all__ = ["COMMANDS"]


def verify(args: Any) -> int:
    """Read everything again and print what does not agree; 1 where something does not."""
    with opened() as (known, reader):
        if reader.files.ledger is None and known.unclaimed is None and known.problem is None:
            raise LedgerMissing(f"there is no ledger here ({reader.files.root})")
    findings = findings_of()
    if args.json:
        document({"schema": SCHEMA, "ok": not findings, "findings": findings})
    else:
        for finding in findings:
            result(_line(finding))
        if not findings:
            result("everything agrees")
    return 1 if findings else 0


def _line(finding: Finding) -> str:
    where = escape(finding.file)
    where += "" if finding.offset is None else f", offset {finding.offset}"
    where += "" if finding.lsn is None else f", LSN {finding.lsn}"
    return f"{where}: {escape(finding.reason)}"


def compact(args: Any) -> int:
    """Fold and drop, and say what that came to."""
    with existing() as ledger:
        done = ledger.compact()
        status = ledger.status()
    closed = status.reason if status.advice == "resume" else None
    if args.json:
        document({**done, "advice": closed})
        return 0
    result(f"{done['folded']} steps folded up to LSN {done['upto']}, {done['segments']} segments dropped")
    if closed is not None:
        result(escape(closed))
    return 0


COMMANDS = (
    Command(
        "verify",
        "read everything again, derive everything again, and print what does not agree",
        verify,
        more="Exits 1 when something is wrong. A torn tail is not: a crash leaves one.",
    ),
    Command(
        "compact",
        "fold what is settled into the history and drop what is folded",
        compact,
        more="Committed steps and their results stay known. Safe at any time.",
    ),
)
