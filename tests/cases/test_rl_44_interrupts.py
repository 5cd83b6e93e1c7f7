"""Ctrl-C anywhere: it reaches the caller, and what is on record is whole and says what is known."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.outside import Outside
from tests.support.tree import record_lines, strict

STEP = """
where = arguments[0]
sync, write = os.fdatasync, os.pwrite
commits = []

def pwrite(fd, data, offset):
    done = write(fd, data, offset)
    if b'"t":"commit"' in bytes(data):
        commits.append(1)
    return done

def slow_sync(fd):
    if commits and where == "commit":
        commits.clear()
        say("committing")
        time.sleep(0.5)
    sync(fd)

os.pwrite, os.fdatasync = pwrite, slow_sync
with Ledger.open() as ledger:
    with ledger.step("fetch", key="k1") as step:
        for turn in range(3):
            step.mark("try", turn=turn)
            try:
                if turn < 2:
                    raise ConnectionError("again")
                happen("fetched")
                if where == "effect":
                    say("in the effect")
                    time.sleep(30)
            except ConnectionError:
                if where == "back-off":
                    say("backing off")
                    time.sleep(30)
        step.result = "fetched"
say("went on")
"""

LOOK = """
report = runledger.replay(root)
for step in report.in_doubt:
    say("in doubt", step.attempt, [mark.data["turn"] for mark in step.marks], step.failure and step.failure.type)
say("committed", report.committed)
"""

REENTER = """
with Ledger.open() as ledger:
    try:
        with ledger.step("fetch", key="k1"):
            happen("again")
    except LedgerError as refusal:
        say(refusal.slug)
"""


@pytest.mark.parametrize(
    ("where", "said", "marks"), [("back-off", "backing off", [0]), ("effect", "in the effect", [0, 1, 2])]
)
def test_an_interrupt_in_the_body_leaves_one_doubt(
    root: Path, where: str, said: str, marks: list[int]
) -> None:
    """In the back-off or in the effect: one open step with its marks so far, and re-entry meets the doubt.

    https://github.com/dbos-inc/dbos-transact-py/issues/260
    """
    with Child(STEP, root, where) as child:
        child.until(said)
        child.signal(signal.SIGINT)
        ended = child.end()
    assert ended.code == -signal.SIGINT
    assert "KeyboardInterrupt" in ended.err
    assert ended.lines[-1] == said
    for _ in range(2):
        assert ran(LOOK, root).lines == [f"in doubt 1 {marks} KeyboardInterrupt", "committed 0"]
        assert ran(REENTER, root).lines == ["step-in-doubt"]
        assert command(root, "compact").code == 0
    assert Outside(root).all() == (["fetched"] if where == "effect" else [])


@pytest.mark.parametrize("times", [1, 2, 5])
def test_interrupts_during_the_commit_leave_no_half_record(root: Path, times: int) -> None:
    """Pressed again and again while the commit syncs: committed or in doubt, never half, and the caller gets it.

    https://github.com/dbos-inc/dbos-transact-py/issues/260
    """
    with Child(STEP, root, "commit") as child:
        child.until("committing")
        for _ in range(times):
            child.signal(signal.SIGINT)
        ended = child.end()
    assert ended.code == -signal.SIGINT
    assert "went on" not in ended.lines
    for line in record_lines(root):
        strict(line.decode())
    lines = ran(LOOK, root).lines
    assert lines[-1] in {"committed 0", "committed 1"}
    assert len(lines) == (2 if lines[-1] == "committed 0" else 1)
    expected = "step-in-doubt" if lines[-1] == "committed 0" else "step-committed"
    assert ran(REENTER, root).lines == [expected]
    assert Outside(root).all() == ["fetched"]
    assert command(root, "verify").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_command_that_is_interrupted_is_in_doubt(root: Path, number: int) -> None:
    """``runledger step``: the signal ends the command too, and the step is in doubt, said on the last line.

    https://github.com/dbos-inc/dbos-transact-py/issues/260
    """
    program = """
    import os, sys
    os.execv(sys.executable, [sys.executable, "-m", "runledger", "step", "fetch", "--key", "k1", "--",
        "sh", "-c", "echo started >&2; echo started > started; sleep 30"])
    """
    with Child(program, root) as child:
        while not (root / "started").exists():
            assert child.process.poll() is None
        child.signal(number)
        ended = child.end()
    assert ended.code in {128 + number, -number}
    assert ended.err.strip().endswith("outcome=in-doubt")
    report = json.loads(command(root, "replay", "--json").lines[0])
    assert [step["key"] for step in report["in_doubt"]] == ["k1"]
    assert ran(REENTER, root).lines == ["step-in-doubt"]
