"""``runledger bench steps``: what to expect of this disk, in less than 20 seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from runledger.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["add_arguments", "main", "run"]

SECONDS = 12.0


def add_arguments(parser: ArgumentParser) -> None:
    """What ``bench steps`` takes."""
    parser.add_argument(
        "--directory", metavar="DIR", help="measure on this directory's disk (else the working directory's)"
    )
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"about how long to measure ({SECONDS:g})"
    )


def run(args: Any, out: TextIO | None = None) -> int:
    """Measure and tell; returns the exit code: 0, whatever the disk is like.

    Raises:
        UsageError: there is no such directory.
        DiskRefused: it cannot be written to.
    """
    from runledger.bench.report import as_json, as_text
    from runledger.bench.steps import measure

    out = out or sys.stdout
    directory = Path(args.directory or ".").resolve()
    if not directory.is_dir():
        raise UsageError(f"{directory} is no directory")
    if not 0.05 <= args.seconds <= 600:
        raise UsageError("--seconds is between 0.05 and 600")
    try:
        measured = measure(str(directory), args.seconds)
    except OSError as error:
        from runledger.errors import DiskRefused

        raise DiskRefused(
            f"cannot measure in {directory}: {error.strerror}", path=str(directory), errno=error.errno
        ) from error
    if args.json:
        import msgspec

        out.write(msgspec.json.encode(as_json(measured)).decode() + "\n")
    else:
        for line in as_text(measured):
            out.write(line + "\n")
    return 0


def main(argv: list[str]) -> int:
    """The command with its own parser: ``main(["--json"])``."""
    from argparse import ArgumentParser

    parser = ArgumentParser(prog="runledger bench steps")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    add_arguments(parser)
    return run(parser.parse_args(argv))
