"""``advise`` and ``report``: what the journal says of the run's boundaries, and of its course."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command
from runledger.cli.looking import opened
from runledger.cli.telling import add_forms, ready, tell
from runledger.errors import LedgerMissing

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def _present() -> None:
    with opened() as (_, reader):
        if reader.files.ledger is None:
            raise LedgerMissing(f"there is no ledger here ({reader.files.root})")


def advise(args: Any) -> int:
    """How fine to checkpoint this run."""
    ready(args)
    _present()
    from runledger.advice import advise as advice_on
    from runledger.advice import report as told
    from runledger.pictures.progress import Progress

    with Progress("reading the journal") as progress:
        found = advice_on(unit=args.cost, measure=not args.no_measure, told=progress)
    tell(args, told(found))
    return 0


def _advise(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--cost",
        metavar="COLUMN",
        default="seconds",
        help="count in what marks say under COLUMN, such as tokens, and not in seconds",
    )
    parser.add_argument(
        "--no-measure",
        action="store_true",
        help="write nothing: take a record's cost from the journal alone, or say that it is not known",
    )
    add_forms(parser)


def report(args: Any) -> int:
    """The course of the run."""
    ready(args)
    _present()
    from runledger.past import look
    from runledger.pictures.progress import Progress
    from runledger.timeline import report as told

    with Progress("reading the journal") as progress:
        past = look(told=progress)
    tell(args, told(past))
    return 0


COMMANDS = (
    Command(
        "report",
        "tell the course of the run: steps, attempts, deaths, doubts, progress against the plan",
        report,
        add_forms,
        more="Reads only.",
    ),
    Command(
        "advise",
        "tell from the journal which steps are too coarse or too fine, and what would be best",
        advise,
        _advise,
        more="Where the journal has too few gaps to tell what a record costs, that is measured for a moment in a "
        "scratch directory beside it.",
    ),
)
