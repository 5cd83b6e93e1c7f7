"""The moves of a run, and the three words for whoever wakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

STATE_FILES = Path(__file__).parents[1] / "data" / "state-files"


def test_a_run_from_start_to_finish(runledger: Terminal) -> None:
    """Each move says where the run stands, and ``wake`` what to do."""
    assert runledger("start", "--plan-id", "p", "--sprint", "s1", "--sprint", "s2").text.startswith("RUNNING")
    woken = runledger("wake")
    assert (woken.code, woken.text) == (0, "RUNNING\nresume s1 now, do not ask\n")
    assert runledger("sprint", "begin", "s1").code == 0
    runledger("step", "work", "--key", "a", "--", "true")
    assert runledger("finish").code == 77
    assert runledger("sprint", "complete", "s1").code == 0
    begun = runledger("sprint", "begin", "s2", "--json").json
    assert (begun["sprint"], begun["sprints"]["completed"], begun["sprints"]["total"]) == ("s2", 1, 2)
    assert runledger("sprint", "complete", "s2").code == 0
    assert "runledger finish" in runledger("compact").text
    assert runledger("finish", "--json").json["state"] == "JACKED_OUT"
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (77, "JACKED_OUT")
    assert runledger("is-running", "-q").code == 1


def test_halt_and_resume(runledger: Terminal) -> None:
    """The reason is said until somebody resumes explicitly."""
    runledger("start", "--plan-id", "p")
    assert runledger("is-running", "-q").code == 0
    assert runledger("halt", "--reason", "the wall\x1b[31m").code == 0
    woken = runledger("wake")
    assert woken.code == 77
    word, action = woken.text.splitlines()
    assert word == "HALTED"
    assert "explicit resume" in action
    assert "the wall\\x1b[31m" in action
    assert runledger("is-running").text.startswith("no: HALTED")
    assert runledger("heartbeat").code == 77
    assert runledger("resume", "--by", "me").code == 0
    assert runledger("resume").code == 77
    assert runledger("wake").code == 0


def test_moves_that_need_a_reason(runledger: Terminal) -> None:
    """Without one nothing moves."""
    runledger("start")
    for words in (("halt",), ("halt", "--reason", " "), ("abandon",), ("finish", "--force")):
        assert runledger(*words).code == 64
    assert runledger("abandon", "--reason", "wrong plan").text.startswith("JACKED_OUT")


def test_start_over_a_run_is_refused(runledger: Terminal) -> None:
    """A run that is RUNNING or HALTED is resumed or abandoned, never started over."""
    runledger("start", "--plan-id", "p")
    said = runledger("start", "--plan-id", "q", "--json")
    assert (said.code, said.out) == (77, b"")
    assert json.loads(said.last)["error"]["slug"] == "run-move-refused"


@pytest.mark.parametrize(
    "words", [("sprint", "begin", "../x"), ("sprint", "begin", "s9"), ("sprint", "begin")]
)
def test_a_sprint_that_the_plan_does_not_have(runledger: Terminal, words: tuple[str, ...]) -> None:
    """64, and the plan's sprints are told."""
    runledger("start", "--sprint", "s1")
    assert runledger(*words).code == 64


def test_nothing_here(runledger: Terminal) -> None:
    """ABSENT, 78, and no command that only looks makes anything."""
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (78, "ABSENT")
    assert runledger("status", "--json").json["state"] == "ABSENT"
    for words in (("status",), ("replay",), ("verify",), ("log",), ("show", "a", "b"), ("compact",)):
        assert runledger(*words).code == 78
    for words in (("heartbeat",), ("halt", "--reason", "x"), ("commit", "rl1-1-3f9a0c5d7e21"), ("adopt",)):
        assert runledger(*words).code in {77, 78}
    assert runledger("is-running").code == 1
    assert list(runledger.at.iterdir()) == []


def test_adopting_a_running_file(runledger: Terminal) -> None:
    """Somebody else's RUNNING is not ours to resume, until it is adopted."""
    (runledger.at / ".run").mkdir()
    shutil.copy(STATE_FILES / "10-plain-2-running.json", runledger.at / ".run" / "sprint-plan-state.json")
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (78, "RUNNING")
    assert "runledger adopt" in woken.text.splitlines()[1]
    assert runledger("status", "--json").json["advice"] == "adopt"
    assert runledger("is-running", "-q").code == 1
    assert runledger("step", "s", "--key", "a", "--", "touch", "ran").code == 78
    assert not (runledger.at / "ran").exists()
    adopted = runledger("adopt")
    assert adopted.code == 0
    assert adopted.text.startswith("RUNNING")
    assert runledger("wake").code == 0


def test_the_notes_of_an_adoption(runledger: Terminal) -> None:
    """What was odd in the file is told."""
    (runledger.at / ".run").mkdir()
    text = '{"state": "READY_FOR_HITL", "plan_id": "p"}\n'
    (runledger.at / ".run" / "sprint-plan-state.json").write_text(text)
    said = runledger("adopt", "--json").json
    assert said["state"] == "HALTED"
    assert any("READY_FOR_HITL" in note for note in said["notes"])


@pytest.mark.parametrize("text", ["", "{", '{"state": "running"}', "[]"])
def test_a_state_file_that_cannot_be_used(runledger: Terminal, text: str) -> None:
    """INVALID, 78: no action, loud."""
    (runledger.at / ".run").mkdir()
    (runledger.at / ".run" / "sprint-plan-state.json").write_text(text)
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (78, "INVALID")
    assert runledger("wake", "--json").json["word"] == "INVALID"
    assert runledger("status", "--json").json["state"] == "INVALID"
    assert runledger("step", "s", "--key", "a", "--", "touch", "ran").code == 78
    assert not (runledger.at / "ran").exists()


def test_doubt_comes_before_going_on(runledger: Terminal) -> None:
    """76, and the printed line settles it."""
    runledger("step", "s", "--key", "it's", "--", "false")
    woken = runledger("wake")
    assert woken.code == 76
    word, action, listed, *lines = woken.text.splitlines()
    assert word == "RUNNING"
    assert "in doubt" in action
    assert listed.startswith("in doubt: s it's ")
    assert runledger.sh(next(line for line in lines if "--happened" in line).strip()).code == 0
    assert runledger("wake").code == 0
    assert runledger("step", "s", "--key", "it's", "--", "touch", "ran").last.endswith("repeated")


def test_another_branch_is_not_ours_to_resume(runledger: Terminal) -> None:
    """77, and the branch is named."""
    runledger("start", "--branch", "feature")
    (runledger.at / ".git").mkdir()
    (runledger.at / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (77, "RUNNING")
    assert "feature" in woken.text
    assert "resume the run" not in woken.text


def test_heartbeat_says_nothing(runledger: Terminal) -> None:
    """It moves ``last_activity`` and is quiet about it."""
    runledger("start")
    said = runledger("heartbeat")
    assert (said.code, said.out, said.err) == (0, b"", "")
    assert runledger("heartbeat", "--json").json["last_activity"]
