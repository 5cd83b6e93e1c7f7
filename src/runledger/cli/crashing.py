"""``crashtest -- CMD``: kill the user's own program at each boundary that the ledger sees, and tell what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command
from runledger.cli.output import document, note, result
from runledger.clock import parse_duration
from runledger.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def crashtest(args: Any) -> int:
    """Test; 0 only when nothing ran twice silently and nothing was lost."""
    from runledger.crashtest import report
    from runledger.crashtest.command import crashtest as test

    timeout = parse_duration(args.timeout)
    if timeout <= 0 or args.runs < 1:
        raise UsageError("--timeout and --runs are more than nothing")
    tested = test(
        args.command,
        directory=args.dir,
        count=args.count,
        runs=args.runs,
        timeout=timeout,
        keep=args.keep,
        told=note,
    )
    if args.json:
        document(report.as_json(*tested))
    else:
        for line in report.as_text(*tested):
            result(line)
    return 1 if any(finding.violation for finding in tested.findings) else 0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--count",
        metavar="CMD",
        help="a line for sh, run before and after: prints how many effects the outside has seen, or a line for "
        "each, where a line that comes twice is an effect that happened twice",
    )
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="copy this directory (else the one of the ledger, or the working directory)",
    )
    parser.add_argument("--runs", metavar="N", type=int, default=100, help="kill at most so often (100)")
    parser.add_argument(
        "--timeout", metavar="T", default="60s", help="how long one start of the program may take (60s)"
    )
    parser.add_argument("--keep", action="store_true", help="leave the copies, and say where they are")


COMMANDS = (
    Command(
        "crashtest",
        "kill a program at each boundary that its ledger sees, restart it, and tell what ran twice",
        crashtest,
        _arguments,
        more="The program runs in scratch copies of the directory, without a ledger and a state file at first. "
        "Its effects outside of the directory are real: point it at a test system, it finds RUNLEDGER_CRASHTEST "
        "in its environment.",
        takes_command=True,
    ),
)
