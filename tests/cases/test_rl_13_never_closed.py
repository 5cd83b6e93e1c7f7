"""A run whose work is all done and that nobody closed says so; one with an open step names it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.faults import patched
from tests.support.tree import state

ALL_DONE = """
open_steps = arguments[0] == "one-open"
ledger = Ledger.open()
ledger.start("release", sprints=["s1", "s2"])
for sprint in ("s1", "s2"):
    ledger.begin_sprint(sprint)
    with ledger.step("work", key=sprint):
        pass
    ledger.complete_sprint(sprint)
if open_steps:
    ledger.step("announce", key="v1").__enter__()
say("done")
sys.stdin.readline()
"""

A_DAY_LATER = "import time\nreal = time.time\ntime.time = lambda: real() + 86400\n"


@pytest.mark.parametrize("work", ["all-done", "one-open"])
def test_a_run_that_was_never_closed_says_so(root: Path, tmp_path: Path, work: str) -> None:
    """It stays RUNNING by rule, since nobody said that it is over, and every command says what to do.

    All done: ``runledger finish``. One step open: it is named, and JACKED_OUT is refused.

    https://github.com/0xHoneyJar/loa/issues/474
    """
    with Child(ALL_DONE, root, work) as child:
        child.until("done")
        child.kill()
    tomorrow = patched(tmp_path / "tomorrow", A_DAY_LATER)
    for env in ({}, tomorrow):
        compacted = command(root, "compact", env=env)
        assert compacted.code == 0, compacted
        woken = command(root, "wake", env=env)
        told = json.loads(command(root, "status", "--json", env=env).lines[0])
        document = state(root)
        assert (document["state"], document["sprints"]["completed"], told["state"]) == (
            "RUNNING",
            2,
            "RUNNING",
        )
        if work == "all-done":
            assert woken.code == 0
            for text in (compacted.lines[1], woken.lines[1], told["reason"]):
                assert "runledger finish" in text
            assert (told["advice"], told["in_doubt"]) == ("resume", [])
        else:
            assert woken.code == 76
            assert any("announce v1" in line for line in woken.lines)
            assert [step["key"] for step in document["ledger"]["in_doubt"]] == ["v1"]
            assert [step["key"] for step in told["in_doubt"]] == ["v1"]
    finished = command(root, "finish")
    if work == "all-done":
        assert finished.code == 0
        assert state(root)["state"] == "JACKED_OUT"
    else:
        assert finished.code == 77
        assert "announce v1" in finished.err
        assert state(root)["state"] == "RUNNING"


def test_silence_alone_changes_no_state(root: Path, tmp_path: Path) -> None:
    """Seen a day later the file says how old it is; nothing is closed or halted because of that.

    https://github.com/0xHoneyJar/loa/issues/474
    """
    ran("Ledger.open().start('release', sprints=['s1'])", root)
    before = state(root)
    told = json.loads(
        command(root, "status", "--json", env=patched(tmp_path / "tomorrow", A_DAY_LATER)).lines[0]
    )
    assert told["stale"]
    assert 86_400 <= told["age_s"] < 86_500
    assert state(root) == before
