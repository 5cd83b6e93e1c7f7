"""Children killed at random moments: nothing acknowledged is lost, nothing is repeated unseen, all doubt is listed."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

import runledger
from runledger import Ledger
from runledger.verify import verify
from tests.support.children import Child
from tests.support.outside import Outside
from tests.support.tree import records

WORKER = """
life, n = arguments[0], 0
with Ledger.open() as ledger:
    while True:
        key = f"{life}-{n}"
        with ledger.step("effect", key=key) as step:
            happen(key)
            step.result = key * 20
        say(key)
        n += 1
"""


def killed_again_and_again(root: Path, lives: int, seed: int) -> None:
    """So many workers one after the other, each killed within some 30 ms of its first acknowledged step."""
    rng = random.Random(seed)
    acknowledged: list[str] = []
    for life in range(lives):
        with Child(WORKER, root, life, cold=True) as child:
            child.line()
            time.sleep(rng.random() * 0.03)
            ended = child.kill()
        assert "Traceback" not in ended.err
        acknowledged += ended.lines
    outside = Outside(root)
    report = runledger.replay(root)
    doubtful = {step.key for step in report.in_doubt}
    assert outside.repeated() == []
    assert (report.corruption, report.in_flight) == ([], [])
    with Ledger.open(root) as ledger:
        for key in acknowledged:
            known = ledger.lookup("effect", key)
            assert known is not None
            assert (known.status, known.result) == ("committed", key * 20)
        for key in outside.all():
            known = ledger.lookup("effect", key)
            assert known is not None
            assert known.status == "committed" or key in doubtful
    assert verify(root) == []
    lsns = [record["lsn"] for record in records(root)]
    assert lsns == list(range(1, len(lsns) + 1))


def test_forty_workers_killed_at_random(root: Path) -> None:
    """No acknowledged commit is lost, no effect is silently repeated, every doubtful step is listed."""
    killed_again_and_again(root, 40, seed=20261129)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_two_thousand_workers_killed_at_random(root: Path) -> None:
    """The same, two thousand times."""
    killed_again_and_again(root, 2000, seed=29112026)
