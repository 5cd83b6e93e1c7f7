"""Verify: read every byte again, derive everything again, and say what does not agree.

The journal is read record by record against its checksums and numbers, folded anew, and the state file is rendered from
that; the history is compared with its own digest and with the checkpoint that rests on it; every kept result is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from runledger.errors import LedgerCorrupt, LedgerError
from runledger.local import checkpoint
from runledger.local.files import find_root
from runledger.local.frame import seed_of
from runledger.local.journal import segments
from runledger.local.known import inspect
from runledger.local.layout import CHECKPOINT, HISTORY, STATE, segment_name
from runledger.local.opening import open_segment
from runledger.local.reader import Reader
from runledger.local.results import load
from runledger.local.segment import seal_in
from runledger.state_file import verifies
from runledger.store import Known
from runledger.view import Damage, View

__all__ = ["SCHEMA", "Finding", "verify"]

SCHEMA = "runledger.verify/1"


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong: in which file, where, and which record it concerns."""

    file: str
    reason: str
    offset: int | None = None
    lsn: int | None = None


def verify(root: str | os.PathLike[str] | None = None) -> list[Finding]:
    """What is wrong with the ledger of ``root``; an empty list where everything agrees. Writes nothing.

    A torn tail is no finding: a crash leaves one, and the next writer cuts it.

    Raises:
        NewerVersion, DiskRefused: it cannot be read as a ledger of this version.
    """
    found = find_root(root)
    try:
        known, reader = inspect(found)
    except LedgerCorrupt as error:
        damage = error.__dict__.get("damage") or []
        if not damage:
            return [Finding(file=f"{found}/.run/ledger", reason=error.message)]
        return [_finding_of(d) for d in damage]
    try:
        return list(_findings(known, reader))
    finally:
        reader.close()


def _finding_of(damage: Damage | dict[str, Any]) -> Finding:
    if isinstance(damage, Damage):
        return Finding(damage.file, damage.reason, damage.offset, damage.first)
    return Finding(damage["file"], damage["reason"], damage["offset"], damage["lsn"])


def _findings(known: Known, reader: Reader) -> Iterator[Finding]:
    view = known.view
    for d in view.damage:
        yield Finding(
            d.file, f"{d.reason} (LSN {d.first} to {d.last}, {d.intents} intents)", d.offset, d.first
        )
    yield from _state_file(known, reader)
    yield from _seals(reader)
    yield from _checkpoint(reader)
    yield from _history(reader)
    yield from _results(reader, reader.view)


def _state_file(known: Known, reader: Reader) -> Iterator[Finding]:
    snapshot = reader.snapshot
    if snapshot is None:
        return
    path = f"{snapshot.directory.path}/{STATE}"
    if known.problem is not None:
        yield Finding(path, known.problem.message)
        return
    data = snapshot.read()
    if data is None or known.view.run is None:
        return
    text = data.decode("utf-8", "replace")
    if known.view.run.document != text and not verifies(text, known.view.ledger):
        yield Finding(
            path, "it was changed by somebody else; the next action puts that on record", lsn=known.view.lsn
        )


def _seals(reader: Reader) -> Iterator[Finding]:
    """A seal is only there to make reading quick: whether it is sound, nobody else asks."""
    ledger = reader.files.ledger
    firsts = segments(ledger) if ledger is not None else []
    for first in firsts[:-1]:
        assert ledger is not None
        name = segment_name(first)
        try:
            found = open_segment(ledger, name, first, reader.view.ledger)
        except LedgerError:
            continue  # told as damage, or folded long ago
        if found is not None:
            file, header, _ = found
            if seal_in(file, seed_of(header.segment)) is None:
                yield Finding(
                    f"{ledger.path}/{name}", "the segment's seal is damaged", file.stat().size, first
                )
            file.close()


def _checkpoint(reader: Reader) -> Iterator[Finding]:
    ledger = reader.files.ledger
    if ledger is None:
        return
    path = f"{ledger.path}/{CHECKPOINT}"
    try:
        # Where the segments still begin with the first record, a compaction was cut off before its first checkpoint.
        if checkpoint.read(ledger) is None and reader.base and 1 not in segments(ledger):
            yield Finding(path, f"it is missing; its copy in {HISTORY} serves", 0, reader.base)
    except LedgerCorrupt as error:
        yield Finding(path, error.message, 0)


def _history(reader: Reader) -> Iterator[Finding]:
    if reader.files.ledger is None:
        return
    path = f"{reader.files.ledger.path}/{HISTORY}"
    try:
        if reader.base:
            history = reader.history()
        else:
            opened = reader.open_history(reader.view.ledger)
            if opened is None:
                return
            history = opened
        for reason in history.verify():
            yield Finding(path, reason)
        if history.meta().lsn < reader.base:
            yield Finding(path, f"it is older than {CHECKPOINT}", lsn=reader.base)
    except LedgerError as error:
        yield Finding(path, error.message)


def _results(reader: Reader, view: View) -> Iterator[Finding]:
    """Kept results that the journal refers to; those of the folded history are read when they are asked for."""
    ledger = reader.files.ledger
    if ledger is None:
        return
    for settled in view.settled.values():
        if settled.file is not None:
            try:
                load(ledger, settled.file, settled.size or 0)
            except LedgerError as error:
                yield Finding(f"{ledger.path}/results/{settled.file}", error.message, lsn=settled.lsn)
