"""The lines that settle a step settle it in its own ledger, from wherever they are run."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from runledger import Happened, Ledger, ResultNotStored, StepInDoubt, replay
from tests.api.doubts import left_in_doubt
from tests.support.children import command


def test_another_ledger_lies_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same step is in doubt here and there: the line settles the one that it was printed for."""
    here, there = tmp_path / "here", tmp_path / "over there"
    for root in (here, there):
        root.mkdir()
        with Ledger.open(root) as ledger:
            left_in_doubt(ledger)
    monkeypatch.chdir(here)
    with Ledger.open(there) as ledger, pytest.raises(StepInDoubt) as refused, ledger.step("work", key="k1"):
        raise AssertionError("the body ran")
    line = refused.value.resolve[0]
    assert line == replay(there).resolve[0]
    assert command(here, *shlex.split(line)[1:]).code == 0
    assert (len(replay(here).in_doubt), len(replay(there).in_doubt)) == (1, 0)


def test_the_ledger_that_is_found_here(root: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not named: from the folder, from below it, or by the environment."""
    left_in_doubt(ledger)
    below = root / "below"
    below.mkdir()
    for place in (root, below):
        monkeypatch.chdir(place)
        assert "--root" not in replay(root).resolve[0]
    monkeypatch.chdir(os.sep)
    assert "--root" in replay(root).resolve[0]
    monkeypatch.setenv("RUNLEDGER_DIR", str(root))
    assert "--root" not in replay(root).resolve[0]


def test_a_result_that_cannot_be_stored_settles_nothing(ledger: Ledger) -> None:
    """And the refusal says so."""
    left_in_doubt(ledger)
    with pytest.raises(ResultNotStored, match="nothing was recorded") as refused:
        ledger.resolve("work", "k1", Happened(object()), reason="looked")
    assert "is committed" not in str(refused.value)
    assert len(ledger.replay().in_doubt) == 1
