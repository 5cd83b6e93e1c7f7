"""Replay: the hour after the crash. What was started and never committed, who held it, and the lines that settle it."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from runledger.doubt import StepReport, loss_lines, report_of, resolve_lines
from runledger.drift import Drift
from runledger.status import state_of
from runledger.store import Known
from runledger.view import Damage

__all__ = ["SCHEMA", "ReplayReport", "replay", "report"]

SCHEMA = "runledger.replay/1"


class ReplayReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the ledger says after a crash.

    Attributes:
        state: the run's word, ``ABSENT`` or ``INVALID``.
        lsn: of the last record.
        committed, aborted: counts of the run's steps.
        in_flight, in_doubt: the open steps, with their owner's fate.
        torn_tail: what a crash left behind the last record, until a writer cuts it; None where there is none.
        corruption: the findings that no crash leaves.
        resolve: the exact command lines, two for each step in doubt.
        drift: where the asking process knows its own code; else None.
    """

    schema: str
    state: str
    lsn: int
    committed: int
    aborted: int
    in_flight: list[StepReport]
    in_doubt: list[StepReport]
    torn_tail: dict[str, Any] | None
    corruption: list[Damage]
    resolve: list[str]
    drift: Drift | None = None


def replay(root: str | os.PathLike[str] | None = None) -> ReplayReport:
    """Read the ledger of ``root`` (found like ``Ledger.open`` finds it): writes nothing, takes no lock, and works on a
    read-only checkout and beside a store that a crash left unclosed.

    Raises:
        UsageError: ``root`` names no directory.
        LedgerCorrupt, NewerVersion, DiskRefused: it cannot be read as a ledger of this version.
    """
    from runledger.arguments import directory
    from runledger.local.files import find_root
    from runledger.local.known import inspect

    found = find_root(directory(root))
    known, reader = inspect(found)
    reader.close()
    return report(known, root=found)


def report(known: Known, drift: Drift | None = None, root: str = "") -> ReplayReport:
    """The report of what is known of the ledger at ``root``."""
    view, run = known.view, known.view.run
    steps = [report_of(view.open[lsn], known.fates[lsn]) for lsn in sorted(view.open)]
    in_doubt = [step for step in steps if not step.owner.alive]
    resolve = [line for step in in_doubt for line in resolve_lines(step, root)]
    resolve += [line for damage in view.damage for line in loss_lines(damage, view, root)]
    return ReplayReport(
        schema=SCHEMA,
        state=state_of(known),
        lsn=view.lsn,
        committed=run.committed if run is not None else 0,
        aborted=run.aborted if run is not None else 0,
        in_flight=[step for step in steps if step.owner.alive],
        in_doubt=in_doubt,
        torn_tail=known.torn,
        corruption=list(view.damage),
        resolve=resolve,
        drift=drift,
    )
