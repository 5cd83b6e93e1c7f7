"""``show`` and ``replay``: what is known of one step, and what was started and never committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from runledger import values
from runledger.answers import line_of
from runledger.cli.command import Command, Text
from runledger.cli.looking import opened
from runledger.cli.output import document, note, paint, result
from runledger.doubt import StepReport, mark_report, report_of, resolve_lines, shown
from runledger.errors import LedgerError, LedgerMissing
from runledger.keys import check_key, check_name
from runledger.local.payloads import payload_of
from runledger.local.reader import Reader
from runledger.local.standing import fate_of
from runledger.replay_report import ReplayReport, report
from runledger.run_state import ABSENT
from runledger.text import escape
from runledger.view import Settled

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]


# --- show ---------------------------------------------------------------------------------------------------


def show(args: Any) -> int:
    """Print what is known of a step; 1 where nothing is."""
    check_name(args.name)
    check_key(args.key)
    with opened() as (known, reader):
        if reader.files.ledger is None:
            raise LedgerMissing(f"there is no ledger here ({reader.files.root})")
        held = reader.find(args.name, args.key)
        if held is None:
            facts: dict[str, Any] = {"name": args.name, "key": args.key, "status": "unknown"}
        elif isinstance(held, Settled):
            facts = _settled(reader, held)
        else:
            fate = known.fates.get(held.lsn) or fate_of(held, reader.files.owners, "", set())
            facts = _open(report_of(held, fate))
    if args.json:
        document(facts)
    else:
        _tell(facts)
    return 1 if held is None else 0


def _settled(reader: Reader, held: Settled) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": held.name,
        "key": held.key,
        "status": held.status,
        "lsn": held.lsn,
        "attempt": held.attempt,
        "started": held.started or None,
        "settled": held.at,
        "owner": held.owner,
        "marks": [mark_report(mark) for mark in held.marks],
        "failure": None,
        "scope": held.scope,
        "inputs": held.inputs,
        "resolved": held.resolved,
        "reason": held.reason,
        "result": None,
        "unstored": held.unstored,
    }
    try:
        payload = payload_of(reader.files, held)
        facts["result"] = values.plain(payload.json) if payload is not None else None
    except (LedgerError, values.Unresolvable) as error:
        facts["unstored"] = getattr(error, "message", str(error))
    return facts


def _open(step: StepReport) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.structs.asdict(step)
    alive = step.owner.alive
    facts["status"] = "in_flight" if alive else "in_doubt"
    facts["result"] = None
    facts["resolve"] = [] if alive else resolve_lines(step)
    return facts


def _tell(facts: dict[str, Any]) -> None:
    named = shown(facts["name"], facts["key"])
    if facts["status"] == "unknown":
        result(f"{named}: unknown; it was never started")
        return
    result(f"{named}: {facts['status'].replace('_', ' ')} (LSN {facts['lsn']}, attempt {facts['attempt']})")
    lines = {"started": facts["started"], "settled": facts.get("settled"), "reason": facts.get("reason")}
    owner = facts["owner"]
    lines["owner"] = owner if isinstance(owner, str) else f"{owner.id}: {owner.how}"
    if facts["failure"] is not None:
        lines["it ended with"] = f"{facts['failure'].type}: {facts['failure'].message}"
    for label, said in lines.items():
        if said:
            result(f"{label}: {escape(said)}")
    for mark in facts["marks"]:
        data = "" if mark.data is None else f" {escape(msgspec.json.encode(mark.data).decode())}"
        result(f"mark: {mark.at} {escape(mark.label)}{data}")
    if facts["result"] is not None:
        result(f"result: {escape(msgspec.json.encode(facts['result']).decode())}")
    if facts.get("unstored"):
        result(f"its result is not on record: {escape(facts['unstored'])}")
    for line in facts.get("resolve", []):
        result(f"  {line}")


# --- replay -------------------------------------------------------------------------------------------------


def replay(args: Any) -> int:
    """Print what was started and never committed; 1 where something is in doubt."""
    with opened() as (known, _):
        said = report(known)
        problem = known.problem
    if args.json:
        document(said)
    else:
        _tell_replay(said)
        if problem is not None:
            note(problem.message)
    if said.corruption or said.state in {ABSENT, "INVALID"}:
        return 78
    return 1 if said.in_doubt else 0


def _tell_replay(said: ReplayReport) -> None:
    counts = f"{said.committed} committed, {said.aborted} aborted"
    open_steps = f"{len(said.in_flight)} in flight, {len(said.in_doubt)} in doubt"
    result(f"{paint(said.state)} · LSN {said.lsn} · {counts} · {open_steps}")
    if said.torn_tail is not None:
        result(
            f"torn tail: {said.torn_tail['file']}, offset {said.torn_tail['offset']}, "
            f"{said.torn_tail['bytes']} bytes; a crash leaves this, and the next writer cuts it"
        )
    for damage in said.corruption:
        result(
            f"damage: {escape(damage.file)}, offset {damage.offset}: LSN {damage.first} to {damage.last}: "
            f"{escape(damage.reason)}"
        )
    for step in said.in_flight:
        result(f"in flight: {line_of(step)}")
    told = set()
    for step in said.in_doubt:
        result(f"in doubt: {line_of(step)}")
        if step.idempotent:
            result("  idempotent: it runs again by itself")
        for line in resolve_lines(step):
            told.add(line)
            result(f"  {line}")
    for line in said.resolve:
        if line not in told:
            result(f"  {line}")


def _show(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the step's name")
    parser.add_argument("key", metavar="KEY", help=Text.KEY)


COMMANDS = (
    Command(
        "show",
        "tell what is known of one step",
        show,
        _show,
        more="Its status is committed, aborted, in_flight or in_doubt; unknown, with exit code 1, where it "
        "was never started.",
    ),
    Command(
        "replay",
        "list what was started and never committed, and the lines that settle it",
        replay,
        more="Exits 1 when something is in doubt. Writes nothing and takes no lock.",
    ),
)
