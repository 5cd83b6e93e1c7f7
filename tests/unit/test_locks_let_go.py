"""What a handle locks is let go by whoever took it, and at no other time."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from runledger import Ledger
from runledger.local.ordered import Ordered
from runledger.local.store import LocalStore


class Stop(BaseException):
    """What a signal's handler raises."""


def interrupted(act: Callable[[], object], at: int) -> Stop | None:
    """Raise ``Stop`` at the beginning of the call number ``at`` inside the act, which is where Python runs a handler;
    None where there were not so many."""
    left = at

    def trace(_: FrameType, event: str, __: Any) -> None:
        nonlocal left
        if event == "call":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise Stop

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except Stop as stop:
        return stop
    finally:
        sys.settrace(before)
    return None


def written(store: LocalStore) -> None:
    """The state file is written, which takes the lock alone."""
    store.tx.urgent = True
    store.state_keeper.write()


def compacted(store: LocalStore) -> None:
    """As compaction does, with nothing to write."""
    with store.sequencer.io, Ordered(store.sequencer):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("act", [written, compacted])
def test_an_interrupt_that_is_kept(root: Path, act: Callable[[LocalStore], None]) -> None:
    """Whoever keeps a handler's exception keeps what it interrupted, and lets it go at any later time: in the middle of
    a record, too."""
    with Ledger.open(root) as ledger, Ledger.open(root) as other:
        for one in (ledger, other):
            with one.step("work"):
                pass
        store, rival = ledger._local, other._local.sequencer._append_lock
        assert rival is not None
        at = 0
        while True:
            stop = interrupted(lambda: act(store), at)
            if stop is None:
                break
            with store.sequencer.io:
                lock = store.sequencer.take_append_lock()
                stop = None
                gc.collect()
                assert not rival.lock(), f"at call {at}"
                lock.unlock()
            assert is_free(store), f"at call {at}"
            with ledger.step("work"):
                pass
            at += 1
        assert at > 10


def is_free(store: LocalStore) -> bool:
    """Whether another thread may write the state file."""
    thread = threading.Thread(target=store.state_keeper.after_records, kwargs={"moved": True}, daemon=True)
    thread.start()
    thread.join(20.0)
    return not thread.is_alive()


class Interrupting:
    """A lock in which a signal comes: the handler runs, and raises, once it is taken."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.raises = True

    def acquire(self, *given: Any, **more: Any) -> bool:
        taken = bool(self.inner.acquire(*given, **more))
        if self.raises:
            self.raises = False
            raise Stop
        return taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def __enter__(self) -> Any:
        return self.inner.__enter__()

    def __exit__(self, *error: object) -> None:
        self.inner.__exit__(*error)


def test_an_interrupt_as_soon_as_the_turn_is_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next writer of the state file does not wait for ever."""
    with Ledger.open(root) as ledger:
        with ledger.step("work"):
            pass
        store = ledger._local
        monkeypatch.setattr(store.state_keeper, "_writing", Interrupting(store.state_keeper._writing))
        with pytest.raises(Stop):
            written(store)
        assert is_free(store)
