"""Resolve: a person's decision on a doubt. It needs a reason, fits one attempt, and is itself a record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runledger import (
    NOT_HAPPENED,
    Happened,
    Ledger,
    LedgerMissing,
    ResolveRefused,
    RunHalted,
    StepCommitted,
    UsageError,
    replay,
)
from tests.api.doubts import held, killed, left_in_doubt
from tests.support.tree import records


def test_it_happened(root: Path, ledger: Ledger) -> None:
    """Committed, with the result that the person tells; no body runs any more."""
    killed(root)
    ledger.resolve("work", "k1", Happened({"number": 7}), reason="the page is there")
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert (known.status, known.result, known.attempt) == ("committed", {"number": 7}, 1)
    with pytest.raises(StepCommitted), ledger.step("work", key="k1"):
        raise AssertionError("the body ran")
    assert ledger.replay().committed == 1


def test_it_did_not_happen(root: Path, ledger: Ledger) -> None:
    """Aborted: the next entry runs, as the next attempt."""
    killed(root)
    ledger.resolve("work", "k1", NOT_HAPPENED, reason="the page is not there")
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.status == "aborted"
    with ledger.step("work", key="k1") as step:
        assert step.attempt == 2


@pytest.mark.parametrize("outcome", [Happened(), NOT_HAPPENED], ids=repr)
def test_it_is_itself_a_record(root: Path, ledger: Ledger, outcome: Any) -> None:
    """Durable when the call returns its LSN, with the reason, the step and the attempt."""
    lsn = left_in_doubt(ledger)
    number = ledger.resolve("work", "k1", outcome, reason="looked at the server")
    record = records(root)[-1]
    assert (record["t"], record["lsn"], record["of"]) == ("resolved", number, lsn)
    assert (record["name"], record["key"]) == ("work", "k1")
    assert record["reason"] == "looked at the server"
    assert replay(root).in_doubt == []


@pytest.mark.parametrize("reason", ["", " ", "\n\t"])
def test_a_reason_is_needed(root: Path, ledger: Ledger, reason: str) -> None:
    """How the person knows is part of the record."""
    left_in_doubt(ledger)
    with pytest.raises(UsageError, match="reason"):
        ledger.resolve("work", "k1", Happened(), reason=reason)
    assert len(replay(root).in_doubt) == 1


@pytest.mark.parametrize("outcome", [True, False, None, "happened", Happened], ids=repr)
def test_an_outcome_is_needed(root: Path, ledger: Ledger, outcome: Any) -> None:
    """Only the two words are; truth is none."""
    left_in_doubt(ledger)
    with pytest.raises(UsageError, match="NOT_HAPPENED"):
        ledger.resolve("work", "k1", outcome, reason="looked")
    assert len(replay(root).in_doubt) == 1


def test_the_attempt_is_checked(ledger: Ledger) -> None:
    """A decision on an attempt that was looked up too long ago is refused, and nothing is recorded."""
    first = left_in_doubt(ledger, idempotent=True)
    second = left_in_doubt(ledger, idempotent=True)
    assert second != first
    with pytest.raises(ResolveRefused, match=str(second)):
        ledger.resolve("work", "k1", Happened(), reason="looked", lsn=first)
    with pytest.raises(ResolveRefused):
        ledger.resolve(None, None, Happened(), reason="looked", lsn=first)
    assert len(ledger.replay().in_doubt) == 1
    ledger.resolve("work", "k1", Happened(), reason="looked", lsn=second)
    assert ledger.replay().in_doubt == []


def test_a_live_step_is_not_decided_on(root: Path, ledger: Ledger) -> None:
    """In flight is no doubt: neither another's, nor one of this very process."""
    with held(root):
        for name, key, lsn in [("work", "k1", None), (None, None, replay(root).in_flight[0].lsn)]:
            with pytest.raises(ResolveRefused, match="in flight"):
                ledger.resolve(name, key, Happened(), reason="looked", lsn=lsn)
    with ledger.step("own", key="k2"), pytest.raises(ResolveRefused, match="in flight"):
        ledger.resolve("own", "k2", Happened(), reason="looked")


@pytest.mark.parametrize("outcome", [Happened(), NOT_HAPPENED], ids=repr)
def test_what_is_settled_is_not_decided_on(ledger: Ledger, outcome: Any) -> None:
    """A commit is never taken back, an abort never made a commit; folded or not."""
    with ledger.step("work", key="done"):
        pass
    with pytest.raises(OSError), ledger.step("work", key="not", aborts_on=OSError):  # noqa: PT011
        raise OSError
    for _ in range(2):
        for key, word in [("done", "committed"), ("not", "aborted")]:
            with pytest.raises(ResolveRefused, match=word):
                ledger.resolve("work", key, outcome, reason="looked")
        ledger.compact()


def test_what_was_never_begun_is_not_decided_on(ledger: Ledger) -> None:
    """A name that is misspelt settles nothing."""
    left_in_doubt(ledger)
    for name, key, lsn in [
        ("work", "k2", None),
        ("walk", "k1", None),
        (None, None, 9999),
        ("work", "k1", 9999),
    ]:
        with pytest.raises(ResolveRefused):
            ledger.resolve(name, key, Happened(), reason="looked", lsn=lsn)
    assert len(ledger.replay().in_doubt) == 1


def test_which_step_must_be_said(ledger: Ledger) -> None:
    """A name and a key, or a number."""
    left_in_doubt(ledger)
    for name, key in [(None, None), ("work", None), (None, "k1")]:
        with pytest.raises(UsageError):
            ledger.resolve(name, key, Happened(), reason="looked")


def test_it_is_possible_while_the_run_is_halted(ledger: Ledger) -> None:
    """To settle is to look, not to work; the run's word stays."""
    left_in_doubt(ledger)
    ledger.halt("stop")
    ledger.resolve("work", "k1", Happened(7), reason="looked")
    assert ledger.status().state == "HALTED"
    assert ledger.replay().in_doubt == []
    with pytest.raises(RunHalted), ledger.step("work", key="k1"):
        raise AssertionError("the body ran")


def test_it_is_possible_after_the_end_of_the_run(ledger: Ledger) -> None:
    """A doubt that a forced end left can still be settled."""
    left_in_doubt(ledger)
    ledger.abandon("no longer wanted")
    ledger.resolve("work", "k1", NOT_HAPPENED, reason="looked")
    assert ledger.replay().in_doubt == []


def test_two_that_decide_at_once(root: Path, ledger: Ledger) -> None:
    """The first on record counts, the second is told that it is settled."""
    killed(root)
    with Ledger.open(root) as other:
        other.resolve("work", "k1", Happened("first"), reason="looked")
        with pytest.raises(ResolveRefused, match="committed"):
            ledger.resolve("work", "k1", NOT_HAPPENED, reason="looked")
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.result == "first"


def test_on_an_empty_folder_nothing_is_made(root: Path, ledger: Ledger) -> None:
    """There is nothing in doubt where there is nothing."""
    with pytest.raises((ResolveRefused, LedgerMissing)):
        ledger.resolve("work", "k1", Happened(), reason="looked")
    assert ledger.status().state == "ABSENT"
    assert not (root / ".run" / "ledger").exists() or records(root) == []
