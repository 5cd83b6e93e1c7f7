"""``demo``: a real run, killed at the worst places and brought to its end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def demo(args: Any) -> int:
    from runledger.demo import main

    return main(without_ledger=args.without_ledger, as_json=args.json, keep=args.keep, out=sys.stdout)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--without-ledger", action="store_true", help="the same plan under the same kills, without a ledger"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the scratch directory, and say where it is"
    )


COMMANDS = (
    Command(
        "demo",
        "work a real plan to its end under kills, and count what the world saw",
        demo,
        _arguments,
        more="Everything it touches is in a scratch directory of its own.",
    ),
)
