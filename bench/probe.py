"""One look at one ledger, in a process of its own, which starts cold: prints one line of JSON.

python -m bench.probe PROBE DIRECTORY [ARGUMENT]
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import sqlite3
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["PROBES"]

Answer = dict[str, float]

MANY = 512
"""Records that are folded together, about those of a block of a sealed segment."""


def hit(directory: Path, argument: str) -> Answer:
    """A committed step of the history, asked for again: median µs, over keys of ``argument`` steps."""
    from bench.stores import NAME, key_of
    from runledger import Ledger

    drawn = random.Random(1)
    with Ledger.open(directory) as ledger:

        @ledger.step(NAME, key="{key}", inputs=None)
        def charge(key: str) -> object:
            raise AssertionError("a committed step was done again")

        with ledger.step("warm up", key=str(time.time_ns())):
            pass
        keys = [key_of(drawn.randrange(int(argument))) for _ in range(3000)]
        times = []
        for key in keys:
            began = time.perf_counter()
            charge(key)
            times.append(time.perf_counter() - began)
    return {"us": statistics.median(times[500:]) * 1e6}


def miss(directory: Path, argument: str) -> Answer:
    """A key that was never seen, looked up: median µs."""
    from bench.stores import NAME
    from runledger import Ledger

    with Ledger.open(directory) as ledger:
        with ledger.step("warm up", key=str(time.time_ns())):
            pass
        times = []
        for number in range(2000):
            began = time.perf_counter()
            assert ledger.lookup(NAME, f"nobody's-{number}") is None
            times.append(time.perf_counter() - began)
    return {"us": statistics.median(times[500:]) * 1e6}


def look(directory: Path, argument: str) -> Answer:
    """Open, ask for the status and for one key: CPU milliseconds, and the megabytes that it took."""
    from bench.stores import NAME, key_of
    from runledger import Ledger

    before, began = _peak_mb(), time.process_time()
    ledger = Ledger.open(directory)
    ledger.status()
    ledger.lookup(NAME, key_of(7))
    took = time.process_time() - began
    ledger.close()
    return {"ms": took * 1e3, "mb": _peak_mb() - before}


def begin(directory: Path, argument: str) -> Answer:
    """Open and do a first step: CPU milliseconds, and the megabytes that it took."""
    from runledger import Ledger

    before, began = _peak_mb(), time.process_time()
    ledger = Ledger.open(directory)
    with ledger.step("first", key=str(time.time_ns())):
        pass
    took = time.process_time() - began
    peak = _peak_mb() - before
    ledger.close()
    return {"ms": took * 1e3, "mb": peak}


def replayed(directory: Path, argument: str) -> Answer:
    """``runledger.replay``: CPU seconds and peak megabytes; ``argument`` steps must be committed."""
    from runledger import replay

    began = time.process_time()
    report = replay(directory)
    took = time.process_time() - began
    assert report.committed == int(argument), report.committed
    return {"s": took, "mb": _peak_mb()}


def verified(directory: Path, argument: str) -> Answer:
    """``verify``: CPU seconds and peak megabytes."""
    from runledger.verify import verify

    began = time.process_time()
    findings = verify(directory)
    took = time.process_time() - began
    assert not findings, findings
    return {"s": took, "mb": _peak_mb()}


def _rows_into(database: str, take: Callable[[Any], None]) -> Answer:
    from msgspec import Raw

    from bench.stores import SELECT
    from runledger import record as r

    gc.disable()
    began = time.process_time()
    db = sqlite3.connect(database)
    for row in db.execute(SELECT):
        kind, lsn, at, run, owner, durable, steps, name, key, attempt, of, result = row
        if kind == "intent":
            take(
                r.Intent(
                    lsn=lsn,
                    at=at,
                    run=run,
                    owner=owner,
                    durable=durable,
                    steps=steps,
                    name=name,
                    key=key,
                    attempt=attempt,
                )
            )
        else:
            take(
                r.Commit(
                    lsn=lsn,
                    at=at,
                    run=run,
                    owner=owner,
                    durable=durable,
                    steps=steps,
                    name=name,
                    key=key,
                    attempt=attempt,
                    of=of,
                    result=Raw(result),
                )
            )
    return {"s": time.process_time() - began, "mb": _peak_mb()}


def rows_decoded(directory: Path, argument: str) -> Answer:
    """The same records out of SQLite (``argument`` is the database), into the same objects."""
    return _rows_into(argument, lambda _: None)


def rows_folded(directory: Path, argument: str) -> Answer:
    """The same, folded into a view as replay does: many at a time, settled steps counted and not kept."""
    from runledger.fold import advance_all
    from runledger.view import Counted, View

    view = View(ledger="", settled=Counted())
    many: list[Any] = []

    def take(record: Any) -> None:
        many.append(record)
        if len(many) == MANY:
            advance_all(view, many)
            many.clear()

    return _rows_into(argument, take)


def decoded(directory: Path, argument: str) -> Answer:
    """The records of the journal into objects, without a fold."""
    from runledger.local.known import records

    gc.disable()
    began = time.process_time()
    count = sum(1 for _ in records(str(directory), 0))
    took = time.process_time() - began
    assert count >= 2 * int(argument), count
    return {"s": took, "mb": _peak_mb()}


def compacting(directory: Path, argument: str) -> Answer:
    """A writer's steps while a long tail is compacted: the longest, and the 99th percentile before; in ms.

    ``argument`` says by whom: ``own``, this handle, or ``other``, another process.
    """
    import subprocess

    from runledger import Ledger, Options

    with Ledger.open(directory, options=Options(compact_after=0)) as ledger:
        usual = [_one_step(ledger, f"before-{n}") for n in range(600)][100:]
        if argument == "own":
            work = threading.Thread(target=ledger.compact)
            work.start()
            alive = work.is_alive
        else:
            code = f"from runledger import Ledger\nwith Ledger.open({str(directory)!r}) as l: l.compact()"
            process = subprocess.Popen([sys.executable, "-c", code])
            alive = lambda: process.poll() is None  # noqa: E731
        times, number = [], 0
        began = time.perf_counter()
        while alive():
            times.append(_one_step(ledger, f"during-{number}"))
            number += 1
        took = time.perf_counter() - began
    p99 = statistics.quantiles(usual, n=100)[98]
    return {"longest_ms": max(times) * 1e3, "p99_ms": p99 * 1e3, "steps": len(times), "took_s": took}


def _one_step(ledger: Any, key: str) -> float:
    began = time.perf_counter()
    with ledger.step("charge", key=key):
        pass
    return time.perf_counter() - began


def blocking(directory: Path, argument: str) -> Answer:
    """32 tasks on one loop: the most syncs on its own thread between two turns, and how long it stood still.

    In milliseconds; ``argument`` is how much longer each sync takes.
    """
    from runledger import Ledger
    from runledger.local import directory as files

    more = float(argument or 0) / 1e3
    here = threading.get_ident()
    counted = {"syncs": 0, "most": 0, "all": 0}
    real = files.File.datasync

    def datasync(self: Any) -> None:
        if threading.get_ident() == here:
            counted["syncs"] += 1
        counted["all"] += 1
        if more:
            time.sleep(more)
        real(self)

    files.File.datasync = datasync  # type: ignore[method-assign]
    gaps: list[float] = []

    async def watch() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            gaps.append(now - last)
            counted["most"] = max(counted["most"], counted["syncs"])
            counted["syncs"] = 0
            last = now

    async def work(ledger: Ledger, task: int, steps: int) -> None:
        for number in range(steps):
            async with ledger.step("charge", key=f"{task}-{number}-{time.time_ns()}"):
                pass

    async def all_of_them() -> None:
        async with Ledger.open(directory) as ledger:
            await asyncio.gather(*(work(ledger, task, 3) for task in range(32)))
            gaps.clear()
            counted.update(syncs=0, most=0, all=0)
            watching = asyncio.create_task(watch())
            await asyncio.gather(*(work(ledger, task, 15) for task in range(32)))
            watching.cancel()

    asyncio.run(all_of_them())
    return {"inline": counted["most"], "longest_ms": max(gaps) * 1e3, "syncs": counted["all"]}


def _peak_mb() -> float:
    """Of this program alone: what ``getrusage`` tells goes back beyond the exec, to whoever forked it."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


PROBES: dict[str, Callable[[Path, str], Answer]] = {
    probe.__name__: probe
    for probe in (
        hit,
        miss,
        look,
        begin,
        replayed,
        verified,
        decoded,
        rows_decoded,
        rows_folded,
        compacting,
        blocking,
    )
}


if __name__ == "__main__":
    name, place, *rest = sys.argv[1:]
    print(json.dumps(PROBES[name](Path(place), rest[0] if rest else "")))
