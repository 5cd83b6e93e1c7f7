"""A step held by a shell: ``begin`` gives a token, and ``mark``, ``commit`` and ``abort`` take it.

The shell is no process that could be proved alive or dead, so all that stands for it is a lease.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec.json import decode

from runledger.cli.command import Command, Text
from runledger.cli.json_value import json_value
from runledger.cli.output import document, note, result
from runledger.cli.writing import existing
from runledger.clock import now, parse, parse_duration, stamp
from runledger.doubt import shown
from runledger.errors import LeaseLapsed, ResultNotStored, StepCommitted, TokenUnknown, UsageError
from runledger.keys import check_key, check_name, idempotency_key, value_inputs
from runledger.ledger import Ledger
from runledger.outcome import outcome_of, result_of
from runledger.refusals import in_doubt, in_flight
from runledger.step import encode_data
from runledger.store import (
    Aborted,
    Claim,
    Claimed,
    Committed,
    Doubtful,
    Happened,
    InFlight,
    Note,
    Settle,
    Store,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]

LEASE = "15m"

_TOKEN = re.compile(r"rl1-([1-9][0-9]{0,17})-([0-9a-f]{8,64})", re.ASCII)


class Token(NamedTuple):
    """Names one attempt, and shows that its bearer began it."""

    lsn: int
    nonce: str

    def __str__(self) -> str:
        return f"rl1-{self.lsn}-{self.nonce}"


def token_of(text: str) -> Token:
    """Read a token. Raises TokenUnknown for text that is none."""
    found = _TOKEN.fullmatch(text.strip())
    if found is None:
        raise TokenUnknown(
            f"{text!r} is no token", hint=f"{Text.TOKEN.capitalize()}, such as rl1-12-3f9a0c5d7e21."
        )
    return Token(int(found[1]), found[2])


# --- begin --------------------------------------------------------------------------------------------------


def begin(args: Any) -> int:
    """Claim the step and print its token; a committed one prints none and exits 79."""
    check_name(args.name)
    check_key(args.key)
    lease = parse_duration(args.lease)
    if lease <= 0:
        raise UsageError("--lease: a lease must last for a while")
    claim = Claim(
        name=args.name,
        key=args.key,
        inputs=None if args.inputs is None else value_inputs(args.inputs),
        idempotent=args.idempotent,
        lease=lease,
    )
    with Ledger.open() as ledger:
        verdict = ledger.store.claim(claim)
        if type(verdict) is Claimed:
            _hand_over(args, ledger, claim, verdict)
            return 0
        if type(verdict) is Committed:
            raise _committed(ledger.store, verdict)
        if type(verdict) is InFlight:
            raise in_flight(verdict)
        raise in_doubt(cast("Doubtful", verdict))


def _hand_over(args: Any, ledger: Ledger, claim: Claim, claimed: Claimed) -> None:
    """Print the token. If nobody can get it, nobody will run the effect: the claim is taken back."""
    token = Token(claimed.lsn, claimed.nonce or "")
    try:
        if args.json:
            document(
                {
                    "token": str(token),
                    "lsn": claimed.lsn,
                    "attempt": claimed.attempt,
                    "lease": stamp((parse(now()) or 0.0) + (claim.lease or 0.0)),
                    "idempotency_key": idempotency_key(
                        ledger.ledger_id(), claimed.run, claim.name, claim.key, claimed.lsn
                    ),
                }
            )
        else:
            result(str(token))
        sys.stdout.flush()
    except OSError:
        outcome = Aborted(reason="its token could not be printed, so that nobody has it")
        ledger.store.settle(Settle(lsn=token.lsn, outcome=outcome, nonce=token.nonce))
        raise


def _committed(store: Store, verdict: Committed) -> StepCommitted:
    settled = verdict.settled
    try:
        recorded = result_of(store, settled)
    except ResultNotStored:
        recorded = None
    return StepCommitted(
        f"{shown(settled.name, settled.key)} is already committed (LSN {settled.lsn}): nothing to do",
        hint="What it gave: runledger show NAME KEY",
        result=recorded,
        lsn=settled.lsn,
    )


# --- with the token -----------------------------------------------------------------------------------------


def mark(args: Any) -> int:
    token = token_of(args.token)
    if not args.label:
        raise UsageError("a mark needs a label")
    data = json_value(args.data, "--data") if args.data is not None else {}
    with existing() as ledger:
        lsn = ledger.store.mark(
            Note(lsn=token.lsn, label=args.label, data=encode_data(data), nonce=token.nonce)
        )
    if args.json:
        document({"lsn": lsn, "of": token.lsn, "label": args.label})
    return 0


def commit(args: Any) -> int:
    """Record that it happened; the same token again changes nothing."""
    token = token_of(args.token)
    outcome, refusal = outcome_of(json_value(args.result, "--result") if args.result is not None else None)
    if refusal is not None:
        raise UsageError(f"--result: {refusal.message}")
    return _settle(args, token, outcome, "committed")


def abort(args: Any) -> int:
    """Record that it did not happen."""
    return _settle(args, token_of(args.token), Aborted(reason=args.reason or ""), "aborted")


def _settle(args: Any, token: Token, outcome: Happened | Aborted, word: str) -> int:
    with existing() as ledger:
        again = token.lsn not in ledger.store.known().view.open
        try:
            lsn = ledger.store.settle(Settle(lsn=token.lsn, outcome=outcome, nonce=token.nonce))
        except LeaseLapsed:
            known = _folded(ledger.store, token) if type(outcome) is Happened else None
            if known is None:
                raise
            lsn = known
        other = again and type(outcome) is Happened and _differs(ledger.store, lsn, outcome)
    if again:
        note(f"already {word} (LSN {lsn}){', with another result: that one stands' if other else ''}")
    if args.json:
        document({"lsn": lsn, "of": token.lsn, "status": word, "already": again})
    return 0


def _differs(store: Store, lsn: int, outcome: Happened) -> bool:
    """Whether a result is said now that is not the one of the commit ``lsn``."""
    said = outcome.result
    settled = next((s for s in store.committed() if s.lsn == lsn), None)
    kept = None if said is None or settled is None else store.payload(settled)
    return said is not None and kept is not None and decode(said.json) != decode(kept.json)


def _folded(store: Store, token: Token) -> int | None:
    """The LSN of the token's commit, where a compaction has folded it. Each is looked at: nothing else asks by the
    number of an attempt."""
    return next((s.lsn for s in store.committed() if (s.of, s.nonce) == (token.lsn, token.nonce)), None)


# --- arguments ----------------------------------------------------------------------------------------------


def _begin(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help=Text.NAME)
    parser.add_argument("--key", metavar="K", required=True, help=Text.KEY)
    parser.add_argument(
        "--lease",
        metavar="T",
        default=LEASE,
        help=f"how long the step is taken to be in flight; {LEASE} unless given",
    )
    parser.add_argument("--inputs", metavar="S", help=Text.INPUTS)
    parser.add_argument("--idempotent", action="store_true", help=Text.IDEMPOTENT)


def _token(parser: ArgumentParser) -> None:
    parser.add_argument("token", metavar="TOKEN", help=Text.TOKEN)


def _mark(parser: ArgumentParser) -> None:
    _token(parser)
    parser.add_argument("label", metavar="LABEL", help="what has been reached, such as branch-pushed")
    parser.add_argument(
        "--data", metavar="JSON", help="facts to keep with it, one JSON value; - reads standard input"
    )


def _commit(parser: ArgumentParser) -> None:
    _token(parser)
    parser.add_argument("--result", metavar="JSON|-", help=Text.RESULT)


def _abort(parser: ArgumentParser) -> None:
    _token(parser)
    parser.add_argument("--reason", metavar="TEXT", help=Text.REASON)


COMMANDS = (
    Command(
        "begin",
        "put the intent of a step on record and print a token for it",
        begin,
        _begin,
        more="A step that is already committed prints no token and exits 79, so that "
        "`T=$(runledger begin NAME --key K) && effect && runledger commit $T` cannot repeat it.",
    ),
    Command("mark", "leave a breadcrumb in a step that was begun", mark, _mark),
    Command(
        "commit",
        "put on record that a step that was begun happened",
        commit,
        _commit,
        more="A late commit is accepted while its attempt is still the current one.",
    ),
    Command(
        "abort",
        "put on record that a step that was begun did not happen: it may be begun again",
        abort,
        _abort,
    ),
)
