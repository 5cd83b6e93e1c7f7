"""What is lost, in the words of the fold: which numbers, how many intents among them, and what can still be read."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from runledger.errors import LedgerError
from runledger.local.directory import Directory
from runledger.local.history import History
from runledger.local.history_rows import Facts
from runledger.local.layout import HISTORY, STATE, segment_name
from runledger.local.repair_read import opened
from runledger.local.repair_segments import Found
from runledger.local.salvage import Walk, lost, lost_whole
from runledger.state_file import verifies
from runledger.state_reading import Unreadable, read
from runledger.view import Damage, View

__all__ = ["Change", "beyond", "claimed", "of_history", "of_segment", "of_trailing"]


class Change(NamedTuple):
    """Something that was put right or set aside, and lost nothing by itself."""

    file: str
    offset: int
    what: str


def of_segment(missing: Damage, source: Directory, found: Found) -> Damage:
    """The damage of a missing segment, with what a file still shows that may have been it, or was its beginning."""
    reason = found.spoiled or "its first records are damaged"
    file = opened(source, found.name)
    if file is None:
        return msgspec.structs.replace(missing, reason=reason)
    end = file.stat().size if found.spoiled else found.start
    try:
        shown = lost(file, 0, end, (missing.first - 1, 0), (missing.last, missing.intents), reason)
    finally:
        file.close()
    folder = missing.file.rpartition("/")[0]
    return msgspec.structs.replace(shown, file=f"{folder}/{found.name}")


def of_trailing(source: Directory, found: Found, view: View) -> Damage:
    """The damage of a last segment that cannot be used: how far it went, only its own lines can tell."""
    file = opened(source, found.name)
    try:
        last = None if file is not None else max(view.lsn + 1, found.first)
        return lost_whole(file, found.path, Walk(view.lsn, view.steps), last, None, found.spoiled)
    finally:
        if file is not None:
            file.close()


def of_history(path: str, reason: str, base: View, kept: History, facts: Facts | None) -> Damage:
    """The damage of a history: the outcomes that are neither in ``kept``, the new one, nor open in ``base``."""
    known = sum(step.attempt for step in base.open.values()) + sum(step.attempt for step in kept.entries())
    missing = (
        facts.count - kept.meta().steps if facts is not None and facts.lsn >= base.lsn else base.steps - known
    )
    return Damage(file=path, offset=0, first=1, last=max(1, base.lsn), reason=reason, intents=max(1, missing))


def beyond(view: View, shown: int, folded: int, origin: str) -> Damage | None:
    """What lay behind the journal's end: the state file (``shown``) or the history covers more than there is."""
    last = max(shown, folded)
    if last <= view.lsn:
        return None
    witness = STATE if shown >= folded else HISTORY
    return Damage(
        file=f"{origin}/{segment_name(view.lsn + 1)}",
        offset=0,
        first=view.lsn + 1,
        last=last,
        reason=f"the journal ends at LSN {view.lsn}, and {witness} covers up to {last}",
        intents=last - view.lsn,
        moves=last - view.lsn,
    )


def claimed(state: bytes | None, ledger: str | None) -> int:
    """The LSN that the state file covers; 0 where it is not sealed by this ledger (None: by any)."""
    try:
        reading = read(state) if state is not None else None
    except (Unreadable, LedgerError):
        return 0
    if (
        reading is None
        or reading.ledger is None
        or (ledger is not None and not verifies(reading.document, ledger))
    ):
        return 0
    return reading.ledger.lsn
