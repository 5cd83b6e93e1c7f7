"""The state file: rendered from the view, and replaced on the disk."""

from __future__ import annotations

from pytest_benchmark.fixture import BenchmarkFixture

from runledger import Ledger
from runledger.local.store import LocalStore
from runledger.state_file import render


def test_render(benchmark: BenchmarkFixture, ledger: Ledger) -> None:
    """Its text, from a run with ten sprints."""
    ledger.start("plan", "main", [f"sprint-{number}" for number in range(10)])
    store = ledger.store
    assert isinstance(store, LocalStore)
    assert benchmark(render, store.reader.view, [])


def test_replace(benchmark: BenchmarkFixture, ledger: Ledger) -> None:
    """Two moves of the run's life: each with its record's sync, and a new state file, synced and renamed."""
    ledger.start("plan", "main", ["sprint-1"])

    def halt_and_resume() -> None:
        ledger.halt("lunch")
        ledger.resume()

    benchmark(halt_and_resume)
