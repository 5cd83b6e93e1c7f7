"""The run's life: each legal and each illegal move."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runledger import (
    FinishRefused,
    Happened,
    Ledger,
    LedgerError,
    LedgerMissing,
    RunFinished,
    RunHalted,
    RunMoveRefused,
    RunStateInvalid,
    SprintUnknown,
    UsageError,
)
from tests.api.doubts import held, left_in_doubt
from tests.support.tree import records, state, state_file


def begin(ledger: Ledger) -> None:
    """A run with something done in it."""
    ledger.start("plan", sprints=["s1", "s2"])
    with ledger.step("work", key="k1"):
        pass


def spoil(ledger: Ledger) -> None:
    """A word that nobody agreed on, by hand."""
    begin(ledger)
    file = state_file(Path(ledger.root))
    file.write_text(file.read_text("utf-8").replace('"RUNNING"', '"PAUSED"'), "utf-8")


def stop(ledger: Ledger) -> None:
    """HALTED."""
    begin(ledger)
    ledger.halt("stop")


def end(ledger: Ledger) -> None:
    """JACKED_OUT."""
    begin(ledger)
    ledger.finish(force=True, reason="enough")


STATES: dict[str, Callable[[Ledger], None]] = {
    "ABSENT": lambda _: None,
    "RUNNING": begin,
    "HALTED": stop,
    "JACKED_OUT": end,
    "INVALID": spoil,
}
MOVES: dict[str, Callable[[Ledger], None]] = {
    "start": lambda ledger: ledger.start("next"),
    "begin_sprint": lambda ledger: ledger.begin_sprint("s1"),
    "complete_sprint": lambda ledger: ledger.complete_sprint("s1"),
    "halt": lambda ledger: ledger.halt("again"),
    "resume": lambda ledger: ledger.resume("alice"),
    "finish": lambda ledger: ledger.finish(force=True, reason="enough"),
    "abandon": lambda ledger: ledger.abandon("no longer wanted"),
    "heartbeat": lambda ledger: ledger.heartbeat(),
}
# The state after a legal move, or the refusal of an illegal one.
TABLE: dict[str, dict[str, str | type[LedgerError]]] = {
    "start": {
        "ABSENT": "RUNNING",
        "RUNNING": RunMoveRefused,
        "HALTED": RunMoveRefused,
        "JACKED_OUT": "RUNNING",
        "INVALID": RunStateInvalid,
    },
    "resume": {
        "ABSENT": LedgerMissing,
        "RUNNING": RunMoveRefused,
        "HALTED": "RUNNING",
        "JACKED_OUT": RunFinished,
        "INVALID": RunStateInvalid,
    },
    "halt": {
        "ABSENT": LedgerMissing,
        "RUNNING": "HALTED",
        "HALTED": "HALTED",
        "JACKED_OUT": RunFinished,
        "INVALID": RunStateInvalid,
    },
    "finish": {
        "ABSENT": LedgerMissing,
        "RUNNING": "JACKED_OUT",
        "HALTED": RunHalted,
        "JACKED_OUT": RunFinished,
        "INVALID": RunStateInvalid,
    },
    "abandon": {
        "ABSENT": LedgerMissing,
        "RUNNING": "JACKED_OUT",
        "HALTED": "JACKED_OUT",
        "JACKED_OUT": RunFinished,
        "INVALID": "JACKED_OUT",
    },
    **{
        move: {
            "ABSENT": LedgerMissing,
            "RUNNING": "RUNNING",
            "HALTED": RunHalted,
            "JACKED_OUT": RunFinished,
            "INVALID": RunStateInvalid,
        }
        for move in ("begin_sprint", "complete_sprint", "heartbeat")
    },
}


@pytest.mark.parametrize("before", STATES)
@pytest.mark.parametrize("move", MOVES)
def test_every_move_in_every_state(root: Path, ledger: Ledger, move: str, before: str) -> None:
    """A legal one is on record and in the state file; an illegal one changes neither, and makes nothing on disk."""
    STATES[before](ledger)
    expected = TABLE[move][before]
    kept = state_file(root).read_bytes() if before != "ABSENT" else b""
    if isinstance(expected, str):
        MOVES[move](ledger)
        assert ledger.status().state == state(root)["state"] == expected
        return
    count = len(records(root))
    with pytest.raises(expected) as refused:
        MOVES[move](ledger)
    assert refused.value.hint
    assert ledger.status().state == before
    moved = [one["t"] for one in records(root)[count:]]
    assert moved in ([], ["observed"])
    assert (state_file(root).read_bytes() if before != "ABSENT" else b"") == kept
    assert (root / ".run").exists() == (before != "ABSENT")


def test_the_first_step_starts_a_run(root: Path, ledger: Ledger) -> None:
    """RUNNING, with a plan id of its own."""
    with ledger.step("work", key="k1"):
        assert ledger.status().state == "RUNNING"
    assert state(root)["plan_id"] == ledger.status().plan_id
    assert ledger.status().plan_id


def test_what_a_start_says(root: Path, ledger: Ledger) -> None:
    """Plan, branch and sprints are in the state file as they were given."""
    ledger.start("plan", branch="work", sprints=["s1", "s2"])
    document = state(root)
    assert (document["plan_id"], document["branch"], document["state"]) == ("plan", "work", "RUNNING")
    assert document["sprints"]["total"] == 2
    assert [(one["id"], one["status"]) for one in document["sprints"]["list"]] == [
        ("s1", "pending"),
        ("s2", "pending"),
    ]


@pytest.mark.parametrize("plan_id", ["", "  "])
def test_a_plan_id_is_not_empty(root: Path, ledger: Ledger, plan_id: str) -> None:
    """Refused, with no run begun."""
    with pytest.raises(UsageError):
        ledger.start(plan_id)
    assert ledger.status().state == "ABSENT"


@pytest.mark.parametrize("sprint", ["", "a b", "a/b", "é", "x" * 200, 7, None])
def test_what_names_no_sprint(ledger: Ledger, sprint: Any) -> None:
    """Letters, digits, and . _ - make one."""
    with pytest.raises(SprintUnknown):
        ledger.start("plan", sprints=[sprint])
    assert ledger.status().state == "ABSENT"
    ledger.start("plan")
    with pytest.raises(SprintUnknown):
        ledger.begin_sprint(sprint)


def test_a_sprint_is_listed_once(ledger: Ledger) -> None:
    """The same id twice is a mistake."""
    with pytest.raises(UsageError, match="twice"):
        ledger.start("plan", sprints=["s1", "s1"])


def test_sprints_from_pending_to_completed(root: Path, ledger: Ledger) -> None:
    """The current one, how many are done, and each one's word; saying it again changes nothing."""
    ledger.start("plan", sprints=["s1", "s2"])
    for _ in range(2):
        ledger.begin_sprint("s1")
    assert state(root)["sprints"]["current"] == ledger.status().sprint == "s1"
    for _ in range(2):
        ledger.complete_sprint("s1")
    sprints = state(root)["sprints"]
    assert (sprints["completed"], [one["status"] for one in sprints["list"]]) == (1, ["completed", "pending"])
    assert [one["t"] for one in records(root)].count("sprint") == 2


def test_a_completed_sprint_does_not_begin_again(ledger: Ledger) -> None:
    """What is done is done."""
    ledger.start("plan", sprints=["s1"])
    ledger.complete_sprint("s1")
    with pytest.raises(RunMoveRefused):
        ledger.begin_sprint("s1")


def test_a_sprint_that_the_plan_does_not_list(ledger: Ledger) -> None:
    """The refusal tells which it lists."""
    ledger.start("plan", sprints=["s1", "s2"])
    with pytest.raises(SprintUnknown, match="s3") as refused:
        ledger.begin_sprint("s3")
    assert "s1, s2" in refused.value.hint


def test_a_halt_that_is_said_again(root: Path, ledger: Ledger) -> None:
    """The same reason once more says nothing new; a resume takes it away."""
    begin(ledger)
    for _ in range(2):
        ledger.halt("the disk is full")
    assert [one["t"] for one in records(root)].count("halted") == 1
    assert state(root)["failure"]["reason"] == ledger.status().reason == "the disk is full"
    ledger.resume()
    assert "failure" not in state(root) or state(root)["failure"] is None


@pytest.mark.parametrize("reason", ["", "  ", "\n"])
def test_reasons_are_needed(ledger: Ledger, reason: str) -> None:
    """Of a halt, an abandonment, and a forced end; nothing is moved without one."""
    begin(ledger)
    with pytest.raises(UsageError, match="reason"):
        ledger.halt(reason)
    with pytest.raises(UsageError, match="reason"):
        ledger.abandon(reason)
    with pytest.raises(UsageError, match="reason"):
        ledger.finish(force=True, reason=reason)
    with pytest.raises(UsageError, match="reason"):
        ledger.finish(force=True)
    assert ledger.status().state == "RUNNING"


def nothing_done(ledger: Ledger) -> None:
    """A run in which nothing was committed."""
    ledger.start("plan")


def a_sprint_left(ledger: Ledger) -> None:
    """One of two sprints is done."""
    begin(ledger)
    ledger.complete_sprint("s1")


def a_doubt(ledger: Ledger) -> None:
    """A step whose call is over."""
    ledger.start("plan")
    with ledger.step("other", key="k"):
        pass
    left_in_doubt(ledger)


@pytest.mark.parametrize(
    ("make", "said"),
    [(nothing_done, "nothing was committed"), (a_sprint_left, "s2"), (a_doubt, "work k1 is in doubt")],
)
def test_finish_is_refused(root: Path, ledger: Ledger, make: Callable[[Ledger], None], said: str) -> None:
    """While something is undone, and it is said what; a forced end with a reason is on record."""
    make(ledger)
    with pytest.raises(FinishRefused, match=said):
        ledger.finish()
    assert ledger.status().state == state(root)["state"] == "RUNNING"
    ledger.finish(force=True, reason="looked at it")
    assert state(root)["state"] == "JACKED_OUT"
    last = next(one for one in reversed(records(root)) if one["t"] == "finished")
    assert (last["forced"], last["reason"]) == (True, "looked at it")


def test_finish_is_refused_while_a_step_is_in_flight(root: Path, ledger: Ledger) -> None:
    """Somebody is at work on it, in this process or in another."""
    begin(ledger)
    for sprint in ("s1", "s2"):
        ledger.complete_sprint(sprint)
    with held(root, "theirs"), pytest.raises(FinishRefused, match="theirs k1 is in flight"):
        ledger.finish()
    ledger.resolve("theirs", "k1", Happened(), reason="looked")
    with ledger.step("ours", key="k2"), pytest.raises(FinishRefused, match="ours k2 is in flight"):
        ledger.finish()
    ledger.finish()


def test_abandoned_with_everything_open(root: Path, ledger: Ledger) -> None:
    """The way out of any run; the reason is on record."""
    a_doubt(ledger)
    ledger.abandon("no longer wanted")
    assert state(root)["state"] == "JACKED_OUT"
    assert next(one for one in records(root) if one["t"] == "abandoned")["reason"] == "no longer wanted"
