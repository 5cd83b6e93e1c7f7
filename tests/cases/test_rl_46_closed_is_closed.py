"""A run that is JACKED_OUT stays so, whatever signal, exception or stale writer comes after."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.tree import records, state, state_file

CLOSE = """
import atexit, sys
how = arguments[0]

def clean_up():
    if how == "atexit":
        raise RuntimeError("the clean-up failed")

atexit.register(clean_up)
ledger = Ledger.open()
with ledger.run("plan", sprints=["s1"]) as run:
    with ledger.step("work", key="k1"):
        pass
    run.complete_sprint("s1")
say("closed")
if how == "exit":
    sys.exit(3)
if how == "raise":
    raise SystemError("after the end")
if how != "atexit":
    sys.stdin.readline()
    time.sleep(30)
"""

CODES = {"SIGTERM": -15, "SIGINT": -2, "SIGKILL": -9, "atexit": 0, "exit": 3, "raise": 1}


@pytest.mark.parametrize("how", CODES)
def test_what_comes_after_the_end_changes_nothing(root: Path, how: str) -> None:
    """JACKED_OUT stays through the signal, the failed clean-up, and a compaction; the exit code is the work's own.

    https://github.com/PrefectHQ/prefect/issues/23025
    """
    with Child(CLOSE, root, how) as child:
        child.until("closed")
        before = state_file(root).read_bytes()
        if how.startswith("SIG"):
            child.tell("ready")
            child.signal(signal.Signals[how])
        ended = child.end()
    assert ended.code == CODES[how], ended
    if how == "atexit":
        assert "the clean-up failed" in ended.err
    assert state(root)["state"] == "JACKED_OUT"
    assert command(root, "compact").code == 0
    document = state(root)
    assert document["state"] == "JACKED_OUT"
    assert document["timestamps"] == json.loads(before)["timestamps"]
    woken = command(root, "wake")
    assert (woken.code, woken.lines[0]) == (77, "JACKED_OUT")


def close(root: Path) -> None:
    """A run that is over, in good order."""
    ran(CLOSE.replace("sys.stdin.readline()\n    time.sleep(30)", "pass"), root, "done")


def test_late_requests_are_refused(root: Path) -> None:
    """Halting, resuming, a sprint, a step, a heartbeat: each is refused with 77, and the word stays.

    https://github.com/PrefectHQ/prefect/issues/23025
    """
    close(root)
    before = state_file(root).read_bytes()
    for words in (
        ("halt", "--reason", "SIGTERM received"),
        ("resume",),
        ("finish",),
        ("abandon", "--reason", "late"),
        ("sprint", "begin", "s1"),
        ("heartbeat",),
        ("step", "work", "--key", "k2", "--", "touch", "effect"),
        ("begin", "work", "--key", "k2"),
    ):
        ended = command(root, *words)
        assert ended.code == 77, (words, ended)
    assert not (root / "effect").exists()
    assert state_file(root).read_bytes() == before


@pytest.mark.parametrize("word", ["HALTED", "RUNNING"])
@pytest.mark.parametrize("base", ["an-older-version", "no-ledger-object"])
def test_a_stale_writer_does_not_move_the_word_back(root: Path, word: str, base: str) -> None:
    """What was made from an older version, or by a tool of its own, is put on record as ignored.

    The rest of such an edit is kept. (A word set by hand in the last version is obeyed, as the contract has it.)

    https://github.com/PrefectHQ/prefect/issues/23025
    """
    assert command(root, "start", "--plan-id", "plan", "--sprint", "s1").code == 0
    document = json.loads(state_file(root).read_text("utf-8"))
    close(root)
    if base == "no-ledger-object":
        document = json.loads(state_file(root).read_text("utf-8"))
        del document["ledger"]
    stale = {**document, "state": word, "note": "by hand"}
    state_file(root).write_text(json.dumps(stale, indent=2) + "\n", "utf-8")
    assert command(root, "wake").lines[0] == "JACKED_OUT"
    assert command(root, "halt", "--reason", "late").code == 77
    (observed,) = [one for one in records(root) if one["t"] == "observed"]
    assert "JACKED_OUT" in observed["ignored"]
    assert command(root, "compact").code == 0
    after = state(root)
    assert (after["state"], after["note"]) == ("JACKED_OUT", "by hand")
    assert command(root, "is-running", "-q").code == 1
    assert after["sprints"]["completed"] == 1


def test_an_error_after_finish_inside_the_block_does_not_halt(root: Path) -> None:
    """The block's error reaches the caller with a note; the run that was finished stays finished.

    https://github.com/PrefectHQ/prefect/issues/23025
    """
    program = """
    with Ledger.open() as ledger, ledger.run("plan"):
        with ledger.step("work", key="k1"):
            pass
        ledger.finish()
        raise KeyError("clean-up")
    """
    ended = ran(program, root, code=1)
    assert "KeyError" in ended.err
    assert state(root)["state"] == "JACKED_OUT"


def test_a_late_commit_of_an_open_step_is_still_accepted(root: Path) -> None:
    """A forced end does not lose what a session reports afterwards: the fact is recorded, the word stays.

    https://github.com/PrefectHQ/prefect/issues/23025
    """
    token = command(root, "begin", "work", "--key", "k1").lines[0]
    assert command(root, "finish", "--force", "--reason", "time is up").code == 0
    assert command(root, "commit", token).code == 0
    assert state(root)["state"] == "JACKED_OUT"
    assert command(root, "show", "work", "k1").lines[0].startswith("work k1: committed")
