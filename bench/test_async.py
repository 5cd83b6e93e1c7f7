"""Tasks of one event loop that share a ledger."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.contenders import Runledger

EACH = 10


@pytest.mark.parametrize("tasks", [1, 8, 32])
def test_tasks(benchmark: BenchmarkFixture, tmp_path: Path, tasks: int) -> None:
    """So many tasks do ten steps each."""
    contender = Runledger()
    contender.open(tmp_path)
    rounds = count()

    def work() -> None:
        number = next(rounds)
        contender.in_tasks([f"{number}-{n}" for n in range(EACH * tasks)], tasks)

    benchmark(work)
    contender.close()
