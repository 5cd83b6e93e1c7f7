"""``resolve``: a person's decision on a step in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command, Text
from runledger.cli.json_value import json_value
from runledger.cli.output import document, result
from runledger.cli.writing import existing
from runledger.doubt import NOT_HAPPENED, Happened, NotHappened, shown
from runledger.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def resolve(args: Any) -> int:
    """Record the decision; with an LSN it must be that attempt."""
    if args.name is None and args.lsn is None:
        raise UsageError(
            "resolve: which step? give NAME KEY, or --lsn N", hint="runledger replay lists them."
        )
    if args.name is not None and args.key is None and args.lsn is None:
        raise UsageError("resolve: the key is missing", hint="A step without a key is named by --lsn N.")
    outcome: Happened | NotHappened = NOT_HAPPENED
    if args.happened:
        outcome = Happened(json_value(args.result, "--result") if args.result is not None else None)
    elif args.result is not None:
        raise UsageError("resolve: what did not happen has no result")
    with existing(args.root) as ledger:
        lsn = ledger.resolve(args.name, args.key, outcome, reason=args.reason, lsn=args.lsn)
    if args.json:
        document({"lsn": lsn, "name": args.name, "key": args.key, "of": args.lsn, "happened": args.happened})
    else:
        what = f"LSN {args.lsn}" if args.name is None else shown(args.name, args.key)
        result(f"{what}: {'happened' if args.happened else 'did not happen'} (LSN {lsn})")
    return 0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="the step's name")
    parser.add_argument("key", metavar="KEY", nargs="?", help="its key")
    parser.add_argument("--lsn", metavar="N", type=int, help="the attempt, by the LSN of its intent")
    parser.add_argument(
        "--root", metavar="DIR", help="the directory of the ledger, where another is found from here"
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--happened", action="store_true", help="it happened: the step is committed")
    which.add_argument("--not-happened", action="store_true", help="it did not: the step may run again")
    parser.add_argument("--result", metavar="JSON|-", help=Text.RESULT)
    parser.add_argument("--reason", metavar="TEXT", required=True, help="how you know")


COMMANDS = (
    Command(
        "resolve",
        "decide on a step in doubt: it happened, or it did not",
        resolve,
        _arguments,
        more="Refused (76) when the step is settled, in flight, or another attempt than --lsn by now.",
    ),
)
