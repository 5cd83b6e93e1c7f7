"""``step.mark`` and ``step.checkpoint``: durable breadcrumbs inside a body."""

from __future__ import annotations

import asyncio
import contextlib
import math
from pathlib import Path
from typing import Any

import pytest

from runledger import (
    NOT_HAPPENED,
    LeaseLapsed,
    Ledger,
    LedgerError,
    ResultNotStored,
    StepInDoubt,
    UsageError,
    replay,
)
from tests.api.doubts import left_in_doubt
from tests.support.children import Child, ran
from tests.support.tree import records


def labels(root: Path) -> list[str]:
    """The marks of the one open step, as any reader is told."""
    report = replay(root)
    (step,) = [*report.in_flight, *report.in_doubt]
    return [mark.label for mark in step.marks]


def test_a_mark_is_on_record_when_it_returns(root: Path, ledger: Ledger) -> None:
    """Seen by others before the body goes on, in order, with its data and when."""
    with ledger.step("work", key="k1") as step:
        for n in range(3):
            step.mark(f"page-{n}", sha="4f1c", n=n, tags=["a"], nothing=None)
            assert labels(root) == [f"page-{m}" for m in range(n + 1)]
        (report,) = replay(root).in_flight
        assert report.marks[1].data == {"sha": "4f1c", "n": 1, "tags": ["a"], "nothing": None}
        assert report.started <= report.marks[0].at <= report.marks[2].at


def test_a_mark_survives_the_death_of_its_process(root: Path) -> None:
    """SIGKILL right after it: the last mark is what tells how far it came."""
    program = """
    with Ledger.open() as ledger, ledger.step("work", key="k1") as step:
        for n in range(50):
            step.mark("page", n=n)
            say(n)
        sys.stdin.readline()
    """
    with Child(program, root) as child:
        while int(child.line()) < 5:
            pass
        child.kill()
        last = max(map(int, child.lines))
    (report,) = replay(root).in_doubt
    assert [mark.data["n"] for mark in report.marks] == list(range(len(report.marks)))
    assert len(report.marks) > last
    with Ledger.open(root) as ledger:
        ledger.compact()
        assert ledger.replay().in_doubt[0].marks == report.marks


def test_the_last_marks_are_told_of_many(root: Path, ledger: Ledger) -> None:
    """An open step is told with its last 50, so that it stays small; the journal has them all."""
    with ledger.step("work", key="k1", idempotent=True) as step:
        for n in range(60):
            step.mark(f"m{n}")
        assert labels(root) == [f"m{n}" for n in range(10, 60)]
    assert [one["label"] for one in records(root) if one["t"] == "mark"] == [f"m{n}" for n in range(60)]


def test_the_marks_of_a_doubt_are_told_everywhere(ledger: Ledger) -> None:
    """To a probe, in ``lookup``, in the error, by its last label."""
    with contextlib.suppress(OSError), ledger.step("work", key="k1") as step:
        step.mark("first")
        step.mark("branch-pushed", sha="4f1c")
        raise OSError
    told = []

    def probe(doubtful: Any) -> None:
        told.append([(mark.label, mark.data) for mark in doubtful.marks])

    with pytest.raises(StepInDoubt, match="branch-pushed"), ledger.step("work", key="k1", probe=probe):
        raise AssertionError("the body ran")
    assert told == [[("first", None), ("branch-pushed", {"sha": "4f1c"})]]
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert [mark.label for mark in known.marks] == ["first", "branch-pushed"]


def test_a_new_attempt_begins_without_marks(root: Path, ledger: Ledger) -> None:
    """They belong to the attempt that left them."""
    with contextlib.suppress(OSError), ledger.step("work", key="k1", aborts_on=OSError) as step:
        step.mark("first")
        raise OSError
    with ledger.step("work", key="k1") as step:
        step.mark("second")
        assert labels(root) == ["second"]


@pytest.mark.parametrize("label", ["", None, 7])
def test_a_mark_needs_a_label(ledger: Ledger, label: Any) -> None:
    """A label is a text that is not empty; a body that handles the refusal goes on."""
    with ledger.step("work", key="k1") as step, pytest.raises(UsageError):
        step.mark(label)
    assert ledger.replay().committed == 1


@pytest.mark.parametrize(
    "data", [math.nan, object(), "\ud800", "x" * (2 << 20)], ids=["nan", "type", "half", "large"]
)
def test_what_a_mark_cannot_hold(ledger: Ledger, data: Any) -> None:
    """Refused in words, and nothing of it is on record."""
    with ledger.step("work", key="k1") as step:
        with pytest.raises(UsageError):
            step.mark("page", data=data)
        assert ledger.replay().in_flight[0].marks == []


def test_a_label_of_any_text_is_harmless_on_a_terminal(ledger: Ledger) -> None:
    """Kept as it is, escaped where it is shown."""
    left = "\x1b[31mred\n\u202e"
    with contextlib.suppress(OSError), ledger.step("work", key="k1") as step:
        step.mark(left)
        raise OSError
    with pytest.raises(StepInDoubt) as doubt, ledger.step("work", key="k1"):
        raise AssertionError("the body ran")
    assert ledger.replay().in_doubt[0].marks[0].label == left
    assert "\x1b" not in str(doubt.value)
    assert "\u202e" not in str(doubt.value)


def test_a_mark_after_the_body_is_refused(ledger: Ledger) -> None:
    """The attempt is settled: nothing can be added to it."""
    with ledger.step("work", key="k1") as step:
        pass
    with pytest.raises(LeaseLapsed):
        step.mark("late")


def test_a_mark_of_a_doubt_that_runs_again_is_refused(ledger: Ledger) -> None:
    """An attempt whose call is over leaves no breadcrumbs in the next one."""
    with contextlib.suppress(OSError), ledger.step("work", key="k1", idempotent=True) as old:
        raise OSError
    with ledger.step("work", key="k1", idempotent=True):
        with pytest.raises(LeaseLapsed):
            old.mark("late")
        assert ledger.replay().in_flight[0].marks == []


def test_marks_from_threads_of_the_body(root: Path, ledger: Ledger) -> None:
    """A body may hand its step to others; none of their marks is lost."""
    from concurrent.futures import ThreadPoolExecutor

    with ledger.step("work", key="k1") as step:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: step.mark("page", n=n), range(40)))
        assert sorted(mark.data["n"] for mark in replay(root).in_flight[0].marks) == list(range(40))


def test_async_marks_awaited(root: Path, ledger: Ledger) -> None:
    """In ``async with``, awaiting a mark is what makes it sure."""

    async def main() -> None:
        async with ledger.step("work", key="k1") as step:
            await step.mark("first", n=1)
            assert labels(root) == ["first"]
            await asyncio.gather(*(step.mark(f"m{n}") for n in range(5)))
            assert labels(root) == ["first", *(f"m{n}" for n in range(5))]

    asyncio.run(main())


def test_async_marks_that_nobody_awaits(root: Path, ledger: Ledger) -> None:
    """They are on record in order, before the step's commit."""

    async def main() -> None:
        async with ledger.step("work", key="k1") as step:
            for n in range(5):
                step.mark(f"m{n}")

    asyncio.run(main())
    kinds = [(one["t"], one.get("label")) for one in records(root) if one["t"] in {"mark", "commit"}]
    assert kinds == [*(("mark", f"m{n}") for n in range(5)), ("commit", None)]


def test_a_checkpoint_is_for_the_next_attempt(root: Path) -> None:
    """What was saved comes back in value and type, after a kill and a compaction."""
    program = """
    with Ledger.open() as ledger, ledger.step("work", key="k1", idempotent=True) as step:
        say(step.attempt, step.resumed_from)
        step.checkpoint({"page": (step.attempt, b"x")})
        if step.attempt < 3:
            ledger.compact()
            os._exit(9)
    """
    assert ran(program, root, code=9).lines == ["1 None"]
    assert ran(program, root, code=9).lines == ["2 {'page': (1, b'x')}"]
    assert ran(program, root).lines == ["3 {'page': (2, b'x')}"]


def test_a_checkpoint_that_cannot_be_stored(ledger: Ledger) -> None:
    """Refused, and the one before stays."""
    with contextlib.suppress(OSError), ledger.step("work", key="k1", idempotent=True) as step:
        step.checkpoint(1)
        with pytest.raises(ResultNotStored):
            step.checkpoint(object())
        raise OSError
    with ledger.step("work", key="k1", idempotent=True) as step:
        assert step.resumed_from == 1


def test_a_mark_when_the_run_was_halted(root: Path, ledger: Ledger) -> None:
    """What a body still finds out is recorded, whatever the run's word is by then."""
    with ledger.step("work", key="k1") as step:
        ledger.halt("stop")
        step.mark("late", sha="4f1c")
        assert labels(root) == ["late"]


def test_a_mark_that_the_disk_of_the_ledger_refuses_is_told(root: Path) -> None:
    """A handle that was closed by another thread takes no mark in silence."""
    ledger = Ledger.open(root)
    with contextlib.suppress(LedgerError), ledger.step("work", key="k1") as step:
        ledger.close()
        with pytest.raises(LedgerError):
            step.mark("late")
    with Ledger.open(root) as other:
        assert other.replay().in_doubt[0].marks == []


def test_resolved_doubts_keep_their_marks_on_record(root: Path, ledger: Ledger) -> None:
    """Settling rewrites nothing of what went before."""
    with contextlib.suppress(OSError), ledger.step("work", key="k1") as step:
        step.mark("here")
        raise OSError
    before = records(root)
    ledger.resolve("work", "k1", NOT_HAPPENED, reason="looked")
    assert records(root)[: len(before)] == before
    left_in_doubt(ledger)
    assert labels(root) == []
