"""Clocks jump: order comes from numbers, and no time makes a step run, a doubt go, or an owner die."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger
from runledger.verify import verify
from tests.support.children import Child, command, ran
from tests.support.faults import patched
from tests.support.tree import records, state

JUMPING = """
import time

real, real_ns = time.time, time.time_ns
jumps = {jumps!r}
asked = 0

def shift():
    global asked
    asked += 1
    return jumps[asked // 7 % len(jumps)]

time.time = lambda: real() + shift()
time.time_ns = lambda: real_ns() + int(shift() * 1e9)
"""

YEAR = 365 * 86400.0


@pytest.mark.parametrize("jumps", [[0, YEAR], [0, -YEAR], [YEAR, 0, -YEAR, 3600, -1], [-50 * YEAR]], ids=str)
def test_a_clock_that_jumps(root: Path, tmp_path: Path, jumps: list[float]) -> None:
    """Steps, halts, compaction: everything as ever, and times that are only claims."""
    env = patched(tmp_path / "site", JUMPING.format(jumps=jumps))
    program = """
    for turn in range(3):
        with Ledger.open() as ledger:
            if turn == 0:
                ledger.start("p-1", sprints=["a"])
            for number in range(8):
                try:
                    with ledger.step("pay", key=f"{number}") as step:
                        happen(f"{number}")
                        step.result = number
                except StepCommitted:
                    pass
            ledger.heartbeat()
            ledger.halt("wait")
            ledger.resume()
            ledger.compact()
            say(ledger.status().state)
    """
    assert ran(program, root, env=env).lines == ["RUNNING"] * 3
    numbers = [record["lsn"] for record in records(root)]
    assert numbers == sorted(numbers)
    assert verify(root) == []
    with Ledger.open(root) as ledger:
        for number in range(8):
            known = ledger.lookup("pay", f"{number}")
            assert known is not None
            assert (known.status, known.result) == ("committed", number)
    assert len(state(root)["timestamps"]["last_activity"]) == len("2026-11-29T14:20:11Z")
    for words in (["status"], ["wake"], ["replay"], ["is-running"]):
        said = command(root, *words, env=env)
        assert said.code == 0, (words, said)


@pytest.mark.parametrize("jump", [50 * YEAR, -40 * YEAR])
def test_no_time_makes_an_owner_die(root: Path, tmp_path: Path, jump: float) -> None:
    """A step that another process is at work on is in flight, whatever the time is here."""
    holder = """
    with Ledger.open() as ledger, ledger.step("pay", key="a") as step:
        say("inside")
        sys.stdin.readline()
    """
    asker = """
    with Ledger.open() as ledger:
        try:
            with ledger.step("pay", key="a"):
                say("it ran")
        except LedgerError as error:
            say(error.slug)
    """
    env = patched(tmp_path / "site", JUMPING.format(jumps=[jump]))
    with Child(holder, root) as child:
        child.until("inside")
        assert ran(asker, root, env=env).lines == ["step-in-flight"]
        child.kill()
    assert ran(asker, root, env=env).lines == ["step-in-doubt"]


def test_a_lease_and_a_clock(root: Path, tmp_path: Path) -> None:
    """A lease is a time, and only that: ahead of it the step is in doubt, behind it in flight, and never committed or
    forgotten; a late commit is accepted all the same."""
    token = command(root, "begin", "pay", "--key", "a", "--lease", "15m").lines[0]
    ahead = patched(tmp_path / "ahead", JUMPING.format(jumps=[YEAR]))
    behind = patched(tmp_path / "behind", JUMPING.format(jumps=[-YEAR]))
    assert command(root, "begin", "pay", "--key", "a", env=ahead).code == 76
    assert command(root, "begin", "pay", "--key", "a", env=behind).code == 75
    assert command(root, "commit", token, "--result", "1", env=ahead).code == 0
    assert command(root, "begin", "pay", "--key", "a").code == 79


def test_a_state_file_from_the_future(root: Path) -> None:
    """Its times prove nothing: activity is written over them."""
    ran('Ledger.open().start("p-1", sprints=["a"])', root)
    path = root / ".run" / "sprint-plan-state.json"
    text = path.read_text()
    stamp = state(root)["timestamps"]["last_activity"]
    path.write_text(text.replace(stamp, "2999-01-01T00:00:00Z"))
    with Ledger.open(root) as ledger:
        ledger.begin_sprint("a")
    assert state(root)["timestamps"]["last_activity"] < "2999"
