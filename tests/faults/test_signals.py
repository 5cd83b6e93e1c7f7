"""Signals: whatever ends or stops a process, its step is in doubt or goes on, never committed and never forgotten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runledger import Ledger, LedgerBusy, StepInDoubt, StepInFlight
from runledger.options import Options
from runledger.verify import verify
from tests.support.children import Child, environment, ran, stopped
from tests.support.outside import Outside
from tests.support.tree import state

IN_A_STEP = """
with Ledger.open() as ledger:
    with ledger.step("pay", key="before") as step:
        step.result = 1
    try:
        with ledger.step("pay", key="a") as step:
            happen("a")
            say("inside")
            time.sleep(60)
    except BaseException as error:
        say(type(error).__name__)
        raise
"""


def status_of(root: Path, key: str) -> str:
    """What a new handle knows of a step."""
    with Ledger.open(root) as ledger:
        known = ledger.lookup("pay", key)
        return known.status if known is not None else "unknown"


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name
)
def test_a_signal_inside_a_step(root: Path, number: signal.Signals) -> None:
    """It is in doubt; nobody runs it again by himself."""
    with Child(IN_A_STEP, root) as child:
        child.until("inside")
        child.signal(number)
        ended = child.end()
    assert ended.code in {-number, 1, 130}, ended
    assert status_of(root, "before") == "committed"
    with Ledger.open(root) as ledger, pytest.raises(StepInDoubt) as doubt, ledger.step("pay", key="a"):
        raise AssertionError("it ran")
    if number == signal.SIGINT:
        assert ended.lines[-1] == "KeyboardInterrupt"
        assert doubt.value.step.failure.type == "KeyboardInterrupt"
    assert Outside(root).all() == ["a"]
    assert verify(root) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda n: n.name)
def test_a_signal_to_the_command(root: Path, number: signal.Signals) -> None:
    """`runledger step` that is ended while its command runs: in doubt, and said so where it can be."""
    words = ["step", "pay", "--key", "a", "--", "sh", "-c", "echo $$; exec sleep 60"]
    process = subprocess.Popen(
        [sys.executable, "-m", "runledger", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=root,
        env=environment(root, None),
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    effect = int(process.stdout.readline())
    process.send_signal(number)
    if number == signal.SIGKILL:
        os.kill(effect, signal.SIGKILL)  # the command is left behind: nobody could tell it
    _, err = process.communicate(timeout=60)
    assert process.returncode in {-number, 128 + number}
    assert number == signal.SIGKILL or err.splitlines()[-1] == "runledger: outcome=in-doubt"
    assert status_of(root, "a") == "in_doubt"
    assert verify(root) == []


def test_a_stopped_holder_is_alive(root: Path) -> None:
    """SIGSTOP proves no death: its step stays in flight, and goes on after SIGCONT as if nothing had been."""
    program = IN_A_STEP.replace("time.sleep(60)", 'sys.stdin.readline(); step.result = "late"')
    with Child(program, root) as child:
        child.until("inside")
        with stopped(child), Ledger.open(root) as ledger:
            with pytest.raises(StepInFlight, match="stopped"), ledger.step("pay", key="a"):
                raise AssertionError("it ran")
            with ledger.step("pay", key="other") as step:
                step.result = 1
        child.tell("go on")
        ended = child.end()
    assert ended.code == 0, ended
    assert status_of(root, "a") == "committed"
    assert verify(root) == []


def test_a_stopped_holder_of_the_append_lock(root: Path) -> None:
    """Others are told within the time that they set, record nothing, and go on once it goes on or dies."""
    program = """
    from runledger.local.ordered import Ordered
    ledger = Ledger.open()
    with ledger.step("pay", key="a") as step:
        step.result = 1
    with ledger.store.sequencer.io, Ordered(ledger.store.sequencer):
        say("holding")
        sys.stdin.readline()
    ledger.close()
    """
    with Child(program, root) as child:
        child.until("holding")
        with stopped(child), Ledger.open(root, options=Options(lock_timeout=0.3)) as ledger:
            began = time.monotonic()
            with pytest.raises(LedgerBusy, match="append lock"), ledger.step("pay", key="b"):
                raise AssertionError("it ran")
            assert time.monotonic() - began < 20
            child.signal(signal.SIGKILL)
            child.signal(signal.SIGCONT)
            child.process.wait()
            with ledger.step("pay", key="b") as step:
                step.result = 2
    assert status_of(root, "b") == "committed"
    assert verify(root) == []


def test_kills_one_after_another(root: Path) -> None:
    """A loop that is killed at any moment and started again: each step once, or in doubt, and the state file whole."""
    program = """
    while True:
        with Ledger.open() as ledger:
            if ledger.status().state == "ABSENT":
                ledger.start("p-1", sprints=["a"])
            for number in range(1000):
                try:
                    with ledger.step("pay", key=f"{number}") as step:
                        happen(f"{number}")
                        step.result = number
                    say(number)
                except StepCommitted as done:
                    assert done.result == number
                except StepInDoubt:
                    happened = Outside(root).count(f"{number}") > 0
                    outcome = Happened(number) if happened else NOT_HAPPENED
                    ledger.resolve("pay", f"{number}", outcome, reason="looked")
                if number % 25 == 24:
                    ledger.compact()
    """
    said: list[str] = []
    for turn in range(6):
        with Child(program, root) as child:
            for _ in range(turn * 3 + 1):
                child.line()
            ended = child.kill()
        said += ended.lines
        if (root / ".run" / "sprint-plan-state.json").exists():
            assert state(root)["state"] == "RUNNING"
        assert verify(root) == []
    assert Outside(root).repeated() == []
    with Ledger.open(root) as ledger:
        for number in said:
            known = ledger.lookup("pay", number)
            assert known is not None
            assert (known.status, known.result) == ("committed", int(number))


def test_an_interrupt_while_it_is_recorded(root: Path) -> None:
    """Ctrl-C again and again: what was told committed is, what happened is never unknown."""
    program = """
    import _thread, random, threading
    stop = threading.Event()
    def interrupt():
        rng = random.Random(7)
        while not stop.wait(rng.random() * 0.004):
            _thread.interrupt_main()
    thread = threading.Thread(target=interrupt)
    done = 0
    ledger = Ledger.open()
    thread.start()
    number = 0
    while done < 40 and number < 4000:
        number += 1
        try:
            with ledger.step("pay", key=f"{number}") as step:
                happen(f"{number}")
                step.result = number
            say(number)
            done += 1
        except (KeyboardInterrupt, LedgerError):
            pass
    while True:
        try:
            stop.set()
            thread.join()
            break
        except KeyboardInterrupt:
            pass
    try:
        ledger.close()
    except KeyboardInterrupt:
        ledger.close()
    """
    ended = ran(program, root, code=None)
    assert "Traceback" not in ended.err or "KeyboardInterrupt" in ended.err, ended.err
    assert Outside(root).repeated() == []
    with Ledger.open(root) as ledger:
        for number in ended.lines:
            known = ledger.lookup("pay", number)
            assert known is not None
            assert known.status == "committed"
        for number in Outside(root).all():
            assert ledger.lookup("pay", number) is not None
    assert verify(root) == []
