"""Nobody waits for a handle that reads a long journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runledger import Ledger, Options
from runledger.local.directory import Directory
from runledger.local.files import Files
from runledger.local.layout import APPEND_LOCK
from runledger.local.reader import Reader


@pytest.fixture
def ledger(root: Path) -> Iterator[Ledger]:
    """A handle that has put five steps on record."""
    with Ledger.open(root) as ledger:
        for n in range(5):
            with ledger.step("work", key=str(n)):
                pass
        yield ledger


def is_lock_free(folder: Path) -> bool:
    """Whether another process would get the append lock now."""
    directory = Directory.at(str(folder))
    assert directory is not None
    lock = directory.open(APPEND_LOCK, write=True)
    assert lock is not None
    try:
        return lock.lock()
    finally:
        lock.close()
        directory.close()


def test_the_journal_is_read_before_the_lock_is_taken(
    root: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a handle's first step, by a compaction, by whoever leaves: the append lock is free meanwhile."""
    free: list[bool] = []
    load = Reader._load

    def watched(self: Reader) -> None:
        free.append(is_lock_free(root / ".run" / "ledger"))
        load(self)

    monkeypatch.setattr(Reader, "_load", watched)
    with Ledger.open(root) as other, other.step("work", key="first"):
        pass
    with Ledger.open(root) as other:
        other.compact()
    assert free
    assert all(free)


def test_a_line_in_the_writing_is_not_torn(root: Path, ledger: Ledger) -> None:
    """A handle that read while a line was half written knows it when it is whole; it is no crash, and nothing is read
    twice."""
    tail = max((root / ".run" / "ledger").glob("*.jsonl"))
    whole = tail.read_bytes()
    end = len(whole.rstrip(b"\n"))
    tail.write_bytes(whole[: end - 50] + b"\n" * (len(whole) - end + 50))
    reader = Reader(Files(str(root)), write=False)
    reader.refresh()
    assert reader.journal is not None
    before = reader.view.lsn
    assert not reader.journal.clean
    tail.write_bytes(whole)
    reader.refresh()
    assert (reader.journal.clean, reader.journal.torn) == (True, None)
    assert reader.view.lsn == before + 1
    reader.close()


def test_what_others_wrote_meanwhile_is_known(root: Path) -> None:
    """What is read ahead is not all: what came since is read under the lock."""
    options = Options(compact_after=0)
    with Ledger.open(root, options=options) as ledger, Ledger.open(root, options=options) as other:
        with other.step("work", key="other"):
            pass
        for n in range(200):
            with ledger.step("work", key=str(n)):
                pass
        assert other.compact()["folded"] == 201
