"""Waiting threads and tasks share syncs, and no sync stops an event loop on a slow disk: counted, not timed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runledger import Ledger, Options
from runledger.local.directory import File

SLOW_S = 0.01
WRITERS, STEPS = 12, 6
RECORDS = 2 * WRITERS * STEPS


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads that made data syncs, in order; each takes longer than all else that a step does."""
    threads: list[int] = []

    def datasync(_: File) -> None:
        threads.append(threading.get_ident())
        time.sleep(SLOW_S)

    monkeypatch.setattr(File, "datasync", datasync)
    return threads


@pytest.fixture
def ledger(root: Path) -> Iterator[Ledger]:
    """An open ledger that never compacts by itself."""
    with Ledger.open(root, options=Options(compact_after=0)) as ledger:
        yield ledger


def test_threads_share_syncs(ledger: Ledger, syncs: list[int]) -> None:
    """Twelve threads need far fewer syncs than records: those who wait are led together."""

    def work(writer: int) -> None:
        for number in range(STEPS):
            with ledger.step("charge", key=f"{writer}-{number}"):
                pass

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.status().committed == WRITERS * STEPS
    assert len(syncs) <= RECORDS / 3


def test_tasks_share_syncs_off_the_loop(ledger: Ledger, syncs: list[int]) -> None:
    """Twelve tasks share syncs too, and on a slow disk none of them is made on the event loop's thread."""

    async def work(writer: int) -> None:
        for number in range(STEPS):
            async with ledger.step("charge", key=f"{writer}-{number}"):
                pass

    async def all_of_them() -> None:
        await asyncio.gather(*(work(writer) for writer in range(WRITERS)))

    asyncio.run(all_of_them())
    assert ledger.status().committed == WRITERS * STEPS
    assert len(syncs) <= RECORDS / 3
    assert threading.get_ident() not in syncs
