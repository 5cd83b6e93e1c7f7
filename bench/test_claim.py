"""A claim in a long history: of a key that is committed, and of one that nobody knows."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.conftest import LARGE
from bench.stores import NAME, key_of
from runledger import Ledger

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("steps", [1_000, LARGE])
def test_hit(benchmark: BenchmarkFixture, history: Callable[[int], Path], steps: int) -> None:
    """The recorded result comes back, and nothing is done."""
    drawn = random.Random(1)
    with Ledger.open(history(steps)) as ledger:

        @ledger.step(NAME, key="{key}", inputs=None)
        def charge(key: str) -> object:
            raise AssertionError("a committed step was done again")

        with ledger.step("warm up"):
            pass
        benchmark(lambda: charge(key_of(drawn.randrange(steps))))


@pytest.mark.parametrize("steps", [1_000, LARGE])
def test_miss(benchmark: BenchmarkFixture, history: Callable[[int], Path], steps: int) -> None:
    """Proof that a key was never there."""
    with Ledger.open(history(steps)) as ledger:
        with ledger.step("warm up"):
            pass
        assert benchmark(ledger.lookup, NAME, "nobody's") is None


def test_hit_in_the_journal(benchmark: BenchmarkFixture, ledger: Ledger) -> None:
    """A step that was committed a moment ago, asked for again."""

    @ledger.step("charge", key="invoice", inputs=None)
    def charge() -> int:
        return 1

    charge()
    assert benchmark(charge) == 1
