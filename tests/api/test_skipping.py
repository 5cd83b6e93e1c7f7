"""``skip_committed``: it passes over the first step of its own frame, and over nothing else in the world."""

# ruff: noqa: PT012 - a block under test ends with what it raises, after what went before

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

from runledger import Ledger, ResultNotStored, StepCommitted, StepInDoubt
from tests.api.doubts import left_in_doubt


@pytest.fixture
def done(ledger: Ledger) -> Ledger:
    """A ledger on which two steps are committed."""
    for key in ("k1", "k2"):
        with ledger.step("work", key=key) as step:
            step.result = f"result of {key}"
    return ledger


def body_ran() -> None:
    """Not to be reached."""
    raise AssertionError("the body ran")


def test_what_it_tells(done: Ledger) -> None:
    """``skipped`` and ``result`` tell what became of the block, and one object may serve again."""
    skip = done.skip_committed()
    with skip as seen, done.step("work", key="k1"):
        body_ran()
    assert seen is skip
    assert (skip.skipped, skip.result) == (True, "result of k1")
    with skip, done.step("work", key="new"):
        pass
    assert (skip.skipped, skip.result) == (False, None)


def test_nested_in_two_with_statements(done: Ledger) -> None:
    """On a line of its own it skips the same, and what stands between is run."""
    seen = []
    with done.skip_committed() as skip:
        seen.append("between")
        with done.step("work", key="k1"):
            body_ran()
        seen.append("not reached")
    assert seen == ["between"]
    assert skip.skipped


def test_only_the_first_step_of_the_frame(done: Ledger) -> None:
    """A second one in the same block is refused as without it."""
    with pytest.raises(StepCommitted, match="k1"), done.skip_committed() as skip:
        with done.step("work", key="new"):
            pass
        with done.step("work", key="k1"):
            body_ran()
    assert not skip.skipped


def test_not_an_inner_step(done: Ledger) -> None:
    """A committed step inside of the step's body is the body's own affair."""
    with (
        pytest.raises(StepCommitted, match="k1"),
        done.skip_committed() as skip,
        done.step("work", key="outer"),
        done.step("work", key="k1"),
    ):
        body_ran()
    assert not skip.skipped
    assert [step.key for step in done.replay().in_doubt] == ["outer"]


def test_not_a_step_in_a_called_function(done: Ledger) -> None:
    """A function that is called in the block is not passed over in silence."""

    def helper() -> None:
        with done.step("work", key="k1"):
            body_ran()

    with pytest.raises(StepCommitted, match="k1"), done.skip_committed() as skip:
        helper()
    assert not skip.skipped


def test_a_called_function_uses_nobodys_skip_up(done: Ledger) -> None:
    """The skip still waits for the step of its own frame, whatever functions enter meanwhile."""

    def helper() -> None:
        with done.step("work", key="new"):
            pass

    with done.skip_committed() as skip:
        helper()
        with done.step("work", key="k1"):
            body_ran()
    assert skip.skipped


def test_a_step_that_raises_for_another_reason(done: Ledger) -> None:
    """A doubt is no commit: it passes, and the skip is used up."""
    left_in_doubt(done, "work", "open")
    with pytest.raises(StepInDoubt), done.skip_committed(), done.step("work", key="open"):
        body_ran()


@pytest.mark.parametrize("error", [ValueError("own"), KeyboardInterrupt(), SystemExit(2), GeneratorExit()])
def test_no_foreign_exception_is_swallowed(done: Ledger, error: BaseException) -> None:
    """Whatever the body raises reaches the caller as it is."""
    with pytest.raises(type(error)) as raised, done.skip_committed(), done.step("work", key="new"):
        raise error
    assert raised.value is error


def test_a_foreign_step_committed_is_not_swallowed(done: Ledger) -> None:
    """Not even one of the very class, caught elsewhere and raised again in the body."""
    try:
        with done.step("work", key="k1"):
            body_ran()
    except StepCommitted as caught:
        kept = caught
    with pytest.raises(StepCommitted) as raised, done.skip_committed() as skip, done.step("work", key="new"):
        raise kept
    assert raised.value is kept
    assert not skip.skipped


def test_a_step_committed_that_was_handled_inside_skips_nothing(done: Ledger) -> None:
    """Where the block itself deals with it, the rest of the block runs."""
    seen = []
    with done.skip_committed() as skip:
        try:
            with done.step("work", key="k1"):
                body_ran()
        except StepCommitted:
            seen.append("handled")
        seen.append("went on")
    assert seen == ["handled", "went on"]
    assert not skip.skipped


def test_two_skips_in_one_frame(done: Ledger) -> None:
    """Each goes with the step that follows it; the outer body is run though the inner block is skipped."""
    seen = []
    with done.skip_committed() as outer, done.step("work", key="new"):
        seen.append("outer")
        with done.skip_committed() as inner, done.step("work", key="k1"):
            body_ran()
        seen.append("after")
    assert seen == ["outer", "after"]
    assert (outer.skipped, inner.skipped) == (False, True)


def test_in_a_loop(done: Ledger) -> None:
    """The way a plan is worked off: what is done is passed over, the rest runs once."""
    for _ in range(2):
        ran = []
        for key in ("k1", "k3", "k2", "k4"):
            with done.skip_committed(), done.step("work", key=key):
                ran.append(key)
        assert ran in (["k3", "k4"], [])
    assert ran == []


def test_a_skip_of_another_ledger(done: Ledger, tmp_path: Path) -> None:
    """It is for steps of its own ledger alone."""
    with (
        Ledger.open(tmp_path / "other") as other,
        pytest.raises(StepCommitted),
        other.skip_committed() as skip,
        done.step("work", key="k1"),
    ):
        body_ran()
    assert not skip.skipped


def test_a_skip_without_a_step_leaves_nothing_behind(done: Ledger) -> None:
    """A block that entered no step makes no later one in the frame skipped."""
    with done.skip_committed():
        pass
    with pytest.raises(StepCommitted), done.step("work", key="k1"):
        body_ran()


def test_a_decorated_step_inside(done: Ledger) -> None:
    """A decorated function serves its result, and the block goes on."""
    got = []

    @done.step("work", key="k1")
    def work() -> str:
        raise AssertionError("the body ran")

    with done.skip_committed() as skip:
        got.append(work())
    assert got == ["result of k1"]
    assert not skip.skipped


def test_a_result_that_was_not_stored(ledger: Ledger) -> None:
    """It happened, so the block is skipped; there is no result to tell."""
    with pytest.raises(ResultNotStored), ledger.step("work", key="k1") as step:
        step.result = object()
    with ledger.skip_committed() as skip, ledger.step("work", key="k1"):
        body_ran()
    assert (skip.skipped, skip.result) == (True, None)


def test_under_an_exit_stack(done: Ledger) -> None:
    """The stack's own frames are seen through: the step is the first of the frame that holds the stack."""
    with ExitStack() as stack:
        skip = stack.enter_context(done.skip_committed())
        stack.enter_context(done.step("work", key="k1"))
        body_ran()
    assert (skip.skipped, skip.result) == (True, "result of k1")
    with ExitStack() as stack:
        skip = stack.enter_context(done.skip_committed())
        step = stack.enter_context(done.step("work", key="new"))
        step.result = "ran"
    assert not skip.skipped
    known = done.lookup("work", "new")
    assert known is not None
    assert known.result == "ran"


def test_under_an_exit_stack_the_body_s_error_passes(done: Ledger) -> None:
    """And what the body raises there is nobody's to swallow."""
    with pytest.raises(ValueError, match="own"), ExitStack() as stack:
        stack.enter_context(done.skip_committed())
        stack.enter_context(done.step("work", key="new"))
        raise ValueError("own")
    assert [step.key for step in done.replay().in_doubt] == ["new"]


def test_under_an_async_exit_stack(done: Ledger) -> None:
    """The same with asyncio's."""

    async def enter(key: str) -> tuple[bool, Any]:
        async with AsyncExitStack() as stack:
            skip = await stack.enter_async_context(done.skip_committed())
            step = await stack.enter_async_context(done.step("work", key=key))
            step.result = "ran"
        return skip.skipped, skip.result

    assert asyncio.run(enter("k1")) == (True, "result of k1")
    assert asyncio.run(enter("new")) == (False, None)
    assert asyncio.run(enter("new")) == (True, "ran")


def test_tasks_do_not_take_each_other_s_skip(done: Ledger) -> None:
    """Many tasks of one function: each block is skipped for its own step alone."""
    ran = []

    async def work(key: str) -> Any:
        async with done.skip_committed() as skip:
            await asyncio.sleep(0)
            async with done.step("work", key=key):
                await asyncio.sleep(0)
                ran.append(key)
        return skip.skipped

    async def main() -> list[Any]:
        return await asyncio.gather(*(work(key) for key in ("k1", "a", "k2", "b")))

    assert asyncio.run(main()) == [True, False, True, False]
    assert sorted(ran) == ["a", "b"]


def test_a_plain_step_in_an_async_skip_and_the_other_way(done: Ledger) -> None:
    """The two forms may be mixed in one coroutine."""

    async def main() -> tuple[bool, bool]:
        async with done.skip_committed() as one:
            with done.step("work", key="k1"):
                body_ran()
        with done.skip_committed() as other:
            async with done.step("work", key="k2"):
                body_ran()
        return one.skipped, other.skipped

    assert asyncio.run(main()) == (True, True)


def test_in_a_generator(done: Ledger) -> None:
    """A generator's frame is its own, whoever drives it."""

    def work() -> Any:
        for key in ("k1", "new", "k2"):
            with done.skip_committed() as skip, done.step("work", key=key):
                yield "ran"
            if skip.skipped:
                yield skip.result

    assert list(work()) == ["result of k1", "ran", "result of k2"]
