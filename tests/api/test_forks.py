"""Forked and spawned children: nobody owns a parent's steps, and nobody outlives its parent's proof of life."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import replay
from tests.support.children import Child, ran
from tests.support.outside import Outside

EVERY_CALL = """
def refused(call):
    try:
        call()
    except ForkedHandle:
        return True
    return False

def enter(use):
    with use:
        happen("unrecorded")

ledger = Ledger.open()
done = ledger.step("done", key="k")(lambda: 7)
done()
with ledger.step("work", key="k1") as step:
    pid = os.fork()
    if pid == 0:
        calls = [
            lambda: enter(ledger.step("work", key="k2")),
            lambda: enter(ledger.step("done", key="k")),
            done,
            lambda: step.mark("here"),
            lambda: ledger.lookup("work", "k1"),
            ledger.replay, ledger.status, ledger.compact, ledger.heartbeat,
            lambda: ledger.resolve("work", "k1", Happened(), reason="r"),
            lambda: ledger.halt("stop"),
        ]
        say([refused(call) for call in calls].count(True), len(calls))
        ledger.close()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    say([one.key for one in runledger.replay(root).in_flight])
with ledger.step("after", key="k"):
    pass
ledger.close()
say(runledger.replay(root).committed)
"""


def test_every_call_of_a_forked_child_is_refused(root: Path) -> None:
    """Its close is harmless too: the parent's step stays in flight, and the parent goes on."""
    count, keys, committed = ran(EVERY_CALL, root).lines
    refused, of = count.split()
    assert refused == of
    assert (keys, committed) == ("['k1']", "3")
    assert Outside(root).all() == []


def test_a_body_that_ends_in_a_forked_child_as_well(root: Path) -> None:
    """Only the parent's end is recorded: a child that falls out of the block records nothing."""
    program = """
    ledger = Ledger.open()
    try:
        with ledger.step("work", key="k1") as step:
            pid = os.fork()
            step.result = "child" if pid == 0 else "parent"
    except ForkedHandle:
        os._exit(7)
    say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), ledger.lookup("work", "k1").result)
    ledger.close()
    """
    assert ran(program, root).lines == ["7 parent"]


def test_a_child_that_lives_on_is_no_proof_of_its_parent_s_life(root: Path) -> None:
    """The parent is killed, its forked child is not: the step is in doubt all the same."""
    program = """
    ledger = Ledger.open()
    with ledger.step("work", key="k1"):
        pid = os.fork()
        if pid == 0:
            sys.stdin.readline()
            os._exit(0)
        say(pid)
        time.sleep(60)
    """
    with Child(program, root) as child:
        pid = int(child.line())
        child.process.kill()
        child.process.wait(30)
        (step,) = replay(root).in_doubt
        assert (step.owner.pid, step.owner.alive) == (child.pid, False)
        assert Path(f"/proc/{pid}").exists() or not Path("/proc/self").exists()
        child.tell("go")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(root: Path, method: str) -> None:
    """Workers that open their own handle share one ledger; each effect happens once."""
    worker = """
from runledger import Ledger, StepInFlight
from tests.support.outside import Outside
from pathlib import Path
import sys, time

def work(root, keys):
    with Ledger.open(root) as ledger:
        for key in keys:
            try:
                with ledger.skip_committed(), ledger.step("work", key=key):
                    Outside(Path(root)).happen(key)
            except StepInFlight:
                pass
"""
    (root / "worker_of_this_test.py").write_text(worker, "utf-8")
    program = """
    import multiprocessing
    sys.path.insert(0, str(root))
    import worker_of_this_test
    context = multiprocessing.get_context(arguments[0])
    ledger = Ledger.open()
    with ledger.step("parent", key="p"):
        keys = [str(n) for n in range(10)]
        workers = [context.Process(target=worker_of_this_test.work, args=(str(root), keys)) for _ in range(2)]
        for one in workers: one.start()
        for one in workers: one.join()
        say([one.exitcode for one in workers])
    ledger.close()
    """
    assert ran(program, root, method, cold=method == "spawn").lines == ["[0, 0]"]
    assert sorted(Outside(root).all()) == sorted(str(n) for n in range(10))
    assert replay(root).committed == 11
