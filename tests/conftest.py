"""What every test may ask for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """What the long tests are told."""
    group = parser.getgroup("soak")
    group.addoption("--seed", type=int, help="what the long random tests draw from; it replays a failure")
    group.addoption(
        "--histories", type=int, default=20_000, help="how many histories the crash model goes through"
    )
    group.addoption("--as-found", action="store_true", help="a history that fails is not made shorter")
    group.addoption("--minutes", type=float, default=10.0, help="how long the mixed soak goes on")


def pytest_configure(config: pytest.Config) -> None:
    """The default run draws the same every time; the long one, without a seed, draws anew. Workers are handed the one
    of their controller."""
    if config.option.seed is None:
        long = config.option.markexpr == "soak"
        config.option.seed = random.SystemRandom().randrange(10**6) if long else 20261129


def pytest_report_header(config: pytest.Config) -> str:
    """What replays the long random tests of this run."""
    return f"to replay the long random tests: --seed {config.option.seed}"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """What a long random test draws from."""
    return int(request.config.option.seed)


@pytest.fixture(autouse=True)
def _no_ledger_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds a ledger of the person who runs it."""
    monkeypatch.delenv("RUNLEDGER_DIR", raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty folder for a run."""
    root = tmp_path / "root"
    root.mkdir()
    return root
