"""The descriptors of segments: none stays behind, and none goes while somebody syncs it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runledger import Ledger, Options
from runledger.local.directory import File
from runledger.local.store import LocalStore
from tests.support.tree import newest

SECONDS = 20.0


def held(root: Path) -> list[str]:
    """The segments that this process has open."""
    names = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [name for name in names if name.startswith(f"{root}/") and ".jsonl" in name]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc here")
def test_a_long_lived_handle_holds_one_segment(root: Path) -> None:
    """However often it went on to the next one, and whoever made that."""
    options = Options(segment_bytes=4096)
    with Ledger.open(root, options=options) as one, Ledger.open(root, options=options) as other:
        for n in range(60):
            with (one, other)[n % 2].step("work", key=str(n), idempotent=True):
                pass
        assert len(list((root / ".run" / "ledger").glob("*.jsonl"))) > 4
        assert len(held(root)) == 2


def reload(ledger: Ledger) -> None:
    """What a reader does that was overtaken by a compaction."""
    store = ledger.store
    assert isinstance(store, LocalStore)
    with store.sequencer.io:
        store.reader.stale = True
    ledger.status()


def roll(ledger: Ledger) -> None:
    """Another handle began another segment, and this one reads on to it."""
    with Ledger.open(ledger.root, options=Options(segment_bytes=4096)) as other:
        with other.step("more", key="of them", idempotent=True) as step:
            step.result = "x" * 5000
        with other.step("and", key="more", idempotent=True):
            pass
    assert ledger.lookup("and", "more") is not None


@pytest.mark.parametrize("meanwhile", [reload, roll])
def test_a_sync_under_way_is_of_the_segment_that_was_written(
    root: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Ledger], None]
) -> None:
    """Another thread of the handle reads anew, or goes on to the next segment: what is synced stays what it was."""
    begun, goes_on = threading.Event(), threading.Event()
    synced: list[int] = []
    datasync = File.datasync

    def slowly(file: File) -> None:
        if threading.current_thread() is worker:
            begun.set()
            goes_on.wait(SECONDS)
            synced.append(os.fstat(file.fd).st_ino)
        datasync(file)

    def work() -> None:
        with ledger.step("pay", key="a"):
            pass

    with Ledger.open(root, options=Options(segment_bytes=4096)) as ledger:
        with ledger.step("first", key="b"):
            pass
        written = newest(root).stat().st_ino
        worker = threading.Thread(target=work)
        monkeypatch.setattr(File, "datasync", slowly)
        worker.start()
        assert begun.wait(SECONDS)
        meanwhile(ledger)
        goes_on.set()
        worker.join(SECONDS)
        assert synced[0] == written
        found = ledger.lookup("pay", "a")
        assert found is not None
        assert found.status == "committed"
