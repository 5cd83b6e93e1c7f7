"""Many threads of many processes want the same keys, and processes are killed meanwhile."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

import runledger
from runledger import NOT_HAPPENED, Happened, Ledger
from runledger.verify import verify
from tests.support.children import Child
from tests.support.outside import Outside
from tests.support.tree import records

WORKER = """
import random, threading

seed, threads, keys = map(int, arguments)
ledger = Ledger.open()


def work(rng):
    while True:
        key = f"k{rng.randrange(keys)}"
        try:
            with ledger.skip_committed(), ledger.step("effect", key=key) as step:
                happen(key)
                step.result = key * 10
        except (StepInFlight, StepInDoubt):
            pass


for n in range(threads):
    threading.Thread(target=work, args=(random.Random(seed * 1000 + n),), daemon=True).start()
say("ready")
time.sleep(3600)
"""


def contended(root: Path, *, processes: int, threads: int, keys: int, seconds: float, seed: int) -> None:
    """Kill one of the processes every now and then and start another; settle each doubt by looking at the world, and
    count again."""
    rng = random.Random(seed)
    outside = Outside(root)
    with Ledger.open(root) as ledger:
        ledger.start("contended")
    begun = 0

    def another() -> Child:
        nonlocal begun
        begun += 1
        return Child(WORKER, root, begun, threads, keys)

    crew = [another() for _ in range(processes)]
    ends = time.monotonic() + seconds
    settled = 0
    while time.monotonic() < ends:
        time.sleep(rng.random() * seconds / 20)
        victim = rng.randrange(processes)
        crew[victim].kill()
        crew[victim] = another()
        settled += settle(root, outside)
    for child in crew:
        assert "Traceback" not in child.kill().err
    settled += settle(root, outside)
    report = runledger.replay(root)
    assert (report.in_doubt, report.in_flight, report.corruption) == ([], [], [])
    assert outside.repeated() == []
    assert report.committed == len(outside.all())
    assert verify(root) == []
    lsns = [record["lsn"] for record in records(root)]
    assert lsns == list(range(1, len(lsns) + 1))


def settle(root: Path, outside: Outside) -> int:
    """Settle every doubt there is by what really happened; how many there were."""
    in_doubt = runledger.replay(root).in_doubt
    with Ledger.open(root) as ledger:
        for step in in_doubt:
            happened = outside.count(step.key or "") > 0
            outcome = Happened((step.key or "") * 10) if happened else NOT_HAPPENED
            ledger.resolve(step.name, step.key, outcome, reason="looked", lsn=step.lsn)
    return len(in_doubt)


def test_three_processes_of_eight_threads(root: Path) -> None:
    """Each effect happens once, the numbers have no gap, everything agrees."""
    contended(root, processes=3, threads=8, keys=400, seconds=3, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_eight_processes_of_thirty_two_threads(root: Path) -> None:
    """The same with a thousand keys for half a minute."""
    contended(root, processes=8, threads=32, keys=1000, seconds=30, seed=2)
