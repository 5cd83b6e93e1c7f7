"""Processes that share a ledger: the lock is held for the write only, and a sync of one is a sync of all."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.interleave import Worker

STEPS = 80


@pytest.mark.parametrize("processes", [1, 2, 8])
def test_processes(benchmark: BenchmarkFixture, tmp_path: Path, processes: int) -> None:
    """Eighty steps, shared out."""
    worker = Worker("runledger", tmp_path / "shared", processes=processes)
    try:
        benchmark(worker.turn, STEPS)
    finally:
        worker.close()
