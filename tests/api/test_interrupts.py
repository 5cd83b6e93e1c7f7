"""Whatever interrupts a step, and wherever: it is not in flight afterwards."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import pytest

import runledger.attempt
from runledger import Ledger, LedgerBusy
from runledger.attempt import Attempt
from runledger.block import StepBlock
from runledger.local.journal import Journal
from runledger.local.sequencer import Sequencer
from runledger.local.store import LocalStore
from tests.api.forms import PLAIN_BLOCKS, Form, each_of

# ruff: noqa: PT012 - a block under test ends with what it raises, after what went before


def status(ledger: Ledger) -> str | None:
    """What the ledger says of the step of these tests."""
    known = ledger.lookup("work", "k1")
    return None if known is None else known.status


@pytest.mark.parametrize("where", ["leave", "ending", "_last"])
def test_between_the_body_and_its_record(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """In doubt, as after an interrupt of the body itself."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    home = StepBlock if where == "_last" else Attempt
    with suppress(KeyboardInterrupt), ledger.step("work", key="k1"):
        monkeypatch.setattr(home, where, interrupted)
    monkeypatch.undo()
    assert status(ledger) == "in_doubt"


@pytest.mark.parametrize("decorates", [False, True], ids=["with", "decorator"])
def test_between_the_claim_and_the_body(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, *, decorates: bool
) -> None:
    """Not in flight: aborted where it is known that the body did not begin."""
    module = "runledger.decorate" if decorates else "runledger.block"

    def enter(attempt: Attempt) -> None:
        assert runledger.attempt.enter(attempt) is None
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{module}.enter", enter)
    with pytest.raises(KeyboardInterrupt):
        if decorates:
            ledger.step("work", key="k1")(lambda: None)()
        else:
            with ledger.step("work", key="k1"):
                raise AssertionError("the body ran")
    assert status(ledger) == ("in_doubt" if decorates else "aborted")


class Asked(type):
    """A class that answers with an exception when it is asked for its instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        raise OSError("not now")


class Declared(Exception, metaclass=Asked):
    pass


class Shouting(str):
    """A text that cannot be cut."""

    __slots__ = ()

    def __getitem__(self, _: Any) -> str:
        raise KeyboardInterrupt


class Odd(Exception):
    def __str__(self) -> str:
        return Shouting("odd")


class Rude(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


@dataclass(frozen=True)
class Frozen(Exception):
    n: int = 1


@each_of(*PLAIN_BLOCKS)
@pytest.mark.parametrize("error", [KeyError("k"), Odd(), Frozen()], ids=lambda error: type(error).__name__)
def test_the_body_s_exception_stays_what_it_is(ledger: Ledger, form: Form, error: Exception) -> None:
    """Whatever the classes are that were declared, and however it is made."""

    def body() -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        form.enter(ledger, "work", body, key="k1", aborts_on=Declared)
    assert raised.value is error
    assert status(ledger) == "in_doubt"


@each_of(*PLAIN_BLOCKS)
def test_an_exception_that_ends_the_process_when_it_is_shown(ledger: Ledger, form: Form) -> None:
    """The step is in doubt on record, with its type."""

    def body() -> None:
        raise Rude

    with suppress(Rude, SystemExit):
        form.enter(ledger, "work", body, key="k1")
    (step,) = ledger.replay().in_doubt
    assert step.failure is not None
    assert step.failure.type.endswith("Rude")


def test_an_outcome_that_cannot_be_recorded(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that takes no notes reaches its caller all the same."""
    with pytest.raises(Frozen), ledger.step("work", key="k1"):
        monkeypatch.setattr(ledger.store, "settle", lambda _: 1 / 0)
        raise Frozen
    monkeypatch.undo()
    assert status(ledger) == "in_doubt"


@contextmanager
def handling(error: Exception) -> Iterator[None]:
    """A signal's handler that raises."""

    def handler(number: int, frame: FrameType | None) -> None:
        raise error

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


@dataclass(eq=True)
class Slow:
    """A key in whose encoding a signal comes."""

    n: int = 1
    armed = False

    def __hash__(self) -> int:
        if self.armed:
            signal.raise_signal(signal.SIGUSR1)
        return self.n


def test_a_signal_while_a_result_is_encoded(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The handler's exception is its caller's, and not a result that cannot be stored."""
    with (
        handling(TimeoutError("too slow")),
        pytest.raises(TimeoutError),
        ledger.step("work", key="k1") as step,
    ):
        step.result = {Slow(): 1}
        monkeypatch.setattr(Slow, "armed", True)
    assert status(ledger) == "in_doubt"


@pytest.mark.parametrize(
    ("turn", "where", "known"),
    [(1, "_order", None), (1, "sync", "aborted"), (2, "_order", "in_doubt"), (2, "sync", "committed")],
)
def test_an_error_of_ours_from_a_handler(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, turn: int, where: str, known: str | None
) -> None:
    """A handler that records inside a record, and does not catch what it is told: as any other exception of its."""
    inner, turns = getattr(Sequencer, where), 0

    def interrupted(self: Sequencer, *given: Any) -> Any:
        nonlocal turns
        turns += 1
        if turns == turn:
            signal.raise_signal(signal.SIGUSR1)
        return inner(self, *given)

    before = signal.signal(signal.SIGUSR1, lambda *_: ledger.heartbeat())
    monkeypatch.setattr(Sequencer, where, interrupted)
    try:
        with pytest.raises(LedgerBusy), ledger.step("work", key="k1"):
            pass
    finally:
        signal.signal(signal.SIGUSR1, before)
    monkeypatch.undo()
    assert status(ledger) == known
    with Ledger.open(ledger.root) as other:
        assert status(other) == known


@pytest.mark.parametrize("where", [(Sequencer, "_order"), (LocalStore, "withdraw"), (Attempt, "leave")])
def test_an_interrupt_of_the_withdrawal(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, where: tuple[type, str]
) -> None:
    """Whoever interrupts twice has a step in doubt, and none in flight."""
    inner = Sequencer.sync

    def again(*_: Any) -> None:
        raise KeyboardInterrupt

    def sync(self: Sequencer, *given: Any) -> None:
        inner(self, *given)
        monkeypatch.setattr(*where, again)
        raise KeyboardInterrupt

    monkeypatch.setattr(Sequencer, "sync", sync)
    with suppress(KeyboardInterrupt), ledger.step("work", key="k1"):
        raise AssertionError("the body ran")
    monkeypatch.undo()
    assert status(ledger) == "in_doubt"


def test_an_interrupt_of_the_claim_s_write(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on the disk is known to be this claim's: it is withdrawn."""
    inner = Journal.append

    def append(self: Journal, *, begin: bool = False) -> None:
        intent = any(b'"intent"' in line for line in self.pending)
        inner(self, begin=begin)
        if intent and begin:
            monkeypatch.undo()
            raise KeyboardInterrupt

    monkeypatch.setattr(Journal, "append", append)
    with pytest.raises(KeyboardInterrupt), ledger.step("work", key="k1"):
        raise AssertionError("the body ran")
    assert status(ledger) == "aborted"


def test_a_coroutine_that_is_closed(ledger: Ledger) -> None:
    """In its body, and while its claim is on its way: no complaint, and not in flight."""

    async def work(key: str) -> None:
        async with ledger.step("work", key=key):
            await asyncio.sleep(60)

    async def main() -> None:
        inside = work("k1")
        answered = inside.send(None)  # the claim is on its way
        await asyncio.wait([answered])
        inside.send(None)  # the body sleeps
        inside.close()
        assert status(ledger) == "in_doubt"
        entering = work("k2")
        entering.send(None)
        entering.close()
        for _ in range(500):
            known = ledger.lookup("work", "k2")
            if known is not None and known.status == "aborted":
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{known}")

    asyncio.run(main())
