"""``step``: a command as the effect of a step, run once.

Every command of a script may be wrapped in it, so it loads what it needs: no parser, see ``plain_step``, and the store
without the ``Ledger`` that programs hold.
"""

from __future__ import annotations

from typing import Any

from runledger.cli.effect import Effect, Outcome
from runledger.cli.failing import report
from runledger.cli.output import note, outcome_line
from runledger.clock import parse_duration
from runledger.errors import LedgerError, StepInDoubt, UsageError
from runledger.keys import check_key, check_name, value_inputs
from runledger.local.files import find_root
from runledger.local.store import LocalStore
from runledger.store import Claim

__all__ = ["step"]


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
    effect = Effect(args.command, args.probe, _codes_of(args.aborts_on or ""), timeout)
    store = LocalStore(find_root(None))
    try:
        return effect.run(store, claim, outcome)
    finally:
        _close(store, claim, outcome)


def _close(store: LocalStore, claim: Claim, outcome: Outcome) -> None:
    """Leave. If that fails, what is durable stays true; the records of an idempotent step are not yet."""
    try:
        store.close()
    except LedgerError as error:
        if claim.idempotent:
            outcome.word = "in-doubt"
            raise
        note(error.message)


def _codes_of(text: str) -> frozenset[int]:
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
