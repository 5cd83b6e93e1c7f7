"""Probes: what they are asked, what they may answer, and what becomes of an answer that is none."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from pathlib import Path
from typing import Any

import pytest

from runledger import (
    NOT_HAPPENED,
    Happened,
    InputsMismatch,
    Ledger,
    LedgerError,
    ResultNotStored,
    StepCommitted,
    StepInDoubt,
    StepInFlight,
    UsageError,
)
from tests.api.doubts import held, killed, left_in_doubt
from tests.api.forms import FORMS, Form, each, each_of
from tests.support.tree import records


def never(_: Any = None) -> Any:
    """A body, or a probe, that must not run."""
    raise AssertionError("it ran")


def test_what_a_probe_is_told(root: Path, ledger: Ledger) -> None:
    """Everything that replay tells of the step, and the key that the outside may know it by."""
    pid = killed(root)
    (report,) = ledger.replay().in_doubt
    asked: list[Any] = []
    with pytest.raises(StepInDoubt), ledger.step("work", key="k1", probe=asked.append):
        never()
    (told,) = asked
    facts = ("name", "key", "lsn", "attempt", "started", "owner", "marks", "failure")
    assert [getattr(told, fact) for fact in facts] == [getattr(report, fact) for fact in facts]
    assert (told.owner.pid, told.owner.alive, told.failure) == (pid, False, None)
    assert len(told.idempotency_key) == 32


def test_what_a_probe_is_told_of_an_exception(ledger: Ledger) -> None:
    """How the call ended, where it did."""
    left_in_doubt(ledger)
    asked: list[Any] = []
    with pytest.raises(StepInDoubt), ledger.step("work", key="k1", probe=asked.append):
        never()
    assert (asked[0].failure.type, asked[0].failure.message) == ("ConnectionError", "lost")


@each
def test_a_probe_is_asked_only_of_a_doubt(root: Path, ledger: Ledger, form: Form) -> None:
    """Not of a new step, not of a committed or aborted one, not of one that is in flight."""
    with contextlib.suppress(OSError):
        form.enter(ledger, "work", _refuse, key="aborted", aborts_on=OSError, probe=never)
    form.enter(ledger, "work", lambda: 1, key="aborted", probe=never)
    with contextlib.suppress(StepCommitted):
        form.enter(ledger, "work", never, key="aborted", probe=never)
    with held(root, "work", "theirs"), pytest.raises(StepInFlight):
        form.enter(ledger, "work", never, key="theirs", probe=never)


def _refuse() -> None:
    raise OSError


def test_other_inputs_are_told_before_the_probe_is_asked(ledger: Ledger) -> None:
    """What another call did says nothing of this one."""
    left_in_doubt(ledger, inputs=1)
    with pytest.raises(InputsMismatch), ledger.step("work", key="k1", inputs=2, probe=never):
        never()


@each
def test_a_probe_that_raises_leaves_the_doubt(root: Path, ledger: Ledger, form: Form) -> None:
    """What it raised is the cause of ``StepInDoubt``; nothing is recorded, and the next probe may know more."""
    left_in_doubt(ledger)
    before = records(root)
    with pytest.raises(StepInDoubt) as doubt:
        form.enter(ledger, "work", never, key="k1", probe=lambda _: 1 / 0)
    assert isinstance(doubt.value.__cause__, ZeroDivisionError)
    assert records(root) == before
    assert form.enter(ledger, "work", lambda: "done", key="k1", probe=lambda _: NOT_HAPPENED) == "done"


@pytest.mark.parametrize("answer", [True, False, 0, "happened", Happened, LedgerError("x")], ids=repr)
@each_of(FORMS[0], FORMS[5])
def test_an_answer_that_is_none(root: Path, ledger: Ledger, form: Form, answer: Any) -> None:
    """Neither truth nor text is taken for an answer: refused, and the doubt stays."""
    left_in_doubt(ledger)
    before = records(root)
    with pytest.raises(UsageError, match="probe"):
        form.enter(ledger, "work", never, key="k1", probe=lambda _: answer)
    assert records(root) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit], ids=lambda error: error.__name__)
def test_a_probe_that_is_interrupted(root: Path, ledger: Ledger, error: type[BaseException]) -> None:
    """The interrupt goes through, and the doubt stays."""

    def probe(_: Any) -> None:
        raise error

    left_in_doubt(ledger)
    before = records(root)
    with pytest.raises(error), ledger.step("work", key="k1", probe=probe):
        never()
    assert records(root) == before


def test_happened_without_a_result(ledger: Ledger) -> None:
    """It is there, and there is nothing to tell of it."""
    left_in_doubt(ledger)
    assert ledger.step("work", key="k1", probe=lambda _: Happened())(never)() is None


def test_happened_with_a_result_that_cannot_be_stored(ledger: Ledger) -> None:
    """The fact is recorded all the same."""
    left_in_doubt(ledger)
    work = ledger.step("work", key="k1", probe=lambda _: Happened(math.nan))(never)
    for _ in range(2):
        with pytest.raises(ResultNotStored):
            work()
    assert ledger.replay().in_doubt == []
    assert ledger.replay().committed == 1


def test_a_probe_that_finds_nothing_each_time(ledger: Ledger) -> None:
    """Attempt after attempt, each on record."""
    for attempt in range(1, 4):
        with (
            contextlib.suppress(OSError),
            ledger.step("work", key="k1", probe=lambda _: NOT_HAPPENED) as step,
        ):
            assert step.attempt == attempt
            raise OSError
    assert ledger.replay().in_doubt[0].attempt == 3


def test_a_probe_goes_before_idempotent_is_asked_for(ledger: Ledger) -> None:
    """A step that says both runs again without looking: repeating is harmless."""
    left_in_doubt(ledger)
    with ledger.step("work", key="k1", idempotent=True, probe=never) as step:
        assert step.attempt == 2


def test_an_async_probe(ledger: Ledger) -> None:
    """In the async forms a probe may be awaited; the loop turns meanwhile."""
    turned = []

    async def probe(step: Any) -> Happened:
        await asyncio.sleep(0.01)
        return Happened(f"found {step.key}")

    async def turn() -> None:
        turned.append(1)

    @ledger.step("work", key="k1", probe=probe)
    async def work() -> str:
        return "ran"

    async def main() -> tuple[str, None]:
        return await asyncio.gather(work(), turn())

    left_in_doubt(ledger)
    assert asyncio.run(main())[0] == "found k1"
    assert turned


def test_an_async_probe_that_is_cancelled(root: Path, ledger: Ledger) -> None:
    """The doubt stays, and nothing is recorded."""
    left_in_doubt(ledger)
    before = records(root)

    async def main() -> None:
        asked = asyncio.Event()

        async def probe(_: Any) -> None:
            asked.set()
            await asyncio.Event().wait()

        async def work() -> None:
            async with ledger.step("work", key="k1", probe=probe):
                never()

        task = asyncio.create_task(work())
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert records(root) == before
    assert len(ledger.replay().in_doubt) == 1


def test_two_that_probe_at_once(root: Path) -> None:
    """Both find nothing; one body runs, the other is told that it is in flight or done."""
    with Ledger.open(root) as one, Ledger.open(root) as other:
        left_in_doubt(one)
        barrier = threading.Barrier(2)
        told: list[str] = []

        def probe(_: Any) -> Any:
            with contextlib.suppress(threading.BrokenBarrierError):
                barrier.wait(5)
            return NOT_HAPPENED

        def work(ledger: Ledger) -> None:
            try:
                with ledger.step("work", key="k1", probe=probe) as step:
                    told.append(f"ran {step.attempt}")
            except (StepInFlight, StepCommitted) as refused:
                told.append(refused.slug)

        threads = [threading.Thread(target=work, args=(ledger,)) for ledger in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    ran, refused = sorted(told)
    assert ran == "ran 2"
    assert refused in {"step-in-flight", "step-committed"}
    assert [one["t"] for one in records(root) if one["t"] in {"abort", "commit"}] == ["abort", "commit"]


def test_two_that_probe_at_once_and_disagree(root: Path) -> None:
    """The first answer on record counts: what is known to have happened is not taken back, nor run again."""
    with Ledger.open(root) as one, Ledger.open(root) as other:
        left_in_doubt(one)

        def slow(_: Any) -> Any:
            assert other.step("work", key="k1", probe=lambda _: Happened("first"))(never)() == "first"
            return NOT_HAPPENED

        assert one.step("work", key="k1", probe=slow)(never)() == "first"


def test_a_probe_may_use_the_ledger(ledger: Ledger) -> None:
    """It may look steps up and take steps of its own."""
    with ledger.step("other", key="o") as step:
        step.result = "known"
    left_in_doubt(ledger)

    def probe(_: Any) -> Happened:
        with ledger.step("look", key="l"):
            pass
        known = ledger.lookup("other", "o")
        assert known is not None
        return Happened(known.result)

    assert ledger.step("work", key="k1", probe=probe)(never)() == "known"
