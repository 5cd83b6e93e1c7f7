"""``with ledger.run(…)``: a run's life tied to a block."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from runledger import (
    FinishRefused,
    Ledger,
    RunFinished,
    RunHalted,
    RunMoveRefused,
)
from tests.support.children import ran
from tests.support.tree import records, state

# ruff: noqa: PT012 - a block under test ends with what it raises, after what went before


def begin(ledger: Ledger) -> None:
    """A run with something done in it."""
    ledger.start("plan", sprints=["s1", "s2"])
    with ledger.step("work", key="k1"):
        pass


def test_a_block_that_ends_well(root: Path, ledger: Ledger) -> None:
    """RUNNING inside, JACKED_OUT after."""
    with ledger.run("plan", branch="work", sprints=["s1"]) as run:
        assert ledger.status().state == "RUNNING"
        run.begin_sprint("s1")
        run.heartbeat()
        with ledger.step("work", key="k1"):
            pass
        run.complete_sprint("s1")
    assert state(root)["state"] == "JACKED_OUT"


def test_an_async_block(root: Path, ledger: Ledger) -> None:
    """The same with ``async with``, with either end."""

    async def main(plan: str, *, fails: bool) -> None:
        async with ledger.run(plan):
            async with ledger.step("work", key="k1"):
                pass
            if fails:
                raise ValueError("no way on")

    asyncio.run(main("one", fails=False))
    assert state(root)["state"] == "JACKED_OUT"
    with pytest.raises(ValueError, match="no way on"):
        asyncio.run(main("two", fails=True))
    assert state(root)["state"] == "HALTED"


@pytest.mark.parametrize("error", [ValueError("no way on"), KeyboardInterrupt(), SystemExit(1)], ids=repr)
def test_an_exception_that_escapes_halts(root: Path, ledger: Ledger, error: BaseException) -> None:
    """With itself as the reason, and it reaches the caller as it is; the block is not entered while halted."""
    with pytest.raises(type(error)) as raised, ledger.run("plan"):
        raise error
    assert raised.value is error
    failure = state(root)["failure"]
    assert type(error).__name__ in failure["reason"]
    assert str(error) in failure["reason"]
    with pytest.raises(RunHalted), ledger.run("plan"):
        raise AssertionError("the block was entered")
    ledger.resume("alice")
    with ledger.run("plan"), ledger.step("work", key="k1"):
        pass
    assert state(root)["state"] == "JACKED_OUT"


def test_a_clean_end_that_finish_refuses(root: Path, ledger: Ledger) -> None:
    """``FinishRefused``, and the run stays RUNNING, to be gone on with."""
    with pytest.raises(FinishRefused, match="s2"), ledger.run("plan", sprints=["s1", "s2"]) as run:
        with ledger.step("work", key="k1"):
            pass
        run.complete_sprint("s1")
    assert state(root)["state"] == "RUNNING"
    with ledger.run("plan") as run:
        run.complete_sprint("s2")
    assert state(root)["state"] == "JACKED_OUT"


def test_a_block_that_was_halted_inside(root: Path, ledger: Ledger) -> None:
    """A halt stays a halt, whoever said it, and the clean end does not undo it."""
    with ledger.run("plan") as run, ledger.step("work", key="k1"):
        run.halt("a person said stop")
    assert state(root)["state"] == "HALTED"
    assert state(root)["failure"]["reason"] == "a person said stop"


def test_a_block_goes_on_with_its_run(root: Path) -> None:
    """Killed in the middle, the same program takes the run up; nothing that is committed runs again."""
    program = """
    with Ledger.open() as ledger, ledger.run("plan"):
        for n in range(4):
            with ledger.skip_committed(), ledger.step("work", key=str(n)):
                say(n)
            if n == int(arguments[0]):
                os.kill(os.getpid(), 9)
    """
    assert ran(program, root, 1, code=-9).lines == ["0", "1"]
    assert state(root)["state"] == "RUNNING"
    assert ran(program, root, 9).lines == ["2", "3"]
    assert state(root)["state"] == "JACKED_OUT"
    assert "RunFinished" in ran(program, root, 9, code=1).err
    assert [one["t"] for one in records(root)].count("started") == 1


def test_a_block_of_another_plan(ledger: Ledger) -> None:
    """A run that goes on is not started over by another; one that is over makes room."""
    ledger.start("one")
    with pytest.raises(RunMoveRefused, match="one"), ledger.run("two"):
        raise AssertionError("the block was entered")
    ledger.abandon("no longer wanted")
    with pytest.raises(RunFinished), ledger.run("one"):
        raise AssertionError("the block was entered")
    with ledger.run("two"), ledger.step("work", key="k1"):
        assert ledger.status().plan_id == "two"


def test_an_error_while_a_step_is_open(root: Path, ledger: Ledger) -> None:
    """The step is in doubt and the run is halted, by one exception."""
    with pytest.raises(OSError, match="no answer"), ledger.run("plan"), ledger.step("work", key="k1"):
        raise OSError("no answer")
    assert state(root)["state"] == "HALTED"
    assert [step["key"] for step in state(root)["ledger"]["in_doubt"]] == ["k1"]


def test_a_broad_except_does_not_lead_to_an_effect(ledger: Ledger) -> None:
    """Refused at every call: a loop that catches everything does nothing."""
    begin(ledger)
    ledger.halt("stop")
    effects = []
    for n in range(5):
        with suppress(Exception), ledger.step("work", key=str(n)):
            effects.append(n)
    assert effects == []


@pytest.mark.parametrize("ends", ["finish", "abandon"])
def test_a_run_that_its_body_ended(root: Path, ledger: Ledger, ends: str) -> None:
    """The clean end has nothing more to do."""
    with ledger.run("plan"):
        with ledger.step("work", key="k1"):
            pass
        ledger.finish() if ends == "finish" else ledger.abandon("enough")
    assert state(root)["state"] == "JACKED_OUT"


def test_a_run_that_its_body_replaced(root: Path, ledger: Ledger) -> None:
    """The next run is not ended by the block of the one before."""
    with ledger.run("one"):
        ledger.abandon("another way")
        ledger.start("two")
    assert (state(root)["plan_id"], state(root)["state"]) == ("two", "RUNNING")


def test_a_run_that_somebody_began_meanwhile(root: Path, ledger: Ledger) -> None:
    """Two programs enter one plan at once: both go on with it."""
    begin = "Ledger.open().start(arguments[0])"
    look = ledger.store.known

    def late() -> object:
        known = look()
        if known.view.run is None:
            ran(begin, root, "plan")
        return known

    ledger.store.known = late  # type: ignore[method-assign,assignment]  # the moment between look and start
    with ledger.run("plan"), ledger.step("work", key="k1"):
        pass
    assert state(root)["state"] == "JACKED_OUT"
    assert [one["t"] for one in records(root)].count("started") == 1


def test_sprints_that_the_plan_lacks(root: Path, ledger: Ledger) -> None:
    """They would be left undone in silence: refused. Fewer than it lists are fine."""
    ledger.start("plan", sprints=["a", "c"])
    with pytest.raises(RunMoveRefused, match="b"), ledger.run("plan", sprints=["a", "b"]):
        raise AssertionError("the block was entered")
    with ledger.run("plan", sprints=["a"]) as run, ledger.step("work", key="k1"):
        run.complete_sprint("a")
        run.complete_sprint("c")
    assert state(root)["state"] == "JACKED_OUT"
