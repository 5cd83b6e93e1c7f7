"""What a record costs on this disk: from the journal's own gaps where it has enough of them, else measured now."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from runledger.errors import LedgerError
from runledger.granularity.estimate import quantile
from runledger.past.model import Past

__all__ = ["RecordCost", "record_cost"]

ENOUGH = 20
"""Gaps of a kind, for their quickest tenth to mean something."""

SAMPLES, LIGHT_SAMPLES = 40, 200


class RecordCost(msgspec.Struct, frozen=True):
    """Seconds for one record that is synced, and for one that rides; None where it is not known. ``how`` it is."""

    durable: float | None
    riding: float | None
    how: str


def record_cost(past: Past, root: str, *, measure: bool = True) -> RecordCost:
    """From the gaps between a commit and the same owner's next intent; what is missing is measured in ``root``."""
    durable = None if past.riding else _quickest(past.gaps)
    riding = _quickest(past.light_gaps)
    found = _measured(root) if measure and (durable is None or riding is None) else None
    if durable is not None:
        how = f"from the journal: the quickest tenth of {len(past.gaps)} gaps between a commit and the next intent"
        if riding is None and found is not None:
            # A disk that is busy now is no reason for what rides to cost more than what is synced.
            return RecordCost(durable, min(durable, found[1]), f"{how}; what rides was measured now")
        return RecordCost(durable, riding, how)
    if found is None:
        why = "nothing can be written here" if measure else "nothing was to be measured"
        return RecordCost(None, riding, f"not known: the journal has too few gaps, and {why}")
    durable, light = found
    how = f"measured now on this disk: the median of {SAMPLES} records"
    return RecordCost(durable, light if riding is None else riding, how)


def _quickest(gaps: Sequence[float]) -> float | None:
    return quantile(sorted(gaps), 0.1) if len(gaps) >= ENOUGH else None


def _measured(root: str) -> tuple[float, float] | None:
    """A durable record and one that rides, on a scratch ledger beside this one."""
    from runledger.ledger import Ledger

    try:
        beside = Path(root, ".run")
        with (
            tempfile.TemporaryDirectory(prefix=".advise-", dir=beside if beside.is_dir() else root) as here,
            Ledger.open(here) as ledger,
        ):
            with ledger.step("durable", key="1", idempotent=True) as step:
                step.checkpoint(0)
                durable = []
                for place in range(SAMPLES):
                    began = time.perf_counter()
                    step.checkpoint(place)
                    durable.append(time.perf_counter() - began)
            began = time.perf_counter()
            for place in range(LIGHT_SAMPLES):
                with ledger.step("light", key=str(place), idempotent=True):
                    pass
            light = (time.perf_counter() - began) / LIGHT_SAMPLES / 2
    except (OSError, LedgerError):
        return None
    return quantile(sorted(durable), 0.5), light
