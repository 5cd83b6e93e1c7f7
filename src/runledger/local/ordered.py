"""A place in the order of records for what is no request.

No generators: one that a signal's handler keeps from its end is ended by the garbage collector, at any later time and
in any thread, and would let the lock go that somebody else of this handle holds by then.
"""

from __future__ import annotations

from types import TracebackType

from runledger.local.sequencer import Sequencer
from runledger.local.transaction import LocalTransaction

__all__ = ["AppendLock", "Ordered"]


class AppendLock:
    """The append lock for one block, inside ``io``."""

    __slots__ = ("_lock", "_sequencer")

    def __init__(self, sequencer: Sequencer) -> None:
        self._sequencer = sequencer

    def __enter__(self) -> None:
        self._lock = self._sequencer.take_append_lock()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.unlock()


class Ordered:
    """One block of records that are no request's, inside ``io``; they are written when it ends without an exception."""

    __slots__ = ("_lock", "_sequencer")

    def __init__(self, sequencer: Sequencer) -> None:
        self._sequencer = sequencer

    def __enter__(self) -> LocalTransaction:
        sequencer = self._sequencer
        sequencer.become_owner()
        reader = sequencer.reader
        reader.read_ahead()
        lock = sequencer.take_append_lock()
        try:
            reader.refresh()
            reader.stale = True
            sequencer.tx.catch_up(look=True)
        except BaseException:
            lock.unlock()
            raise
        self._lock = lock
        return sequencer.tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reader = self._sequencer.reader
        try:
            if kind is None:
                if reader.journal is not None:
                    reader.journal.append()
                reader.stale = False
        finally:
            self._lock.unlock()
