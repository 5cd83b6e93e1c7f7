"""``step NAME --key K -- CMD``: a command as the effect of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runledger.cli.command import Command, Text
from runledger.cli.effect import Effect, Outcome
from runledger.cli.failing import report
from runledger.cli.output import note, outcome_line
from runledger.clock import parse_duration
from runledger.errors import LedgerError, StepInDoubt, UsageError
from runledger.keys import check_key, check_name, value_inputs
from runledger.ledger import Ledger
from runledger.store import Claim

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


def step(args: Any) -> int:
    """Run the command unless the step is committed; the last line on standard error tells which it was."""
    outcome = Outcome()
    try:
        code = _step(args, outcome)
    except KeyboardInterrupt:
        code = 130
    except Exception as error:  # noqa: BLE001 - the last line must come after any message
        if isinstance(error, StepInDoubt):
            outcome.word = "in-doubt"
        code = report(error, as_json=args.json)
    outcome_line(outcome.word)
    return code


def _step(args: Any, outcome: Outcome) -> int:
    check_name(args.name)
    if args.key is not None:
        check_key(args.key)
    claim = Claim(
        name=args.name,
        key=args.key,
        inputs=None if args.inputs is None else value_inputs(args.inputs),
        idempotent=args.idempotent,
        probed=args.probe is not None,
    )
    timeout = None if args.timeout is None else parse_duration(args.timeout)
    if timeout == 0:
        raise UsageError("--timeout: no command can be done in no time")
    effect = Effect(args.command, args.probe, codes_of(args.aborts_on or ""), timeout)
    ledger = Ledger.open()
    try:
        return effect.run(ledger, claim, outcome)
    finally:
        _close(ledger, claim, outcome)


def _close(ledger: Ledger, claim: Claim, outcome: Outcome) -> None:
    """Leave. If that fails, what is durable stays true; the records of an idempotent step are not yet."""
    try:
        ledger.close()
    except LedgerError as error:
        if claim.idempotent:
            outcome.word = "in-doubt"
            raise
        note(error.message)


def codes_of(text: str) -> frozenset[int]:
    """Exit statuses as ``3,4,10-12``. Raises UsageError for anything else; 0 is no failure."""
    codes: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdigit() and 1 <= int(end) <= 255 for end in ends) or int(
            ends[0]
        ) > int(ends[1]):
            raise UsageError(f"--aborts-on: {part!r} is no exit status from 1 to 255 and no range of them")
        codes.update(range(int(ends[0]), int(ends[1]) + 1))
    return frozenset(codes)


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
