"""Tasks: cancellation at each point of a step, many at once, and a loop that is never blocked."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runledger import Ledger, Options, StepInDoubt, StepInFlight
from tests.support.tree import records


@asynccontextmanager
async def busy(root: Path) -> AsyncIterator[None]:
    """The append lock is held, as by another process in the middle of its write."""
    fd = os.open(root / ".run" / "ledger" / "lock", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(fd)


def status(ledger: Ledger, key: str = "k1") -> str | None:
    """What is known of the step, in a word."""
    known = ledger.lookup("work", key)
    return None if known is None else known.status


def never() -> None:
    """A body that must not run."""
    raise AssertionError("the body ran")


def test_cancelled_before_it_began(root: Path, ledger: Ledger) -> None:
    """A task that never got its turn has recorded nothing."""

    async def main() -> None:
        async def work() -> None:
            async with ledger.step("work", key="k1"):
                never()

        task = asyncio.create_task(work())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert not (root / ".run").exists()


@pytest.mark.parametrize("form", ["with", "decorator"])
def test_cancelled_while_it_claims(root: Path, ledger: Ledger, form: str) -> None:
    """It did not happen: an abort, and the next entry runs."""
    with ledger.step("first", key="k"):
        pass

    @ledger.step("work", key="k1")
    async def decorated() -> None:
        never()

    async def block() -> None:
        async with ledger.step("work", key="k1"):
            never()

    async def main() -> None:
        ledger.store.sequencer._sync_s = 1.0  # type: ignore[attr-defined]  # a disk whose syncs are left to the worker
        async with busy(root):
            task = asyncio.create_task(block() if form == "with" else decorated())
            for _ in range(5):
                await asyncio.sleep(0.002)
            task.cancel()
            await asyncio.sleep(0.01)
            assert not task.done(), "what was sent is waited for"
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert status(ledger) == "aborted"
    with ledger.step("work", key="k1") as step:
        assert step.attempt == 2


def test_cancelled_at_any_turn_of_the_loop(root: Path, ledger: Ledger) -> None:
    """Wherever it is hit: either the body began and there is a doubt or a commit, or it did not and there is none."""

    async def one(key: str, turns: int) -> tuple[bool, bool]:
        began = cancelled = False

        async def work() -> None:
            nonlocal began
            async with ledger.step("work", key=key):
                began = True
                await asyncio.sleep(0)

        task = asyncio.create_task(work())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            cancelled = True
        return began, cancelled

    async def main() -> list[tuple[bool, bool]]:
        return [await one(str(turns), turns) for turns in range(40)]

    for n, (began, cancelled) in enumerate(asyncio.run(main())):
        if began:
            assert status(ledger, str(n)) in ({"committed", "in_doubt"} if cancelled else {"committed"})
        else:
            assert status(ledger, str(n)) in {None, "aborted"}
    assert ledger.replay().in_flight == []


def test_cancelled_in_its_body(ledger: Ledger) -> None:
    """In doubt, as after any exception."""

    async def main() -> None:
        inside = asyncio.Event()

        async def work() -> None:
            async with ledger.step("work", key="k1"):
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await inside.wait()
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (step,) = ledger.replay().in_doubt
    assert step.failure is not None
    assert step.failure.type.endswith("CancelledError")


def test_a_timeout_in_its_body(ledger: Ledger) -> None:
    """The caller gets its TimeoutError, the step is in doubt."""

    async def main() -> None:
        async with asyncio.timeout(0.05), ledger.step("work", key="k1"):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    with pytest.raises(StepInDoubt), ledger.step("work", key="k1"):
        never()


def test_cancelled_while_it_commits(root: Path, ledger: Ledger) -> None:
    """The commit goes through, and then the cancellation does: what happened is on record."""
    with ledger.step("first", key="k"):
        pass

    async def main() -> None:
        ledger.store.sequencer._sync_s = 1.0  # type: ignore[attr-defined]  # a disk whose syncs are left to the worker
        leaving, go = asyncio.Event(), asyncio.Event()

        async def work() -> None:
            async with ledger.step("work", key="k1") as step:
                step.result = "done"
                leaving.set()
                await go.wait()

        task = asyncio.create_task(work())
        await leaving.wait()
        async with busy(root):
            go.set()
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.sleep(0.01)
            assert not task.done()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert (known.status, known.result) == ("committed", "done")


def test_a_task_group_that_fails(ledger: Ledger) -> None:
    """One task's exception cancels the others: each is on record as it ended."""

    async def work(key: str, inside: asyncio.Event) -> None:
        async with ledger.step("work", key=key):
            inside.set()
            await asyncio.Event().wait()

    async def main() -> None:
        events = [asyncio.Event() for _ in range(3)]
        async with asyncio.TaskGroup() as group:
            for n, event in enumerate(events):
                group.create_task(work(str(n), event))
            for event in events:
                await event.wait()
            raise OSError("one of them failed")

    with pytest.raises(ExceptionGroup):
        asyncio.run(main())
    assert [status(ledger, str(n)) for n in range(3)] == ["in_doubt"] * 3
    assert ledger.replay().in_flight == []


def test_many_tasks_of_one_key(ledger: Ledger) -> None:
    """One runs; the others are told that it is in flight, at once, and later get its result."""
    runs = []

    @ledger.step("work", key="k1")
    async def work() -> int:
        runs.append(1)
        await asyncio.sleep(0.05)
        return 7

    async def main() -> None:
        first = await asyncio.gather(*(work() for _ in range(20)), return_exceptions=True)
        assert [one for one in first if not isinstance(one, StepInFlight)] == [7]
        assert await asyncio.gather(*(work() for _ in range(20))) == [7] * 20

    asyncio.run(main())
    assert runs == [1]


def test_many_tasks_of_many_keys(root: Path, ledger: Ledger) -> None:
    """All run, each with its own result; tasks that wait at the same time share a sync, and no number is missing."""

    @ledger.step("work", key="{n}")
    async def work(n: int) -> int:
        await asyncio.sleep(0)
        return n * n

    async def main() -> list[int]:
        return await asyncio.gather(*(work(n) for n in range(200)))

    assert asyncio.run(main()) == [n * n for n in range(200)]
    assert [one["lsn"] for one in records(root)] == list(range(1, len(records(root)) + 1))


@pytest.mark.parametrize("sync_s", [1.0, 0.0], ids=["slow-disk", "quick-disk"])
def test_the_loop_turns_while_another_process_holds_the_lock(
    root: Path, ledger: Ledger, sync_s: float
) -> None:
    """Whoever waits for the ledger waits alone: other tasks go on, however quick the disk was before."""
    with ledger.step("first", key="k"):
        pass

    async def main() -> int:
        ledger.store.sequencer._sync_s = sync_s  # type: ignore[attr-defined]  # what it takes the disk for
        turns = 0
        async with busy(root):

            async def work() -> None:
                async with ledger.step("work", key="k1"):
                    pass

            task = asyncio.create_task(work())
            for _ in range(20):
                await asyncio.sleep(0.001)
                turns += 1
            assert not task.done()
        await task
        return turns

    assert asyncio.run(asyncio.wait_for(main(), 20)) == 20
    assert status(ledger) == "committed"


def test_an_async_handle_is_closed_at_the_end(root: Path) -> None:
    """``async with Ledger.open`` leaves in good order."""

    async def main() -> None:
        async with Ledger.open(root, options=Options(flush_interval=60.0)) as ledger:
            for n in range(3):
                async with ledger.step("work", key=str(n), idempotent=True):
                    pass

    asyncio.run(main())
    assert records(root)[-1]["t"] == "closed"


def test_one_handle_in_loop_after_loop(ledger: Ledger) -> None:
    """A handle belongs to no loop; a step that was left open by a loop's end is in doubt, not for ever in flight."""

    async def work(key: str) -> None:
        async with ledger.step("work", key=key):
            await asyncio.sleep(0)

    for n in range(3):
        asyncio.run(work(str(n)))
    assert [status(ledger, str(n)) for n in range(3)] == ["committed"] * 3

    async def hang(inside: asyncio.Event) -> None:
        async with ledger.step("work", key="hangs"):
            inside.set()
            await asyncio.Event().wait()

    async def leave() -> None:
        inside = asyncio.Event()
        task = asyncio.create_task(hang(inside))
        await inside.wait()
        assert not task.done()

    asyncio.run(leave())
    assert status(ledger, "hangs") == "in_doubt"


def test_threads_and_tasks_of_one_handle(ledger: Ledger) -> None:
    """Both kinds of callers at once, over the same keys: each effect once."""
    effects: list[int] = []

    def in_thread(n: int) -> None:
        with ledger.skip_committed(), ledger.step("work", key=str(n)):
            effects.append(n)

    async def in_task(n: int) -> None:
        async with ledger.skip_committed(), ledger.step("work", key=str(n)):
            effects.append(n)

    async def main() -> None:
        calls = [*(asyncio.to_thread(in_thread, n) for n in range(20)), *(in_task(n) for n in range(20))]
        told = await asyncio.gather(*calls, return_exceptions=True)
        assert all(one is None or isinstance(one, StepInFlight) for one in told)

    asyncio.run(main())
    assert sorted(effects) == list(range(20))
