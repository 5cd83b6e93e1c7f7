"""What every test may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest


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
