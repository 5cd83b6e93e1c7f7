"""Repair: a ledger that damage made unusable, or that records are lost of, becomes one that can be gone on with.

A new ledger is built beside the old one from everything that is intact, checked, and put in its place; the old one is
kept as it was. What is lost stays known as lost: its numbers are not used again, its steps are in doubt, and while
nothing tells which steps those are, every step that nothing is known of is refused.
"""

from __future__ import annotations

import os
import tempfile

import msgspec

from runledger.doubt import loss_lines, resolve_lines
from runledger.errors import LedgerCorrupt, LedgerError
from runledger.local import checkpoint
from runledger.local.directory import Directory
from runledger.local.files import find_root
from runledger.local.history import History
from runledger.local.journal import Journal
from runledger.local.layout import BROKEN, HISTORY, LEDGER, STATE
from runledger.local.ordered import Ordered
from runledger.local.repair_build import Rebuilt, rebuild
from runledger.local.repair_copy import write_file
from runledger.local.repair_place import finish, locked, next_number, put_in_place, run_folder, scratch
from runledger.local.repair_read import small
from runledger.local.store import LocalStore
from runledger.log import event
from runledger.state_reading import LARGEST, Unreadable, read
from runledger.view import Damage, View

__all__ = ["SCHEMA", "DoubtfulStep", "Loss", "PutRight", "RepairReport", "repair"]

SCHEMA = "runledger.repair/1"


class PutRight(msgspec.Struct, frozen=True):
    """Something that was put right or set aside, and that nothing is lost by: in which file, and where."""

    file: str
    offset: int
    what: str


class Loss(msgspec.Struct, frozen=True):
    """Records that are lost, ``first`` to ``last`` by LSN; ``unknown`` is how many of the intents among them are of
    steps that nothing tells."""

    file: str
    offset: int
    first: int
    last: int
    intents: int
    unknown: int
    reason: str


class DoubtfulStep(msgspec.Struct, frozen=True):
    """A step that must be treated as in doubt; ``damaged``: its own intent is among the lost."""

    name: str
    key: str | None
    lsn: int
    attempt: int
    scope: str
    damaged: bool


class RepairReport(msgspec.Struct, frozen=True):
    """What a repair did, or would do.

    Attributes:
        done: ``nothing`` (it was sound), ``repaired``, ``finished`` (an earlier repair that was cut off), or
            ``would repair``.
        kept: where the old ledger is, None where none was replaced.
        put_right: what cost nothing.
        lost: every stretch of records that is lost, those of earlier repairs too until they are resolved.
        in_doubt: the steps to settle.
        unknown: how many lost intents nothing tells the step of: until they are resolved, every step that nothing is
            known of is refused.
        resolve: the command lines that settle all of it.
    """

    schema: str
    done: str
    kept: str | None
    put_right: list[PutRight]
    lost: list[Loss]
    in_doubt: list[DoubtfulStep]
    unknown: int
    resolve: list[str]


def repair(root: str | os.PathLike[str] | None = None, *, dry_run: bool = False) -> RepairReport:
    """Make the ledger of ``root`` usable again; with ``dry_run`` only tell what would be done, and change nothing.

    Nothing is deleted: the old ledger is kept in ``.run/ledger.broken-N``. May be cut off anywhere and run again.

    Raises:
        LedgerMissing: there is none.
        LedgerBusy, CompactionBusy: somebody is at work on it.
        NewerVersion: a later version wrote some of it; nothing was touched.
        DiskRefused: a file cannot be read or written; the ledger is as it was.
    """
    found = find_root(root)
    run = run_folder(found)
    try:
        if dry_run:
            return _looked(run)
        finished = finish(run)
        report = _repaired(run, found)
        return (
            msgspec.structs.replace(report, done="finished")
            if finished and report.done == "nothing"
            else report
        )
    finally:
        run.close()


def _looked(run: Directory) -> RepairReport:
    with locked(run, write=False) as ledger, tempfile.TemporaryDirectory(prefix="runledger-") as folder:
        target = Directory.at(folder)
        assert target is not None
        try:
            origin = f"{run.path}/{LEDGER}"
            rebuilt = rebuild(ledger, target, small(run, STATE, LARGEST), origin)
        finally:
            target.close()
    return _report(rebuilt, "would repair" if rebuilt.is_needed else "nothing", None, _unreadable(run))


def _repaired(run: Directory, root: str) -> RepairReport:
    number = next_number(run)
    kept = f"{run.path}/{BROKEN}{number}"
    spoiled = _unreadable(run)
    with locked(run, write=True) as ledger, scratch(run, ledger) as (name, target):
        rebuilt = rebuild(ledger, target, small(run, STATE, LARGEST), kept)
        if rebuilt.is_needed:
            report = _report(rebuilt, "repaired", kept, spoiled)
            write_file(
                target, f"repair-{number}.json", [msgspec.json.format(msgspec.json.encode(report)) + b"\n"]
            )
            target.sync()
            _check(target, rebuilt.view)
            put_in_place(run, name, number)
        else:
            report = _report(rebuilt, "nothing", None, spoiled)
    if rebuilt.is_needed or spoiled:
        _write_state(root)
    if rebuilt.is_needed:
        event("warning", "ledger.repaired", kept=kept, lost=len(report.lost), unknown=report.unknown)
    return report


def _unreadable(run: Directory) -> list[PutRight]:
    """The state file, where it is none: the next writer keeps it aside and writes it anew."""
    data = small(run, STATE, LARGEST)
    if data is None:
        return []
    try:
        read(data)
    except Unreadable as error:
        return [PutRight(f"{run.path}/{STATE}", 0, f"{error}; it is kept aside and written anew")]
    return []


def _check(target: Directory, view: View) -> None:
    """What was built must read back as what it was built from."""
    folded = checkpoint.read(target)
    assert folded is not None
    journal = Journal(target, view.ledger, write=False)
    history = History.open(f"{target.path}/{HISTORY}", view.ledger, read_only=True)
    try:
        news = [items for items in journal.load(folded.lsn, folded.steps) if items]
        wrong = history.verify() if history is not None else ["it is missing"]
        if news or wrong or checkpoint.encode(folded) != checkpoint.encode(view):
            raise LedgerCorrupt(
                f"{target.path}: the new ledger does not read back as it was built: {(wrong or news)[:1]}",
                damage=[],
            )
    finally:
        journal.close()
        if history is not None:
            history.close()


def _write_state(root: str) -> None:
    """Bring the state file up to date by what the ledger says now."""
    store = LocalStore(root)
    try:
        with store.sequencer.io, Ordered(store.sequencer) as tx:
            tx.urgent = True
        store.state_keeper.write()
    except LedgerError as error:
        event("warning", "snapshot.not_written", reason=error.message)
    finally:
        store.close()


def _report(rebuilt: Rebuilt, done: str, kept: str | None, more: list[PutRight]) -> RepairReport:
    view = rebuilt.view
    steps = [view.open[lsn] for lsn in sorted(view.open)]
    lines = [line for step in steps for line in resolve_lines(step)]
    return RepairReport(
        schema=SCHEMA,
        done=done,
        kept=kept,
        put_right=[*(PutRight(*change) for change in rebuilt.changes), *more],
        lost=[_loss(d) for d in view.damage],
        in_doubt=[DoubtfulStep(s.name, s.key, s.lsn, s.attempt, s.scope, s.damaged) for s in steps],
        unknown=sum(max(0, d.intents - d.sure) for d in view.damage),
        resolve=lines + [line for d in view.damage for line in loss_lines(d, view)],
    )


def _loss(d: Damage) -> Loss:
    return Loss(d.file, d.offset, d.first, d.last, d.intents, max(0, d.intents - d.sure), d.reason)
