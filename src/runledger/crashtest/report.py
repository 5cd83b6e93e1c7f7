"""The report, for a person and for a program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runledger.crashtest.driver import Trial
from runledger.crashtest.verdict import Finding
from runledger.text import escape

__all__ = ["SCHEMA", "as_json", "as_text"]

SCHEMA = "runledger.crashtest/1"
SHOWN = 4
"""Kills that a finding names; the rest are counted."""

START = "each run began without a ledger and without a state file, in a copy of the directory"


def as_json(
    boundaries: int, reference: Trial, trials: Sequence[Trial], findings: Sequence[Finding], kept: str | None
) -> dict[str, Any]:
    """One object; ``kills`` in the order in which they were made."""
    return {
        "schema": SCHEMA,
        "ok": not any(finding.violation for finding in findings),
        "boundaries": boundaries,
        "counted": None if reference.effects is None else reference.effects.total(),
        "kills": [
            {"at": str(t.boundary), "ended": t.ended, "exit_code": t.code, "starts": t.starts} for t in trials
        ],
        "findings": findings,
        "kept": kept,
    }


def as_text(
    boundaries: int, reference: Trial, trials: Sequence[Trial], findings: Sequence[Finding], kept: str | None
) -> Iterator[str]:
    """Lines."""
    tested = "each" if len(trials) == boundaries else f"{len(trials)} of them"
    yield f"{boundaries} boundaries, killed at {tested}; {START}"
    if reference.effects is None:
        yield "effects outside of steps were not looked for: --count CMD counts them"
    else:
        yield f"effects counted in the uninterrupted run: {reference.effects.total()}"
    for finding in findings:
        yield ""
        name = f"{escape(finding.name)}: " if finding.name else ""
        yield f"{'VIOLATION' if finding.violation else 'ok'}  {name}{escape(finding.what)}"
        more = len(finding.kills) - SHOWN
        for kill in finding.kills[:SHOWN]:
            yield f"  killed {kill}"
        if more > 0:
            yield f"  and {more} more"
        if finding.change:
            yield f"  change: {finding.change}"
    stuck = next((trial for trial in trials if trial.ended == "stuck"), None)
    if stuck is not None and stuck.said:
        yield ""
        yield f"what it said when it was stuck, killed {stuck.boundary}:"
        yield from (f"  {escape(line)}" for line in stuck.said.splitlines()[-10:])
    if kept is not None:
        yield ""
        yield f"the copies are in {kept}"
    yield ""
    bad = sum(finding.violation for finding in findings)
    yield (
        f"{bad} violation{'s' if bad != 1 else ''}" if bad else "nothing ran twice silently, nothing is lost"
    )
