"""How each open step stands: who holds it, and how that is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Container

from runledger.clock import parse
from runledger.local.directory import Directory
from runledger.local.owner import fate
from runledger.store import Fate
from runledger.view import OpenStep, Owner, View

__all__ = ["fate_of", "in_doubt_of"]


def fate_of(step: OpenStep, owners: Directory | None, me: str, active: Container[int]) -> Fate:
    """The fate of a step's holder, as seen by the owner ``me`` whose running attempts are ``active``."""
    if step.damaged:
        return Fate(alive=False, how="its record is damaged")
    if step.over:
        return Fate(alive=False, how="the call is over and nobody is at work on it")
    if step.lease is not None:
        ends = parse(step.lease)
        left = (ends or 0.0) - time.time()
        if left > 0:
            return Fate(
                alive=True, how=f"its external session has a lease for {left:.0f} s more; that proves no life"
            )
        return Fate(
            alive=False, how=f"the lease of its external session lapsed {-left:.0f} s ago; no proof of death"
        )
    if step.owner == me:
        if step.lsn in active:
            return Fate(alive=True, how="this process is at work on it")
        return Fate(alive=False, how="its call in this process is over")
    # Where the record is lost that tells who the owner is, its lock still tells whether it lives.
    by = step.by or Owner(id=step.owner, pid=0, start=0, boot="", pidns="", host="", since="")
    verdict = fate(owners, by, set())
    if step.by is None and not verdict.alive:
        return Fate(alive=False, how="nothing is known of its owner")
    return Fate(alive=verdict.alive, how=verdict.how)


def in_doubt_of(view: View, fate: Callable[[OpenStep], Fate]) -> list[dict[str, object]]:
    """The open steps that nobody is at work on, in LSN order."""
    return [
        {"name": step.name, "key": step.key, "lsn": step.lsn, "attempt": step.attempt}
        for step in sorted(view.open.values(), key=lambda s: s.lsn)
        if not fate(step).alive
    ]
