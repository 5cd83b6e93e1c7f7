"""Two handles of one process on one folder: two owners, as if they were two processes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runledger import Ledger, StepCommitted, StepInDoubt, StepInFlight
from tests.support.children import ran
from tests.support.tree import records

LOOK = """
report = runledger.replay(root)
say([step.key for step in report.in_flight], [step.key for step in report.in_doubt])
"""


def test_each_sees_what_the_other_committed(root: Path, ledger: Ledger) -> None:
    """At once, result and all, and a run's moves too."""
    with Ledger.open(root) as other:
        with ledger.step("work", key="k1") as step:
            step.result = (1, "a")
        with pytest.raises(StepCommitted) as told, other.step("work", key="k1"):
            raise AssertionError("the body ran")
        assert vars(told.value)["result"] == (1, "a")
        other.halt("stop")
        assert ledger.status().state == "HALTED"


def test_each_other_s_open_steps_are_in_flight(root: Path, ledger: Ledger) -> None:
    """Held by this very process, under another owner."""
    with Ledger.open(root) as other, ledger.step("work", key="k1"):
        with pytest.raises(StepInFlight) as busy, other.step("work", key="k1"):
            raise AssertionError("the body ran")
        assert vars(busy.value)["pid"] == os.getpid()


def test_closing_one_leaves_the_other_s_proof_of_life(root: Path, ledger: Ledger) -> None:
    """Opened and closed beside it, again and again: other processes still find the step in flight."""
    with ledger.step("work", key="k1"):
        for _ in range(2):
            with Ledger.open(root) as other:
                with other.step("other"):
                    pass
                other.replay()
            assert ran(LOOK, root).lines == ["['k1'] []"]


def test_a_handle_that_is_closed_inside_leaves_a_doubt(root: Path) -> None:
    """Its owner is gone, in good order or not; the other handle is told."""
    one = Ledger.open(root)
    use = one.step("work", key="k1")
    use.__enter__()
    one.close()
    with Ledger.open(root) as other, pytest.raises(StepInDoubt), other.step("work", key="k1"):
        raise AssertionError("the body ran")


def test_taking_turns(root: Path, ledger: Ledger) -> None:
    """Numbers without a gap, whoever writes."""
    with Ledger.open(root) as other:
        for n in range(20):
            with (ledger, other)[n % 2].step("work", key=str(n)):
                pass
            with pytest.raises(StepCommitted), (other, ledger)[n % 2].step("work", key=str(n)):
                raise AssertionError("the body ran")
    lsns = [one["lsn"] for one in records(root)]
    assert lsns == list(range(1, len(lsns) + 1))


def test_one_compacts_under_the_other(root: Path, ledger: Ledger) -> None:
    """Nothing that the other knew is lost to it."""
    with Ledger.open(root) as other:
        for n in range(5):
            with ledger.step("work", key=str(n)) as step:
                step.result = n
            other.compact()
            for m in range(n + 1):
                known = ledger.lookup("work", str(m))
                assert known is not None
                assert known.result == m
