"""What the benchmarks may ask for: ledgers of every kind, and large ones that are made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from bench import stores
from runledger import Ledger, Options

__all__: list[str] = []

LARGE = 1_000_000


@pytest.fixture(autouse=True)
def _no_ledger_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """No benchmark finds a ledger of the person who runs it."""
    monkeypatch.delenv("RUNLEDGER_DIR", raising=False)


@pytest.fixture
def keys() -> Iterator[str]:
    """Keys that were never used before."""
    return (f"invoice-{number}" for number in count())


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Ledger]]:
    """Opens the ledger of the test's own folder, which is closed at the end; it never compacts by itself."""
    ledgers: list[Ledger] = []

    def open_one(**options: str) -> Ledger:
        ledgers.append(Ledger.open(tmp_path, options=Options(compact_after=0), **options))
        return ledgers[-1]

    yield open_one
    for ledger in ledgers:
        ledger.close()


@pytest.fixture
def ledger(opened: Callable[..., Ledger]) -> Ledger:
    """An open ledger, both syncs."""
    return opened()


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A ledger whose history holds so many committed steps; made once."""
    made: dict[int, Path] = {}

    def of(steps: int) -> Path:
        if steps not in made:
            made[steps] = tmp_path_factory.mktemp(f"history-{steps}")
            stores.folded(made[steps], steps)
        return made[steps]

    return of


@pytest.fixture(scope="session")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A ledger whose journal holds so many committed steps, in sealed segments or in one unsealed one; made once."""
    made: dict[tuple[int, bool], Path] = {}

    def of(steps: int, *, sealed: bool = True) -> Path:
        if (steps, sealed) not in made:
            place = made[steps, sealed] = tmp_path_factory.mktemp(f"journal-{steps}-{sealed}")
            stores.unfolded(place, steps, segment_bytes=None if sealed else 1 << 40)
        return made[steps, sealed]

    return of
