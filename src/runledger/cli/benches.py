"""``bench steps`` and ``bench granularity``: what this machine and its disk make of it all."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command
from runledger.cli.telling import add_forms, ready, tell
from runledger.clock import parse_duration
from runledger.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]

SECONDS = 120.0
WORKERS = 4


def steps(args: Any) -> int:
    """What a step costs here."""
    from runledger.bench.command import run

    return run(args)


def _steps(parser: ArgumentParser) -> None:
    from runledger.bench.command import add_arguments

    add_arguments(parser)


def granularity(args: Any) -> int:
    """The trade-off, measured; 0 whether or not the model agrees."""
    ready(args)
    from runledger.pictures.progress import Progress
    from runledger.sweep.measure import measured
    from runledger.sweep.plan import plan
    from runledger.sweep.pool import sweep
    from runledger.sweep.report import report

    directory = Path(args.directory or ".").resolve()
    if not directory.is_dir():
        raise UsageError(f"{directory} is no directory")
    planned = plan(
        mean_time=parse_duration(args.mean_time),
        compress=args.compress,
        work=None if args.work is None else parse_duration(args.work),
        kind=args.units,
        budget=args.seconds,
        workers=args.workers,
        seed=args.seed,
        points=args.points,
        shortest=None if args.shortest is None else parse_duration(args.shortest),
        longest=None if args.longest is None else parse_duration(args.longest),
        durations=_durations() if args.units == "ledger" else (),
    )
    began = time.monotonic()
    with Progress("measuring") as progress:
        runs = sweep(planned, str(directory), progress)
    tell(args, report(measured(planned, runs, time.monotonic() - began)))
    return 0


def _durations() -> list[float]:
    """How long the committed steps of the ledger here took."""
    from runledger.past import look

    return [attempt.seconds for attempt in look().attempts if attempt.status == "committed"]


def _granularity(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"begin no new run after so long ({SECONDS:g})"
    )
    parser.add_argument(
        "--mean-time", metavar="T", default="8h", help="between deaths, before compression: 8h unless given"
    )
    parser.add_argument(
        "--work", metavar="T", help="of one run, before compression; three times --mean-time unless given"
    )
    parser.add_argument(
        "--compress",
        type=float,
        metavar="N",
        help="let a real second stand for N, so that deaths come sooner; unless given, one each half second",
    )
    parser.add_argument(
        "--units",
        choices=("fixed", "exponential", "heavy", "ledger"),
        default="fixed",
        help="how long the units of work are; ledger: as the committed steps of the ledger here",
    )
    parser.add_argument(
        "--shortest",
        metavar="T",
        help="the first interval, before compression; a 500th of --mean-time unless given",
    )
    parser.add_argument(
        "--longest", metavar="T", help="the last one; one and a quarter of --mean-time unless given"
    )
    parser.add_argument("--points", type=int, default=10, help="intervals to measure (10)")
    parser.add_argument(
        "--workers", type=int, default=WORKERS, help=f"runs at a time, which mostly sleep ({WORKERS})"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the kills and of uneven units (1)")
    parser.add_argument(
        "--directory", metavar="DIR", help="keep the ledgers there (else in the working directory)"
    )
    add_forms(parser)


COMMANDS = (
    Command(
        "bench steps",
        "measure what a step costs on this disk, and whether its syncs are real",
        steps,
        _steps,
    ),
    Command(
        "bench granularity",
        "measure how fine to checkpoint: real records, real kills, real restarts, beside the model",
        granularity,
        _granularity,
        more="Takes about two minutes. Everything it writes is in scratch directories, which it removes.",
    ),
)
