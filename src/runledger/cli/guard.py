"""``step NAME --key K -- CMD``: its place among the commands, its arguments and its help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runledger.cli.command import Command, Text
from runledger.cli.once import step

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=Text.NAME)
    parser.add_argument(
        "--key", metavar="K", help=Text.KEY + "; without one the step is recorded, and never skipped"
    )
    parser.add_argument("--inputs", metavar="S", help=Text.INPUTS)
    parser.add_argument("--idempotent", action="store_true", help=Text.IDEMPOTENT)
    parser.add_argument(
        "--probe",
        metavar="CMD",
        help="a line for sh that looks whether an attempt in doubt happened: 0 it did (its output is the "
        "result), 1 it did not, anything else it cannot tell",
    )
    parser.add_argument(
        "--aborts-on",
        metavar="CODES",
        help="exit statuses that prove that nothing happened, such as 3,4,10-12",
    )
    parser.add_argument(
        "--timeout",
        metavar="T",
        help="end the command, and every process of its group, after so long: 90s, 15m, 2h",
    )


COMMANDS = (
    Command(
        "step",
        "run a command as the effect of a step, once",
        step,
        _arguments,
        more="The command comes after --, is run without a shell, and finds RUNLEDGER_IDEMPOTENCY_KEY in its "
        "environment. What it prints goes through and is recorded; of a committed step it is printed again, "
        "and the command is not run. The last line on standard error is runledger: "
        "outcome=committed|repeated|in-doubt|aborted|refused.",
        takes_command=True,
    ),
)
