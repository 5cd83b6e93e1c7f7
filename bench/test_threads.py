"""Threads that share a ledger, and its syncs."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.contenders import Contender, CPrefilled, Runledger, Sqlite

EACH = 10


@pytest.mark.parametrize("threads", [1, 8, 32])
@pytest.mark.parametrize("kind", [Runledger, Sqlite, CPrefilled], ids=lambda kind: kind.name)
def test_threads(benchmark: BenchmarkFixture, tmp_path: Path, kind: type[Contender], threads: int) -> None:
    """So many threads do ten steps each; the C leader works for a fixed time instead, see steps_per_second."""
    contender = kind()
    contender.open(tmp_path)
    rounds = count()
    done = []

    def work() -> None:
        number = next(rounds)
        done.append(contender.in_threads([f"{number}-{n}" for n in range(EACH * threads)], threads))

    benchmark(work)
    if benchmark.stats is not None:
        steps = sum(done[-benchmark.stats.stats.rounds :]) / benchmark.stats.stats.rounds
        benchmark.extra_info["steps_per_second"] = round(steps / benchmark.stats.stats.median)
    contender.close()
