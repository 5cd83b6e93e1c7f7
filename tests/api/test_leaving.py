"""The second table of the contract: what is recorded when a body ends, in each form of a step."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from runledger import (
    KnownStep,
    Ledger,
    ResultNotStored,
    RunFinished,
    RunHalted,
    StepAborted,
    StepCommitted,
    StepInDoubt,
    replay,
)
from tests.api.doubts import HOLD
from tests.api.forms import DECORATED, FORMS, PLAIN_BLOCKS, Form, each
from tests.support.children import Child
from tests.support.tree import records


class Declined(Exception):
    """What a caller may declare."""


class CardDeclined(Declined):
    """A kind of it."""


def known(ledger: Ledger, name: str = "work", key: str = "k1") -> KnownStep:
    """What is known of the step."""
    found = ledger.lookup(name, key)
    assert found is not None
    return found


def raising(error: BaseException) -> Any:
    """A body that ends so."""

    def body() -> Any:
        raise error

    return body


@each
def test_returns(root: Path, ledger: Ledger, form: Form) -> None:
    """The commit with its result is on record when the caller goes on."""
    form.enter(ledger, "work", lambda: ["url", 7], key="k1")
    last = records(root)[-1]
    assert (last["t"], last["key"], last["result"]) == ("commit", "k1", ["url", 7])
    assert known(ledger).result == ["url", 7]
    assert replay(root).in_flight == replay(root).in_doubt == []


@each
@pytest.mark.parametrize("error", [Declined("no"), CardDeclined("no")], ids=["itself", "a-kind-of-it"])
def test_a_declared_exception(root: Path, ledger: Ledger, form: Form, error: Declined) -> None:
    """An exception in ``aborts_on`` reaches the caller and is an abort, with its text."""
    with pytest.raises(Declined) as raised:
        form.enter(ledger, "work", raising(error), key="k1", aborts_on=(OSError, Declined))
    assert raised.value is error
    assert known(ledger).status == "aborted"
    assert records(root)[-1]["reason"].endswith("Declined: no")
    assert replay(root).aborted == 1


@pytest.mark.parametrize("kind", [Exception, KeyboardInterrupt, SystemExit], ids=lambda kind: kind.__name__)
def test_any_exception_class_may_be_declared(ledger: Ledger, kind: type[BaseException]) -> None:
    """One class or several, of those that end a program too."""
    with pytest.raises(kind), ledger.step("work", key="k1", aborts_on=kind):
        raise kind
    assert known(ledger).status == "aborted"


def test_a_group_of_declared_exceptions_proves_nothing(ledger: Ledger) -> None:
    """Only the exception itself is declared, not what a group has inside."""
    with pytest.raises(ExceptionGroup), ledger.step("work", key="k1", aborts_on=Declined):
        raise ExceptionGroup("several", [Declined("no")])
    assert known(ledger).status == "in_doubt"


def test_step_abort(root: Path, ledger: Ledger) -> None:
    """``raise step.abort(reason)`` is an abort with that reason, and the next entry runs."""
    with pytest.raises(StepAborted, match="nothing to do"), ledger.step("work", key="k1") as step:
        raise step.abort("nothing to do")
    assert known(ledger).status == "aborted"
    assert records(root)[-1]["reason"] == "nothing to do"
    with ledger.step("work", key="k1") as step:
        assert step.attempt == 2


def test_step_abort_in_an_async_block(root: Path, ledger: Ledger) -> None:
    """The same in ``async with``."""

    async def main() -> None:
        async with ledger.step("work", key="k1") as step:
            raise step.abort("nothing to do")

    with pytest.raises(StepAborted):
        asyncio.run(main())
    assert known(ledger).status == "aborted"
    assert records(root)[-1]["reason"] == "nothing to do"


def test_an_abort_that_was_made_and_not_raised_is_none(ledger: Ledger) -> None:
    """Only raising it says it."""
    with ledger.step("work", key="k1") as step:
        step.abort("changed its mind")
    assert known(ledger).status == "committed"


def test_the_abort_of_an_inner_step_proves_nothing_of_the_outer(ledger: Ledger) -> None:
    """It says that the inner effect did not happen, and no more."""
    with pytest.raises(StepAborted), ledger.step("outer", key="o"), ledger.step("inner", key="i") as inner:
        raise inner.abort("not now")
    assert known(ledger, "inner", "i").status == "aborted"
    assert known(ledger, "outer", "o").status == "in_doubt"


def test_another_exception_raised_from_an_abort_proves_nothing(ledger: Ledger) -> None:
    """The exception that leaves the block counts, not where it came from."""
    with pytest.raises(ValueError, match="other"), ledger.step("work", key="k1") as step:
        raise ValueError("other") from step.abort("nothing to do")
    assert known(ledger).status == "in_doubt"


@each
@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("reset by peer"),
        TimeoutError("too slow"),
        KeyboardInterrupt(),
        SystemExit(3),
        asyncio.CancelledError("stop"),
        GeneratorExit(),
        StopIteration("end"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_any_other_exception(ledger: Ledger, form: Form, error: BaseException) -> None:
    """An exception proves nothing: the step is in doubt, its type and message are kept, nobody runs it again."""
    if form.is_async and isinstance(error, (StopIteration, KeyboardInterrupt, SystemExit)):
        error = OSError("as asyncio leaves these to nobody")
    with pytest.raises(type(error)) as raised:
        form.enter(ledger, "work", raising(error), key="k1")
    assert raised.value is error or isinstance(error, asyncio.CancelledError)
    (step,) = ledger.replay().in_doubt
    assert step.failure is not None
    assert step.failure.type.endswith(type(error).__name__)
    assert step.failure.message == str(error)
    with pytest.raises(StepInDoubt, match=type(error).__name__):
        form.enter(ledger, "work", raising(AssertionError("the body ran")), key="k1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_death_in_the_body(root: Path, ledger: Ledger, number: signal.Signals) -> None:
    """Whatever ends the process, the step is in doubt, with the dead owner and how far it came."""
    with Child(HOLD, root, "work", "k1") as child:
        child.until("inside")
        child.signal(number)
        assert child.end().code == -number
    (step,) = ledger.replay().in_doubt
    assert (step.owner.pid, step.owner.alive) == (child.pid, False)
    assert [(mark.label, mark.data) for mark in step.marks] == [("came so far", {"page": 7})]
    with pytest.raises(StepInDoubt), ledger.step("work", key="k1"):
        raise AssertionError("the body ran")


@each
@pytest.mark.parametrize("result", [object(), float("nan"), "\ud800"], ids=["object", "nan", "surrogate"])
def test_the_result_cannot_be_stored(root: Path, ledger: Ledger, form: Form, result: Any) -> None:
    """That it happened is committed all the same; the caller is told, and so is every later one."""
    with pytest.raises(ResultNotStored):
        form.enter(ledger, "work", lambda: result, key="k1")
    assert records(root)[-1]["t"] == "commit"
    assert known(ledger).status == "committed"
    assert replay(root).in_doubt == []
    again = raising(AssertionError("the body ran"))
    for _ in range(2):
        if form in DECORATED:
            with pytest.raises(ResultNotStored):
                form.enter(ledger, "work", again, key="k1")
        elif form in PLAIN_BLOCKS:
            with pytest.raises(StepCommitted) as told:
                form.enter(ledger, "work", again, key="k1")
            assert vars(told.value)["result"] is None
        else:
            assert form.enter(ledger, "work", again, key="k1") is None


@each
def test_the_run_was_halted_meanwhile(ledger: Ledger, form: Form) -> None:
    """What happened is recorded, whatever the run's word is by then; the next step is refused."""

    def body() -> str:
        ledger.halt("a person said stop")
        return "done"

    assert form.enter(ledger, "work", body, key="k1") == "done"
    assert (known(ledger).status, known(ledger).result) == ("committed", "done")
    with pytest.raises(RunHalted):
        form.enter(ledger, "work", body, key="k2")


@pytest.mark.parametrize("form", [FORMS[0], FORMS[5]], ids=["with", "async-decorator"])
def test_the_run_was_ended_meanwhile(ledger: Ledger, form: Form) -> None:
    """The same where it was given up."""

    def body() -> str:
        ledger.abandon("no longer wanted")
        return "done"

    assert form.enter(ledger, "work", body, key="k1") == "done"
    assert known(ledger).status == "committed"
    with pytest.raises(RunFinished):
        form.enter(ledger, "work", body, key="k2")
