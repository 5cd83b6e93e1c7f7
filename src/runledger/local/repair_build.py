"""A new ledger out of what is intact of a spoiled one, in a folder of its own; nothing is changed in the old one.

The journal's segments are copied, what is settled goes into the history, and the checkpoint keeps what is lost: its
numbers stay used up, its steps in doubt, and a step that nothing is known of is refused until somebody has looked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from runledger.errors import LedgerCorrupt, NewerVersion
from runledger.fold import advance
from runledger.local import checkpoint
from runledger.local.directory import Directory
from runledger.local.frame import line_of
from runledger.local.history import History
from runledger.local.journal import Journal
from runledger.local.layout import APPEND_LOCK, CHECKPOINT, COMPACT_LOCK, HISTORY, segment_name
from runledger.local.mending import mended
from runledger.local.repair_copy import copy_file, copy_folders, copy_segment
from runledger.local.repair_history import Damaged, Verdict, verdict_on
from runledger.local.repair_losses import Change, beyond, claimed, of_history, of_segment, of_trailing
from runledger.local.repair_read import is_odd, small
from runledger.local.repair_segments import Found, chosen, found_in, ledger_of
from runledger.record import Record
from runledger.view import Damage, Settled, View

__all__ = ["Rebuilt", "rebuild"]


@dataclass
class Rebuilt:
    """A ledger that was built anew: its view, what was put right or set aside for it, and what is lost since the last
    repair."""

    view: View
    changes: list[Change] = field(default_factory=list)
    lost: list[Damage] = field(default_factory=list)

    @property
    def is_needed(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.changes or self.lost)


class _Builder:
    def __init__(self, source: Directory, target: Directory, state: bytes | None, origin: str) -> None:
        self.source = source
        self.target = target
        self.state = state
        self.origin = origin
        self.shown = 0
        self.changes: list[Change] = []
        self.segments: list[Found] = []
        self.founds: list[Found] = []

    # --- what there is ----------------------------------------------------------------------------------------

    def build(self) -> Rebuilt:
        self.founds = found_in(self.source)
        verdict = verdict_on(self.source, "")
        damaged = Damaged(self.source) if verdict is not None and verdict.spoiled else None
        try:
            base = self._base(verdict, damaged)
            said = damaged.facts.ledger if damaged is not None and damaged.facts is not None else ""
            said = verdict.meta.ledger if verdict is not None and verdict.meta is not None else said
            ledger = ledger_of(self.founds, [base.ledger if base is not None else "", said], self.state)
            if not ledger and self._is_empty():
                return Rebuilt(View(ledger=""))
            if not ledger:
                ledger = os.urandom(8).hex()
                self.shown = claimed(self.state, None)
                what = "nothing tells the ledger's id any more; it has a new one, and idempotency keys are others now"
                self.changes.append(Change(self.origin, 0, what))
            self.shown = self.shown or claimed(self.state, ledger)
            if base is not None and base.ledger != ledger:
                self.changes = [
                    Change(f"{self.origin}/{CHECKPOINT}", 0, "set aside: it is of another ledger")
                ]
                base = None
            if said not in {"", ledger}:
                verdict = Verdict(f"it is of ledger {said}, and this is ledger {ledger}")
            self._copy(ledger)
            return self._built(base, ledger, verdict, damaged if said in {"", ledger} else None)
        finally:
            if damaged is not None:
                damaged.close()

    def _is_empty(self) -> bool:
        """Whether there never was a record here, as far as anything tells."""
        return not self.founds and self.source.stat(CHECKPOINT) is None and not claimed(self.state, None)

    def _base(self, verdict: Verdict | None, damaged: Damaged | None) -> View | None:
        """The checkpoint, put right where one bit explains what is wrong with it, else the history's copy of it."""
        path = f"{self.origin}/{CHECKPOINT}"
        there = self.source.stat(CHECKPOINT) is not None
        data = small(self.source, CHECKPOINT, checkpoint.LARGEST) if there else None
        if data is not None:
            view = _decoded(data, path)
            if view is not None:
                return view
            better = mended(data[:-1], 0)
            view = _decoded(better + b"\n", path) if better is not None else None
            if view is not None:
                self.changes.append(Change(path, 0, "one flipped bit was turned back"))
                return view
        kept = verdict.meta.checkpoint if verdict is not None and verdict.meta is not None else b""
        kept = kept or (damaged.checkpoint if damaged is not None else b"")
        what = "it is damaged" if there else "it is missing"
        view = _decoded(kept, f"{self.source.path}/{HISTORY}") if kept else None
        if view is None and there:
            self.changes.append(Change(path, 0, f"{what}, and there is no other copy"))
        elif view is not None and (there or min((f.first for f in self.founds), default=0) != 1):
            self.changes.append(Change(path, 0, f"{what}; its copy in {HISTORY} serves"))
        return view  # without a word where a compaction was cut off before its first checkpoint

    def _copy(self, ledger: str) -> None:
        self.segments = chosen(self.source, self.founds, ledger)
        for found in self.segments:
            last = found is self.segments[-1]
            offsets, unsealed = copy_segment(self.source, found, self.target, sealed=not last)
            path = f"{self.origin}/{found.name}"
            if found.said:
                self.changes.append(Change(path, 0, found.said))
            if unsealed:
                self.changes.append(Change(path, found.size, "its seal was made anew"))
            self.changes += [Change(path, offset, "one flipped bit was turned back") for offset in offsets]
        self.changes += self._set_aside()
        copy_file(self.source, ".gitignore", self.target)
        odd = copy_folders(self.source, self.target)
        odd += [name for name in (APPEND_LOCK, COMPACT_LOCK) if is_odd(self.source, name)]
        self.changes += [
            Change(f"{self.origin}/{name}", 0, "set aside: it is not what it should be") for name in odd
        ]

    def _set_aside(self) -> list[Change]:
        return [
            Change(f"{self.origin}/{found.name}", 0, f"set aside: {found.spoiled}")
            for found in self.founds
            if found.spoiled
        ]

    # --- what it says -----------------------------------------------------------------------------------------

    def _built(
        self, base: View | None, ledger: str, verdict: Verdict | None, damaged: Damaged | None
    ) -> Rebuilt:
        view = base or View(ledger=ledger)
        before = list(view.damage)
        history = self._history(view, ledger, verdict, damaged)
        try:
            journal = Journal(self.target, ledger, write=True)
            try:
                for items in journal.load(view.lsn, view.steps):
                    for item in items:
                        advance(view, self._told(item))
                self._end(view, journal, history.meta().lsn)
            finally:
                journal.close()
            encoded = checkpoint.encode(view)
            history.fold(list(view.settled.values()), view.lsn, encoded)
        finally:
            history.close()
        checkpoint.write(self.target, encoded)
        self.target.sync()
        return Rebuilt(view, self.changes, [d for d in view.damage if d not in before])

    def _history(self, base: View, ledger: str, verdict: Verdict | None, damaged: Damaged | None) -> History:
        """The history to fold into: the old one, or a new one with what is left of it; ``base`` gets what is lost."""
        path = f"{self.target.path}/{HISTORY}"
        meta = verdict.meta if verdict is not None and not verdict.spoiled else None
        if meta is not None:
            for name in (HISTORY, f"{HISTORY}-wal"):
                copy_file(self.source, name, self.target)
            history = History.open(path, ledger, read_only=False)
            assert history is not None
        else:
            history = History.create(path, ledger)
            if damaged is not None:
                for batch in damaged.outcomes(
                    max(base.lsn, damaged.facts.lsn if damaged.facts is not None else 0)
                ):
                    history.fold(batch, 0, b"")
        facts = damaged.facts if damaged is not None and meta is None else None
        upto = meta.lsn if meta is not None else facts.lsn if facts is not None else 0
        if (verdict is None and not base.lsn) or (meta is not None and upto >= base.lsn):
            return history
        for batch in self._still_in_segments(ledger, base.lsn):
            history.fold(batch, 0, b"")
        whole = facts is not None and (facts.count, facts.digest) == history.meta()[2:4] and upto >= base.lsn
        reason = (
            verdict.spoiled if verdict is not None and verdict.spoiled else "it is older than the checkpoint"
        )
        reason = reason if verdict is not None else "the folded history is missing"
        reason = f"{reason}; {history.meta().steps} steps were carried over"
        if whole:
            self.changes.append(Change(f"{self.origin}/{HISTORY}", 0, reason))
        else:
            advance(base, of_history(f"{self.origin}/{HISTORY}", reason, base, history, facts))
        return history

    def _still_in_segments(self, ledger: str, upto: int) -> Iterator[list[Settled]]:
        """Outcomes of records that were folded and not yet dropped."""
        journal = Journal(self.target, ledger, write=False)
        old = View(ledger=ledger)
        try:
            for items in journal.load(0, 0, kept=True):
                for item in items:
                    if (item.last if isinstance(item, Damage) else item.lsn) <= upto:
                        advance(old, item)
        finally:
            journal.close()
        yield list(old.settled.values())

    def _told(self, item: Record | Damage) -> Record | Damage:
        """Damage as it is to be told later: where its file is kept, and with what one shows that was set aside."""
        if not isinstance(item, Damage):
            return item
        name = item.file.rpartition("/")[2]
        copied = next(
            (f for f in self.segments if f.header is not None and segment_name(f.header.first) == name), None
        )
        offset = item.offset
        if copied is not None and copied.header is not None and offset:
            name, offset = copied.name, offset - len(line_of(copied.header, 0)) + copied.start
        told = msgspec.structs.replace(item, file=f"{self.origin}/{name}", offset=offset)
        if copied is not None:
            return told
        shown = [f for f in self.founds if f.is_lost and item.first <= f.first <= item.last]
        shown += [
            f
            for f in self.segments
            if f.rewritten and f.header is not None and f.header.first == item.last + 1
        ]
        return of_segment(told, self.source, shown[0]) if shown else told

    def _end(self, view: View, journal: Journal, folded: int) -> None:
        """What a crash or damage left at the end, and a fresh segment behind it."""
        journal.recover()  # a record of it would take a number that may be lost
        for found in self.founds:
            if found.is_lost and found.first > view.lsn:
                damage = of_trailing(self.source, found, view)
                advance(view, msgspec.structs.replace(damage, file=f"{self.origin}/{found.name}"))
        more = beyond(view, self.shown, folded, self.origin)
        if more is not None:
            advance(view, more)
        journal.ledger = view.ledger = view.ledger or journal.ledger
        journal.roll_behind(view.lsn, view.steps)


def _decoded(data: bytes, path: str) -> View | None:
    try:
        return checkpoint.decode(data, path)
    except LedgerCorrupt:
        return None


def rebuild(source: Directory, target: Directory, state: bytes | None, origin: str) -> Rebuilt:
    """Build in ``target``, an empty folder, what can be had of the ledger in ``source``. ``state`` is the state file's
    text, ``origin`` where ``source`` will be kept: what is told of its files names them there.

    Raises:
        NewerVersion: a later version wrote some of it; nothing may be taken for damage that is only not known here.
        DiskRefused: a file cannot be read or written for a cause that may pass.
    """
    try:
        return _Builder(source, target, state, origin).build()
    except NewerVersion as error:
        told = error.message.replace(target.path, source.path)
        told = told if source.path in told else f"{source.path}: {told}"
        raise NewerVersion(told, hint=error.hint) from error
