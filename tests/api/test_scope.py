"""``scope``: a key lives for one run, or for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runledger import Happened, Ledger, StepCommitted, StepInDoubt, UsageError
from tests.api.doubts import left_in_doubt
from tests.api.forms import Form, each
from tests.support.children import ran
from tests.support.outside import Outside


def next_run(ledger: Ledger) -> None:
    """End this run, and begin another."""
    ledger.abandon("the next one")
    ledger.start()


@each
def test_a_key_of_the_run_is_new_in_the_next(ledger: Ledger, form: Form) -> None:
    """The effect runs once in each run."""
    for n in range(3):
        assert form.enter(ledger, "build", lambda n=n: n, key="k1") == n
        if form.decorates:
            assert form.enter(ledger, "build", lambda: 1 / 0, key="k1") == n
        next_run(ledger)


@each
def test_a_key_of_the_ledger_is_known_for_ever(ledger: Ledger, form: Form) -> None:
    """In whatever run it was committed, before and after folding."""
    form.enter(ledger, "charge", lambda: "receipt", key="k1", scope="ledger")
    for n in range(2):
        next_run(ledger)
        if n:
            ledger.compact()
        if form.name in {"with", "async with"}:
            with pytest.raises(StepCommitted):
                form.enter(ledger, "charge", lambda: 1 / 0, key="k1", scope="ledger")
        else:
            assert form.enter(ledger, "charge", lambda: 1 / 0, key="k1", scope="ledger") == "receipt"


def test_the_two_scopes_do_not_meet(ledger: Ledger) -> None:
    """One name and key in each scope are two steps."""
    runs = []
    for scope in ("run", "ledger", "run", "ledger"):
        with ledger.skip_committed(), ledger.step("work", key="k1", scope=scope):
            runs.append(scope)
    assert runs == ["run", "ledger"]


def test_a_doubt_of_the_ledger_s_scope_outlives_its_run(root: Path, ledger: Ledger) -> None:
    """The next run is told of it, and can settle it."""
    left_in_doubt(ledger, "charge", "k1", scope="ledger")
    next_run(ledger)
    with pytest.raises(StepInDoubt), ledger.step("charge", key="k1", scope="ledger"):
        raise AssertionError("the body ran")
    assert [step.key for step in ledger.replay().in_doubt] == ["k1"]
    ledger.resolve("charge", "k1", Happened("receipt"), reason="looked")
    known = ledger.lookup("charge", "k1")
    assert known is not None
    assert known.result == "receipt"


def test_a_doubt_of_an_earlier_run_does_not_stop_the_next(ledger: Ledger) -> None:
    """A key of the run is another one in the next; the old doubt stays listed until it is settled."""
    lsn = left_in_doubt(ledger)
    next_run(ledger)
    with ledger.step("work", key="k1"):
        pass
    assert [step.lsn for step in ledger.replay().in_doubt] == [lsn]
    ledger.resolve("work", "k1", Happened("old"), reason="looked", lsn=lsn)
    assert ledger.replay().in_doubt == []


@pytest.mark.parametrize("scope", ["", "Run", "session", None, 7])
def test_other_scopes_are_refused(root: Path, ledger: Ledger, scope: Any) -> None:
    """At once, before anything is on record."""
    with pytest.raises(UsageError, match="scope"):
        ledger.step("work", key="k1", scope=scope)
    assert not (root / ".run").exists()


def test_a_charge_of_many_runs_happens_once(root: Path) -> None:
    """Each in a process of its own, each with a run of its own."""
    program = """
    with Ledger.open() as ledger, ledger.run(arguments[0]):
        with ledger.skip_committed(), ledger.step("charge", key="order-1", scope="ledger"):
            happen("charged")
        with ledger.step("report", key="r"):
            happen("reported")
    """
    for n in range(3):
        ran(program, root, f"plan-{n}")
    assert Outside(root).count("charged") == 1
    assert Outside(root).count("reported") == 3
