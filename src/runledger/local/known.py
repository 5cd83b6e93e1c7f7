"""What is known now, for readers of every kind: nothing is made, written or locked, and a read-only checkout
will do."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator
from itertools import chain

import msgspec

from runledger.errors import LedgerCorrupt
from runledger.fold import advance
from runledger.local.directory import Directory
from runledger.local.files import Files
from runledger.local.journal import Behind, Journal
from runledger.local.owner import fate
from runledger.local.reader import Reader
from runledger.local.standing import fate_of
from runledger.record import Record
from runledger.store import Fate, Known
from runledger.view import Damage, Identity, Owner, Settled, View, identity_of

__all__ = ["committed", "copied", "inspect", "known", "living", "records"]

SETTLING_S = 0.02
"""A line that another process is still writing is whole after so long, in seconds; what is not by then is torn."""


def inspect(root: str) -> tuple[Known, Reader]:
    """What the ledger below ``root`` says now, and the reader to look further with; the caller closes it."""
    reader = Reader(Files(root), write=False, counting=True)
    try:
        return known(reader, "", set()), reader
    except BaseException:
        reader.close()
        raise


def known(reader: Reader, me: str, active: Container[int]) -> Known:
    """What ``reader`` knows now, seen by the owner ``me``; an edit of the state file that no record tells of
    yet counts."""
    reader.refresh()
    torn = _torn(reader)
    view = _with_state_file(reader)
    problem, unclaimed, shown = None, None, 0
    snapshot = reader.snapshot
    if snapshot is not None:
        problem, unclaimed, shown = snapshot.problem, snapshot.unclaimed, snapshot.lsn
    problem = reader.lost_history() or problem
    owners = reader.files.owners
    fates = {step.lsn: fate_of(step, owners, me, active) for step in view.open.values()}
    notes = list(unclaimed.notes) if unclaimed is not None else []
    return Known(view, fates, living(view, owners, me), torn, problem, notes, shown, unclaimed)


def committed(reader: Reader) -> Iterator[Settled]:
    """What this run has committed, as of now: from the journal, then from the history, which may know some of it."""
    reader.refresh()
    run, fresh = reader.view.run, dict(reader.view.settled)
    folded = reader.folded() if reader.base else iter(())
    return _of_run("" if run is None else run.id, fresh, folded)


def _of_run(run: str, fresh: dict[Identity, Settled], folded: Iterable[Settled]) -> Iterator[Settled]:
    news = (step for step in folded if identity_of(step.scope, step.run, step.name, step.key) not in fresh)
    for step in chain(fresh.values(), news):
        if run and step.run == run and step.status == "committed":
            yield step


def _with_state_file(reader: Reader) -> View:
    """The view with what others wrote into the state file.

    A file that seems to be theirs, or ahead of the journal, may only be newer than what was read of the journal:
    that is read on first.

    Raises:
        LedgerCorrupt: it is ahead of the journal.
    """
    while True:
        view, snapshot = copied(reader.view), reader.snapshot
        if snapshot is None:
            return view
        snapshot.forget()
        try:
            edits, ahead = snapshot.look(view, keep=False), None
        except LedgerCorrupt as error:
            edits, ahead = [], error
        snapshot.forget()
        if ahead is not None or edits or snapshot.problem is not None:
            reader.refresh()
            if reader.view.lsn > view.lsn:
                continue
        if ahead is not None:
            raise ahead
        for observed in edits:
            advance(view, observed)
        return view


def living(view: View, owners: Directory | None, me: str) -> tuple[Owner, Fate] | None:
    """The last owner that came and is alive, others before this one."""
    mine = None
    for owner in reversed(view.owners.values()):
        if owner.id == me:
            mine = owner, Fate(alive=True, how="this process")
            continue
        verdict = fate(owners, owner, set())
        if verdict.alive:
            return owner, Fate(alive=True, how=verdict.how)
    return mine


def copied(view: View) -> View:
    """A view that stays as it is while the writer goes on; settled steps are looked up, not listed."""
    return msgspec.structs.replace(
        view,
        run=None if view.run is None else msgspec.structs.replace(view.run, sprints=list(view.run.sprints)),
        open={lsn: msgspec.structs.replace(step) for lsn, step in view.open.items()},
        keys=dict(view.keys),
        owners=dict(view.owners),
        damage=list(view.damage),
        settled={},
    )


def _torn(reader: Reader) -> dict[str, object] | None:
    journal = reader.journal
    if journal is None or journal.torn is None:
        return None
    time.sleep(SETTLING_S)
    reader.stale = True
    reader.refresh()
    journal = reader.journal
    if journal is None or journal.torn is None or journal.file is None:
        return None
    return {"file": journal.file.path, "offset": journal.torn.offset, "bytes": journal.torn.size}


def records(root: str, after: int) -> Iterator[Record | Damage]:
    """The records after an LSN that no compaction has dropped, streamed; damage comes in its place."""
    files = Files(root)
    try:
        files.find()
        while files.ledger is not None:
            journal = Journal(files.ledger, "", write=False)
            try:
                for items in journal.load(after, 0, kept=True):
                    for item in items:
                        after = item.last if isinstance(item, Damage) else item.lsn
                        yield item
            except Behind:
                continue
            else:
                return
            finally:
                journal.close()
    finally:
        files.close()
