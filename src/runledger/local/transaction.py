"""One writer's place in the order of records: used only under the append lock, on a view that has just been
refreshed."""

from __future__ import annotations

import os
from typing import Any

from msgspec import Raw

from runledger.clock import now
from runledger.decisions import Kept
from runledger.fold import advance
from runledger.local.checkout import current_branch
from runledger.local.journal import Journal
from runledger.local.owner import OwnerFacts, fate, reclaim
from runledger.local.reader import Reader
from runledger.local.snapshot import Snapshot
from runledger.local.standing import fate_of, in_doubt_of
from runledger.log import event
from runledger.record import (
    Abandoned,
    Adopted,
    Doubt,
    Finished,
    Halted,
    Lost,
    Observed,
    Opened,
    Record,
    Resolved,
    Resumed,
    Sprint,
    Started,
)
from runledger.state_file import renewed
from runledger.store import Fate, Payload
from runledger.version import VERSION
from runledger.view import Identity, OpenStep, Settled, View

__all__ = ["LocalTransaction", "new_owner_id"]

_URGENT = frozenset(
    {Started, Adopted, Observed, Sprint, Halted, Resumed, Finished, Abandoned, Doubt, Resolved}
)
"""What moves the state file at once; activity alone waits for its second."""

_NOTHING_KEPT = Kept()


def new_owner_id() -> str:
    """An id that no owner had before."""
    return "o-" + os.urandom(6).hex()


class LocalTransaction:
    """Implements ``decisions.Transaction`` on the view of ``reader``.

    ``owner`` is the id that records are written under, ``opened`` whether they told that it came. ``active`` are this
    owner's attempts whose body is running, by LSN. ``unshown``: something was recorded that the state file does not
    show, ``urgent``: something that it must show now, ``shown_at``: when it was last brought up to date, by the
    monotonic clock. ``eager``: a sync follows, so each record is written at once, and the disk works on it while it is
    folded.
    """

    def __init__(self, reader: Reader, facts: OwnerFacts, commit: str) -> None:
        self.reader = reader
        self.owner = new_owner_id()
        self.active: dict[int, dict[str, Any]] = {}
        self.opened = False
        self.eager = False
        self.unshown = False
        self.urgent = False
        self.shown_at = 0.0
        self._facts = facts
        self._commit = commit

    @property
    def view(self) -> View:
        return self.reader.view

    @property
    def state_file(self) -> Snapshot:
        assert self.reader.snapshot is not None
        return self.reader.snapshot

    def catch_up(self, *, look: bool) -> None:
        """Recover the tail if a crash left it unfinished, and ``look`` at what others wrote into the state file."""
        reader = self.reader
        if reader.journal is not None and not reader.journal.clean:
            # All of it again, under the lock: what was read before may have been somebody's unsynced records that
            # the cache has lost since, and others' good ones stand there now.
            reader.stale = True
            reader.refresh()
            reader.stale = True
            journal = reader.journal
            assert journal is not None
            self._refuse_lost_end()
            torn = journal.recover()
            if torn is not None:
                event(
                    "warning",
                    "journal.torn_tail_cut",
                    segment=torn.segment,
                    offset=torn.offset,
                    bytes=torn.size,
                )
                self.write(torn)
        if not look:
            return
        assert reader.snapshot is not None
        for observed in reader.snapshot.look(reader.view, keep=True):
            event("warning", "state_file.observed", rejected=observed.rejected, ignored=observed.ignored)
            self.write(observed)

    def _refuse_lost_end(self) -> None:
        """What looks like a torn tail is none where the state file covers more than is left. Raises LedgerCorrupt."""
        self.state_file.forget()
        if self.view.run is not None:
            self.state_file.look(self.view, keep=False)
            self.state_file.forget()

    def write(self, record: Record) -> int:
        journal = self.reader.journal
        if journal is None or journal.file is None:
            journal = self._begin()
        if not self.opened:
            self.opened = True
            f = self._facts
            self.write(
                Opened(
                    lsn=0,
                    at="",
                    pid=f.pid,
                    start=f.start,
                    boot=f.boot,
                    pidns=f.pidns,
                    host=f.host,
                    version=VERSION,
                    commit=self._commit,
                )
            )
            self.bury()
        record.owner = self.owner
        segment = journal.header
        journal.stamp(record)
        if self.eager:
            journal.append(begin=True)
        advance(self.reader.view, record)
        if journal.header is not segment:
            self.urgent = True  # the state file witnesses that there is another segment
        if type(record) in _URGENT:
            self.urgent = True
            if type(record) in (Started, Adopted):
                self.state_file.claimed()
        self.unshown = True
        return record.lsn

    def _begin(self) -> Journal:
        journal = self.reader.journal
        if journal is None:
            raise AssertionError("the directories are made before the append lock is taken")
        journal.ledger = journal.ledger or os.urandom(8).hex()
        self.view.ledger = journal.ledger
        journal.begin()
        return journal

    def bury(self) -> None:
        """Put on record which owners died without closing; their leftover files go."""
        owners = self.reader.files.owners
        for owner in list(self.view.owners.values()):
            if owner.id == self.owner:
                continue
            verdict = fate(owners, owner, set())
            if not verdict.alive and verdict.proved:
                event("warning", "owner.lost", owner=owner.id, pid=owner.pid, proof=verdict.how)
                self.write(Lost(lsn=0, at="", who=owner.id, proof=verdict.how))
        if owners is not None:
            for name in reclaim(owners, set(self.view.owners)):
                event("warning", "owner.lock_reclaimed", file=name)

    # --- what decisions ask -------------------------------------------------------------------------------------

    def settled(self, identity: Identity) -> Settled | None:
        return self.reader.settled(identity)

    def fate(self, step: OpenStep) -> Fate:
        return fate_of(step, self.reader.files.owners, self.owner, self.active)

    def in_doubt(self) -> list[dict[str, object]]:
        """The open steps in doubt, as the state file lists them."""
        return in_doubt_of(self.view, self.fate)

    def kept(self, payload: Payload | None) -> Kept:
        if payload is None:
            return _NOTHING_KEPT
        if payload.file is not None:
            return Kept(file=payload.file, size=payload.size, typed=payload.typed)
        return Kept(raw=Raw(payload.json), typed=payload.typed)

    def detected_branch(self) -> str:
        return current_branch(self.reader.files.root) or ""

    def fresh_document(self, plan_id: str, branch: str, sprints: tuple[str, ...]) -> str | None:
        run = self.view.run
        before = run.document if run is not None else self.state_file.text
        return (
            None
            if before is None
            else renewed(before, plan_id=plan_id, branch=branch, sprints=list(sprints), at=now())
        )
