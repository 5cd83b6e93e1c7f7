"""Descriptors that several threads use at once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from runledger import Ledger
from runledger.local.directory import Directory, File


def test_threads_that_list_a_folder_at_once(tmp_path: Path) -> None:
    """Each sees all of it: a writer that sees no segments would believe that there are none."""
    for n in range(30):
        (tmp_path / str(n)).touch()
    folder = Directory.at(str(tmp_path))
    assert folder is not None
    short: list[int] = []

    def listing() -> None:
        short.extend(seen for _ in range(3000) if (seen := len(folder.names())) != 30)

    threads = [threading.Thread(target=listing) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    folder.close()
    assert short == []


def test_a_reading_anew_during_a_sync(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The segment that is being synced is not closed under it: the handle would have failed."""
    with Ledger.open(root) as ledger:
        with ledger.step("work", key="1"):
            pass
        datasync = File.datasync

        def meanwhile(self: File) -> None:
            ledger._local.reader.stale = True
            looking = threading.Thread(target=ledger.lookup, args=("work", "1"))
            looking.start()
            looking.join()
            datasync(self)

        with monkeypatch.context() as patch:
            patch.setattr(File, "datasync", meanwhile)
            with ledger.step("work", key="2"):
                pass
        known = ledger.lookup("work", "2")
        assert known is not None
        assert known.status == "committed"
