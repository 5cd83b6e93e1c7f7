"""A handle that is closed: each call says so, and nothing is recorded by it."""

# ruff: noqa: PT012 - a block under test ends with what it raises, after what went before

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runledger import Happened, Ledger, LedgerClosed, replay
from tests.api.forms import Form, each
from tests.support.children import ran
from tests.support.tree import records

CALLS: dict[str, Callable[[Ledger], Any]] = {
    "lookup": lambda ledger: ledger.lookup("work", "k1"),
    "resolve": lambda ledger: ledger.resolve("work", "k1", Happened(), reason="looked"),
    "start": lambda ledger: ledger.start("plan"),
    "begin_sprint": lambda ledger: ledger.begin_sprint("s1"),
    "complete_sprint": lambda ledger: ledger.complete_sprint("s1"),
    "halt": lambda ledger: ledger.halt("stop"),
    "resume": lambda ledger: ledger.resume(),
    "finish": lambda ledger: ledger.finish(),
    "abandon": lambda ledger: ledger.abandon("stop"),
    "adopt": lambda ledger: ledger.adopt(),
    "heartbeat": lambda ledger: ledger.heartbeat(),
    "status": lambda ledger: ledger.status(),
    "replay": lambda ledger: ledger.replay(),
    "compact": lambda ledger: ledger.compact(),
    "run": lambda ledger: ledger.run("plan").__enter__(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("used", [True, False], ids=["used", "never-used"])
def test_every_call_is_refused(root: Path, call: Callable[[Ledger], Any], *, used: bool) -> None:
    """Used before or not; nothing is added to the journal, and nothing is made."""
    ledger = Ledger.open(root)
    if used:
        with ledger.step("work", key="k1"):
            pass
    ledger.close()
    before = records(root)
    with pytest.raises(LedgerClosed):
        call(ledger)
    assert records(root) == before
    assert used or not (root / ".run").exists()


@each
def test_every_form_of_a_step_is_refused(root: Path, form: Form) -> None:
    """Committed or new, with a key or without: no body runs."""
    ledger = Ledger.open(root)
    with ledger.step("work", key="k1"):
        pass
    ledger.close()
    before = records(root)
    for key in ("k1", "k2", None):
        with pytest.raises(LedgerClosed):
            form.enter(ledger, "work", lambda: 1 / 0, key=key)
    assert records(root) == before


def test_closing_again_changes_nothing(root: Path) -> None:
    """By hand, by the block, by the loop."""
    with Ledger.open(root) as ledger:
        with ledger.step("work", key="k1"):
            pass
        ledger.close()
        before = records(root)
        ledger.close()
    asyncio.run(ledger.__aexit__(None, None, None))
    assert records(root) == before
    assert before[-1]["t"] == "closed"


def test_a_handle_that_recorded_nothing_leaves_nothing(root: Path) -> None:
    """Opening and closing alone makes no file."""
    with Ledger.open(root) as ledger:
        assert ledger.lookup("work", "k1") is None
        assert ledger.status().state == "ABSENT"
    assert list(root.iterdir()) == []


def test_closed_in_the_body(root: Path) -> None:
    """What the body did cannot be recorded any more: its caller is told, and it is in doubt."""
    ledger = Ledger.open(root)
    with pytest.raises(LedgerClosed), ledger.step("work", key="k1"):
        ledger.close()
    assert [step.key for step in replay(root).in_doubt] == ["k1"]


def test_the_body_s_own_error_goes_before_it(root: Path) -> None:
    """The exception stays the caller's own, with a note that it could not be recorded."""
    ledger = Ledger.open(root)
    error = ValueError("own")
    with pytest.raises(ValueError, match="own"), ledger.step("work", key="k1"):
        ledger.close()
        raise error
    assert any("in doubt" in note for note in error.__notes__)
    assert [step.key for step in replay(root).in_doubt] == ["k1"]


def test_a_program_that_never_closes(root: Path) -> None:
    """The end of the process closes it in good order."""
    ran('ledger = Ledger.open(commit="riding")\nwith ledger.step("work", key="k1"): pass', root)
    assert records(root)[-1]["t"] == "closed"
    assert replay(root).committed == 1
