"""``step.abort`` says of its own step that nothing happened, and of no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger, StepAborted

# ruff: noqa: PT012 - a block under test ends with what it raises, after what went before


def test_an_abort_of_another_ledger(tmp_path: Path) -> None:
    """Two ledgers count alike: the inner step is aborted, the outer one is in doubt."""
    with Ledger.open(tmp_path / "a") as a, Ledger.open(tmp_path / "b") as b:
        with (
            pytest.raises(StepAborted),
            a.step("pay", key="k1") as outer,
            b.step("look", key="k1") as inner,
        ):
            assert inner.lsn == outer.lsn
            raise inner.abort("nothing to see")
        aborted, doubtful = b.lookup("look", "k1"), a.lookup("pay", "k1")
    assert aborted is not None
    assert aborted.status == "aborted"
    assert doubtful is not None
    assert doubtful.status == "in_doubt"


def test_an_abort_that_was_kept(ledger: Ledger) -> None:
    """Of an attempt before: it says nothing of this one."""
    with pytest.raises(StepAborted) as raised, ledger.step("work", key="k1") as step:
        raise step.abort("not yet")
    with pytest.raises(StepAborted), ledger.step("work", key="k1"):
        raise raised.value
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.status == "in_doubt"


def test_an_abort_without_a_reason_halts_its_run(ledger: Ledger) -> None:
    """A run that an abort leaves is HALTED, whatever the abort says."""
    with pytest.raises(StepAborted), ledger.run("plan"), ledger.step("work", key="k1") as step:
        raise step.abort()
    status = ledger.status()
    assert status.state == "HALTED"
    assert "aborted" in (status.reason or "")


@pytest.mark.parametrize("message", ["", " ", "\ud800"], ids=repr)
def test_any_exception_halts_its_run(ledger: Ledger, message: str) -> None:
    """Whatever it has for a message."""
    with pytest.raises(LookupError), ledger.run("plan"):
        raise LookupError(message)
    assert ledger.status().state == "HALTED"
