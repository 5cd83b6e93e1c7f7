"""Compaction: fold what is new into the history, then drop what is folded.

The order, and what a crash after each step leaves:

1. The segment is rolled: nothing is folded yet.
2. The settled steps go into the history, a slice at a time, each durable when the next begins: the records are still
   there, folding them again changes nothing.
3. The checkpoint is replaced, durably: readers begin behind it; the segments before it are no longer needed.
4. The segments are deleted: a next compaction deletes what is left of them.

Readers and writers go on meanwhile. The append lock is only held for the roll, which finds the segment synced and its
checksums made; all else is done in pieces, so that neither the disk nor the interpreter's lock is kept for long.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from runledger.errors import CompactionBusy, DiskRefused, LedgerCorrupt
from runledger.local import checkpoint
from runledger.local.directory import Directory
from runledger.local.history import History
from runledger.local.journal import segments
from runledger.local.layout import COMPACT_LOCK, HISTORY, segment_name
from runledger.local.ordered import Ordered
from runledger.local.pace import Pace
from runledger.local.sums import Sums
from runledger.log import event
from runledger.record import Compacted
from runledger.view import View

if TYPE_CHECKING:
    from runledger.local.reader import Reader
    from runledger.local.sequencer import Sequencer
    from runledger.local.state_keeper import StateKeeper

__all__ = ["compact"]


def compact(sequencer: Sequencer, state_keeper: StateKeeper) -> dict[str, Any]:
    """Compact the ledger of ``sequencer``.

    Raises:
        CompactionBusy: somebody else is at it.
        LedgerCorrupt: records are lost to damage; nothing is dropped until that is settled.
    """
    sequencer.become_owner()
    ledger = sequencer.files.ledger
    assert ledger is not None
    lock = ledger.open(COMPACT_LOCK, write=True, create=True)
    assert lock is not None
    try:
        if not lock.lock():
            raise CompactionBusy(
                "another process is compacting this ledger", hint="Try again when it is done."
            )
        return _compact(sequencer, state_keeper)
    finally:
        lock.close()


def _compact(sequencer: Sequencer, state_keeper: StateKeeper) -> dict[str, Any]:
    reader, ledger = sequencer.reader, sequencer.files.ledger
    assert ledger is not None
    pace = Pace(state_keeper.is_writing)
    _prepare(sequencer, pace)
    _forget(sequencer, pace)  # what an earlier one folded is not folded again
    with sequencer.io, Ordered(sequencer) as tx:
        view, journal = tx.view, reader.journal
        assert journal is not None
        before = _reached(reader, ledger)
        _refuse_damage(view, before)
        idle = journal.file is None or view.news <= before
        if not idle:
            tx.bury()
            tx.write(Compacted(lsn=0, at="", run=view.run.id if view.run is not None else ""))
            journal.append()
            journal.roll()
        upto = before if idle else view.lsn
        _remove_leftovers(ledger)
        settled = list(view.settled.values())
        encoded = checkpoint.encode(view)
    if idle:
        dropped = _drop(ledger, before)
        return {"folded": 0, "upto": upto, "segments": dropped}
    history = _history(sequencer, os.path.join(ledger.path, HISTORY))
    try:
        history.fold(settled, upto, encoded, pace)
    finally:
        history.close()
    steps = len(settled)
    del settled  # the last hold on a step is the view's, which lets go of a few at a time
    ledger.sync()
    checkpoint.write(ledger, encoded)
    dropped = _drop(ledger, upto)
    _forget(sequencer, pace)
    sequencer.tx.urgent = True
    state_keeper.write()
    event("info", "compaction.done", upto=upto, steps=steps, segments=dropped)
    return {"folded": steps, "upto": upto, "segments": dropped}


def _prepare(sequencer: Sequencer, pace: Pace) -> None:
    """Sync the journal and sum it up, so that the roll, which others wait for, has little left to do of either."""
    with sequencer.io, Ordered(sequencer) as tx:
        journal = tx.reader.journal
        assert journal is not None
        if journal.file is None or journal.sealed or tx.view.news <= tx.reader.base:
            return
        journal.append()
        journal.rewrite()
        file, upto, end = journal.file, journal.lsn, journal.offset
        synced = journal.durable >= upto
    if not synced:
        sequencer.sync(file, upto)
    sums = Sums(file)
    try:
        sums.advance(end, pace)
    except DiskRefused:
        return  # closed meanwhile, by a reading anew: the roll makes its own
    journal.sums = sums


def _forget(sequencer: Sequencer, pace: Pace) -> None:
    """Drop what is in the history from memory, a portion at a time."""
    with sequencer.io:
        sequencer.reader.forget_folded()
    more = True
    while more:
        pace.turn()
        with sequencer.io:
            more = sequencer.reader.forget_some()


def _reached(reader: Reader, ledger: Directory) -> int:
    """What the last compaction reached; a damaged checkpoint is replaced by the next one."""
    try:
        folded = checkpoint.read(ledger)
    except LedgerCorrupt:
        return reader.base
    return folded.lsn if folded is not None else 0


def _refuse_damage(view: View, before: int) -> None:
    """What the checkpoint says is lost, a repair has put there, with the files kept aside; the rest is evidence yet."""
    fresh = [d for d in view.damage if d.last > before]
    if fresh:
        d = fresh[0]
        raise LedgerCorrupt(
            f"{d.file}, offset {d.offset}: {d.reason}; nothing is dropped while records are damaged",
            hint="To see all of it: runledger verify. To go on without what is lost: runledger repair",
            damage=list(view.damage),
        )


def _remove_leftovers(ledger: Directory) -> None:
    """Under the append lock, which every roll holds: segments that never got their name."""
    for name in ledger.names():
        if name.endswith(".tmp") and ".jsonl." in name:
            ledger.unlink(name)


def _history(sequencer: Sequencer, path: str) -> History:
    """The history to fold into: a new one only where nothing was ever folded."""
    reader = sequencer.reader
    if reader.base:
        with sequencer.io:  # whoever looks a key up meanwhile uses the same connection
            reader.history()
    history = History.open(path, reader.view.ledger, read_only=False)
    return history if history is not None else History.create(path, reader.view.ledger)


def _drop(ledger: Directory, upto: int) -> int:
    """Delete the segments whose records are all folded, oldest first, so that what is left has no gap."""
    firsts = segments(ledger)
    dropped = 0
    for first, following in pairwise(firsts):
        if following - 1 <= upto:
            ledger.unlink(segment_name(first))
            dropped += 1
    if dropped:
        ledger.sync()
    return dropped
