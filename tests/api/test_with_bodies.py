"""Bodies of ``with``: the naive form, nested, with exceptions, in stacks, driven by hand."""

# ruff: noqa: PT012 - a block under test ends with what it raises, after what went before

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from runledger import Ledger, LedgerError, StepCommitted, StepInDoubt, StepInFlight
from tests.support.children import ran
from tests.support.outside import Outside
from tests.support.tree import records


def test_the_naive_form_cannot_repeat_an_effect(ledger: Ledger) -> None:
    """Nobody who knows nothing of ``skip_committed`` runs a committed effect again, broad ``except`` or not."""
    effects = []
    for _ in range(5):
        with suppress(Exception), ledger.step("charge", key="order-1"):
            effects.append("charged")
    assert effects == ["charged"]


def test_the_naive_form_cannot_repeat_a_doubtful_effect(ledger: Ledger) -> None:
    """The same for an effect that ended badly."""
    effects = []
    for _ in range(5):
        with suppress(Exception), ledger.step("charge", key="order-1"):
            effects.append("charged")
            raise OSError("no answer")
    assert effects == ["charged"]


def test_no_result_is_none(ledger: Ledger) -> None:
    """A body that sets no result has None on record."""
    with ledger.step("work", key="k1"):
        pass
    with pytest.raises(StepCommitted) as told, ledger.step("work", key="k1"):
        raise AssertionError("the body ran")
    assert vars(told.value)["result"] is None


def test_what_the_step_tells(ledger: Ledger) -> None:
    """Name, key, LSN and attempt are the intent's."""
    with ledger.step("work", key="k1") as step:
        known = ledger.lookup("work", "k1")
        assert known is not None
        assert (step.name, step.key, step.lsn, step.attempt) == ("work", "k1", known.lsn, 1)
        assert known.status == "in_flight"


def test_the_exception_is_handed_on_as_it_is(ledger: Ledger) -> None:
    """The very object, with its cause and its notes; the recording adds nothing to it."""
    cause = KeyError("inner")
    error = ValueError("outer")
    error.add_note("by the caller")
    with pytest.raises(ValueError, match="outer") as raised, ledger.step("work", key="k1"):
        raise error from cause
    assert raised.value is error
    assert error.__cause__ is cause
    assert error.__notes__ == ["by the caller"]


@pytest.mark.parametrize("word", ["return", "break", "continue"])
def test_leaving_the_body_early_is_a_return(ledger: Ledger, word: str) -> None:
    """The body came to an end of its own: committed."""

    def work() -> None:
        for _ in range(2):
            with ledger.skip_committed(), ledger.step("work", key="k1") as step:
                step.result = word
                if word == "return":
                    return
                if word == "break":
                    break
                continue

    work()
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert (known.status, known.result, known.attempt) == ("committed", word, 1)


def test_nested_steps_end_on_their_own(ledger: Ledger) -> None:
    """The inner commit stands, though the outer body fails afterwards."""
    with pytest.raises(OSError, match="after"), ledger.step("outer", key="o"):
        with ledger.step("inner", key="i"):
            pass
        raise OSError("after")
    inner, outer = ledger.lookup("inner", "i"), ledger.lookup("outer", "o")
    assert (inner and inner.status, outer and outer.status) == ("committed", "in_doubt")


def test_an_exception_through_two_bodies(ledger: Ledger) -> None:
    """Both are in doubt, with the same failure."""
    with pytest.raises(OSError), ledger.step("outer", key="o"), ledger.step("inner", key="i"):  # noqa: PT011
        raise OSError("no answer")
    assert [(step.key, step.failure and step.failure.message) for step in ledger.replay().in_doubt] == [
        ("o", "no answer"),
        ("i", "no answer"),
    ]


def test_one_object_for_many_blocks(ledger: Ledger) -> None:
    """What ``ledger.step`` returned may be kept and entered again: each time is an entry of its own."""
    use = ledger.step("work", key="k1", aborts_on=OSError)
    with pytest.raises(OSError, match="once"), use:
        raise OSError("once")
    with use as step:
        assert step.attempt == 2
    with pytest.raises(StepCommitted), use:
        raise AssertionError("the body ran")


def test_one_keyless_object_nested_in_itself(ledger: Ledger) -> None:
    """The inner block ends the inner step."""
    use = ledger.step("work")
    with use as outer, use as inner:
        assert inner.lsn != outer.lsn
    assert ledger.replay().committed == 2


class Refused(Exception):
    """That the first of two bodies ends with."""


def first_fails_while_second_goes_on(root: Path) -> None:
    """What is on record once the first of two ended with an exception, and then the second with a result."""
    intents = [one["lsn"] for one in records(root) if one["t"] == "intent"]
    ends = {one["of"]: (one["t"], one.get("result")) for one in records(root) if "of" in one}
    assert [ends[lsn] for lsn in intents] == [("doubt", None), ("commit", "second")]


def test_one_keyless_object_in_two_tasks(root: Path, ledger: Ledger) -> None:
    """Each task's end is recorded for its own step, also where they end in the order in which they began."""
    use = ledger.step("work")
    order: list[asyncio.Event] = []

    async def first() -> None:
        async with use:
            order[0].set()
            await order[1].wait()
            raise Refused

    async def second() -> None:
        await order[0].wait()
        async with use as step:
            order[1].set()
            await order[2].wait()
            step.result = "second"

    async def main() -> None:
        order.extend(asyncio.Event() for _ in range(3))
        going_on = asyncio.create_task(second())
        with pytest.raises(Refused):
            await first()
        order[2].set()
        await going_on

    asyncio.run(main())
    first_fails_while_second_goes_on(root)


def test_one_keyless_object_in_two_threads(root: Path, ledger: Ledger) -> None:
    """The same among threads."""
    use = ledger.step("work")
    inside, over = threading.Event(), threading.Event()

    def second() -> None:
        with use as step:
            inside.set()
            over.wait(30)
            step.result = "second"

    thread = threading.Thread(target=second)
    with pytest.raises(Refused), use:
        thread.start()
        assert inside.wait(30)
        raise Refused
    over.set()
    thread.join()
    first_fails_while_second_goes_on(root)


def test_one_object_left_by_another_thread(ledger: Ledger) -> None:
    """A block that is closed elsewhere than it was entered, as a stack may be, ends its step all the same."""
    stack = ExitStack()
    stack.enter_context(ledger.step("work", key="k1"))
    closer = threading.Thread(target=stack.close)
    closer.start()
    closer.join()
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.status == "committed"


def test_several_steps_under_an_exit_stack(ledger: Ledger) -> None:
    """They end in reverse order; an exception puts all of them in doubt, a clean end commits all."""
    with ExitStack() as stack:
        for number in range(3):
            stack.enter_context(ledger.step("work", key=f"good-{number}"))
    assert ledger.replay().committed == 3
    with pytest.raises(OSError, match="no answer"), ExitStack() as stack:
        for number in range(3):
            stack.enter_context(ledger.step("work", key=f"bad-{number}"))
        raise OSError("no answer")
    assert [step.key for step in ledger.replay().in_doubt] == ["bad-0", "bad-1", "bad-2"]


def test_a_stack_that_fails_half_way_up(ledger: Ledger) -> None:
    """Where a later manager refuses, the body did not run, and yet nothing proves it: the step before is in doubt."""

    @contextmanager
    def refuses() -> Iterator[None]:
        raise Refused
        yield

    with pytest.raises(Refused), ExitStack() as stack:
        stack.enter_context(ledger.step("work", key="k1"))
        stack.enter_context(refuses())
    assert [step.key for step in ledger.replay().in_doubt] == ["k1"]


def test_a_stack_that_takes_over_its_steps(ledger: Ledger) -> None:
    """``pop_all`` moves the open step to another stack; it ends when that one does."""
    with ExitStack() as stack:
        stack.enter_context(ledger.step("work", key="k1"))
        later = stack.pop_all()
    assert [step.key for step in ledger.replay().in_flight] == ["k1"]
    later.close()
    assert ledger.replay().in_flight == []
    assert ledger.replay().committed == 1


def test_under_an_async_exit_stack(ledger: Ledger) -> None:
    """Async and plain steps under one stack."""

    async def main(*, fails: bool) -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(ledger.step("async", key=str(fails)))
            stack.enter_context(ledger.step("plain", key=str(fails)))
            if fails:
                raise OSError("no answer")

    asyncio.run(main(fails=False))
    assert ledger.replay().committed == 2
    with pytest.raises(OSError, match="no answer"):
        asyncio.run(main(fails=True))
    assert [step.name for step in ledger.replay().in_doubt] == ["async", "plain"]


def test_a_generator_that_is_closed_in_the_body(ledger: Ledger) -> None:
    """A consumer that goes away ends the body with GeneratorExit: in doubt."""

    def work() -> Iterator[int]:
        with ledger.step("work", key="k1"):
            yield 1

    running = work()
    next(running)
    assert [step.key for step in ledger.replay().in_flight] == ["k1"]
    running.close()  # type: ignore[attr-defined]  # a generator, as its type does not say
    (step,) = ledger.replay().in_doubt
    assert step.failure is not None
    assert step.failure.type == "GeneratorExit"


def test_every_mixture_repeats_nothing(root: Path) -> None:
    """The forms one after another, in each order, each with an own handle: each effect happens once."""
    program = """
    import asyncio, contextlib, itertools

    def naive(ledger, key):
        with contextlib.suppress(LedgerError), ledger.step("work", key=key):
            happen(key)

    def skipping(ledger, key):
        with ledger.skip_committed(), ledger.step("work", key=key):
            happen(key)

    def decorated(ledger, key):
        ledger.step("work", key=key)(lambda: happen(key))()

    def stacked(ledger, key):
        with contextlib.ExitStack() as stack:
            stack.enter_context(ledger.skip_committed())
            stack.enter_context(ledger.step("work", key=key))
            happen(key)

    def nested(ledger, key):
        with ledger.step("outer"), ledger.skip_committed(), ledger.step("work", key=key):
            happen(key)

    def in_asyncio(ledger, key):
        async def main():
            async with ledger.skip_committed(), ledger.step("work", key=key):
                happen(key)
        asyncio.run(main())

    forms = [naive, skipping, decorated, stacked, nested, in_asyncio]
    for one, other in itertools.permutations(forms, 2):
        with Ledger.open() as ledger:
            for form in (one, other):
                form(ledger, f"{one.__name__} then {other.__name__}")
    """
    ran(program, root)
    assert len(Outside(root).all()) == 30
    assert Outside(root).repeated() == []


def test_the_same_step_within_itself(ledger: Ledger) -> None:
    """Entered again in its own body it is in flight; that refusal is the body's own to handle or not."""
    with ledger.step("work", key="k1"), pytest.raises(StepInFlight), ledger.step("work", key="k1"):
        raise AssertionError("the body ran")
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert known.status == "committed"


def test_every_refusal_is_a_ledger_error(ledger: Ledger) -> None:
    """One ``except LedgerError`` around the block is told of each of them."""
    with ledger.step("work", key="done"):
        pass
    with suppress(OSError), ledger.step("work", key="open"):
        raise OSError
    for key, error in [("done", StepCommitted), ("open", StepInDoubt)]:
        with pytest.raises(LedgerError) as refused, ledger.step("work", key=key):
            raise AssertionError("the body ran")
        assert type(refused.value) is error
