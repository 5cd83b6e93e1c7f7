"""Folding a tail into the history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import stores
from bench.conftest import LARGE
from runledger import Ledger, Options

pytestmark = pytest.mark.timeout(900)

ROUNDS = 3


@pytest.mark.parametrize("steps", [100, 20_000])
def test_compact(benchmark: Any, tmp_path: Path, steps: int) -> None:
    """So many steps, into a history without any."""
    places = (tmp_path / str(number) for number in range(ROUNDS + 1))

    def prepare() -> tuple[tuple[Path], dict[str, object]]:
        place = next(places)
        stores.unfolded(place, steps)
        return (place,), {}

    benchmark.pedantic(_compact, setup=prepare, rounds=ROUNDS)


def test_compact_into_a_long_history(benchmark: Any, history: Callable[[int], Path]) -> None:
    """A thousand steps, into a history of a million: what is there already costs nothing."""
    place = history(LARGE)
    begins = iter(range(LARGE, LARGE + 1000 * (ROUNDS + 1), 1000))

    def prepare() -> tuple[tuple[Path], dict[str, object]]:
        with Ledger.open(place, options=Options(compact_after=0)) as ledger:
            stores.fill(ledger, 1000, first=next(begins))
        return (place,), {}

    benchmark.pedantic(_compact, setup=prepare, rounds=ROUNDS)


def _compact(place: Path) -> None:
    with Ledger.open(place, options=Options(compact_after=0)) as ledger:
        ledger.compact()
