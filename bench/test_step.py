"""A step in each of its kinds, one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from runledger import Ledger

RESULT = {"ok": True, "id": "ch_0123456789"}


@pytest.mark.parametrize("commit", ["durable", "riding"])
def test_external(
    benchmark: BenchmarkFixture, opened: Callable[..., Ledger], keys: Iterator[str], commit: str
) -> None:
    """Both syncs, or the commit on the next intent's."""
    ledger = opened(commit=commit)

    def step() -> None:
        with ledger.step("charge", key=next(keys)) as step:
            step.result = RESULT

    benchmark(step)


def test_idempotent(benchmark: BenchmarkFixture, ledger: Ledger, keys: Iterator[str]) -> None:
    """No sync of its own."""

    def step() -> None:
        with ledger.step("charge", key=next(keys), idempotent=True) as step:
            step.result = RESULT

    benchmark(step)


@pytest.mark.parametrize("inputs", [..., None], ids=["fingerprinted", "without inputs"])
def test_decorated(benchmark: BenchmarkFixture, ledger: Ledger, keys: Iterator[str], inputs: object) -> None:
    """A decorated function, with its arguments fingerprinted or not."""

    @ledger.step("charge", key="{invoice}", inputs=inputs)
    def charge(invoice: str, amount: int) -> dict[str, object]:
        return RESULT

    benchmark(lambda: charge(next(keys), 1000))


@pytest.mark.parametrize("size", [10, 1_000, 100_000])
def test_result_of(benchmark: BenchmarkFixture, ledger: Ledger, keys: Iterator[str], size: int) -> None:
    """Results of so many characters."""
    result = "x" * size

    def step() -> None:
        with ledger.step("charge", key=next(keys)) as step:
            step.result = result

    benchmark(step)
