"""What one step costs here in each of its kinds, beside the bare disk and SQLite."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from runledger.bench.disk import Device, RawFile, Syncs, device_of, measure_syncs
from runledger.bench.sqlite_steps import SqliteSteps
from runledger.bench.timing import Spread, Work, interleaved, ratios, spread
from runledger.ledger import Ledger

__all__ = ["THREADS", "Finding", "Measured", "measure"]

THREADS = 8
FILLER = 4 << 20
TURN_S = 0.04

RESULT = {"ok": True, "id": "ch_0123456789"}


class Finding(NamedTuple):
    """One kind of step: seconds for one, and how many times as fast it is as the bare disk and as SQLite.

    ``times_disk`` is None where the bare disk does nothing that is the same.
    """

    name: str
    seconds: Spread
    times_disk: Spread | None
    times_sqlite: Spread


class Measured(NamedTuple):
    """All of it, of one directory."""

    directory: str
    device: Device
    syncs: Syncs
    findings: list[Finding]
    took_s: float


class Keys:
    """Keys that were never used before."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._next = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self._next += 1
        return f"{self._prefix}-{self._next}"


def worker(ledger: Ledger, keys: Keys, *, idempotent: bool = False) -> Work:
    """Steps of one thread."""

    def work(times: int) -> int:
        for _ in range(times):
            with ledger.step("charge", key=next(keys), idempotent=idempotent) as step:
                step.result = RESULT
        return times

    return work


def in_threads(make: Callable[[int], Work], threads: int) -> Work:
    """The same work, shared by so many threads."""
    works = [make(number) for number in range(threads)]

    def work(times: int) -> int:
        each = -(-times // threads)
        running = [threading.Thread(target=one, args=(each,)) for one in works]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return each * threads

    return work


def repeated(ledger: Ledger) -> Work:
    """A step that is committed already, asked for again."""

    @ledger.step("charge", key="the same one", inputs=None)
    def charge() -> dict[str, object]:
        return RESULT

    def work(times: int) -> int:
        for _ in range(times):
            charge()
        return times

    return work


def bare(file: RawFile) -> Work:
    """What a step has to do at the least: two writes, each made durable."""
    return lambda times: file.write_and_sync(2 * times) // 2


@contextmanager
def _contenders(place: Path) -> Iterator[dict[str, Work]]:
    with ExitStack() as stack:
        file = RawFile(place / "bare", filler=FILLER)
        stack.callback(file.close)
        sqlite = SqliteSteps(str(place / "steps.db"))
        stack.callback(sqlite.close)
        durable, shared, riding, harmless = (
            stack.enter_context(Ledger.open(place / name, commit=commit))
            for name, commit in (
                ("durable", "durable"),
                ("threads", "durable"),
                ("riding", "riding"),
                ("idempotent", "durable"),
            )
        )
        yield {
            "bare disk": bare(file),
            "SQLite": sqlite.work,
            "durable": worker(durable, Keys("k")),
            "riding": worker(riding, Keys("k")),
            "idempotent": worker(harmless, Keys("k"), idempotent=True),
            f"durable, {THREADS} threads": in_threads(lambda n: worker(shared, Keys(f"t{n}")), THREADS),
            "repeated": repeated(durable),
        }


def measure(directory: str, seconds: float = 12.0) -> Measured:
    """Measure in a scratch directory in ``directory``, which is gone afterwards, for about ``seconds``."""
    began = time.monotonic()
    syncs = measure_syncs(directory, seconds / 8)
    scratch = tempfile.TemporaryDirectory(prefix=".runledger-bench-", dir=directory)
    with scratch as place, _contenders(Path(place)) as contenders:
        taken = interleaved(contenders, turn_s=TURN_S, seconds=seconds * 3 / 4)
    findings = [
        Finding(
            name,
            spread(seconds_each),
            ratios(taken["bare disk"], seconds_each) if name.startswith(("durable", "riding")) else None,
            ratios(taken["SQLite"], seconds_each),
        )
        for name, seconds_each in taken.items()
    ]
    return Measured(directory, device_of(directory), syncs, findings, time.monotonic() - began)
