"""Opening a ledger with nothing, with a tail, and with a long history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.conftest import LARGE
from runledger import Ledger

pytestmark = pytest.mark.timeout(900)


def look(root: Path) -> None:
    """Open, and see where the run stands."""
    with Ledger.open(root) as ledger:
        ledger.status()


@pytest.mark.parametrize("steps", [0, 1_000, LARGE])
def test_open_folded(benchmark: BenchmarkFixture, history: Callable[[int], Path], steps: int) -> None:
    """All steps are folded."""
    benchmark(look, history(steps))


@pytest.mark.parametrize("steps", [100, 10_000])
def test_open_tail(benchmark: BenchmarkFixture, journal: Callable[..., Path], steps: int) -> None:
    """No step is folded."""
    benchmark(look, journal(steps))


def test_begin(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """A new ledger: opened, one step, closed."""
    rounds = iter(range(1_000_000))

    def begin() -> None:
        with Ledger.open(tmp_path / str(next(rounds))) as ledger, ledger.step("charge", key="invoice"):
            pass

    benchmark(begin)
