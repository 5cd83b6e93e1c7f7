"""Reading everything again: replay and verify, of sealed segments and of one that is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runledger import replay
from runledger.local.known import records
from runledger.verify import verify

STEPS = 50_000

kinds = pytest.mark.parametrize("kind", ["sealed", "unsealed"])


@kinds
def test_replay(benchmark: Any, journal: Callable[..., Path], kind: str) -> None:
    """What was started and never committed, in 100,000 records."""
    report = benchmark.pedantic(replay, (journal(STEPS, sealed=kind == "sealed"),), rounds=3)
    assert report.committed == STEPS


@kinds
def test_verify(benchmark: Any, journal: Callable[..., Path], kind: str) -> None:
    """Every byte of 100,000 records."""
    assert benchmark.pedantic(verify, (journal(STEPS, sealed=kind == "sealed"),), rounds=3) == []


@kinds
def test_records(benchmark: Any, journal: Callable[..., Path], kind: str) -> None:
    """Records alone, without what they mean."""
    place = str(journal(STEPS, sealed=kind == "sealed"))
    assert benchmark.pedantic(lambda: sum(1 for _ in records(place, 0)), rounds=3) >= 2 * STEPS
