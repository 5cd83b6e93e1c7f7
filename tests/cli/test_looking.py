"""What the commands that only look say of files that others changed, spoiled or removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def state(runledger: Terminal) -> Path:
    """The state file of a run with one committed step."""
    runledger("start", "--plan-id", "p")
    runledger("step", "s", "--key", "a", "--", "true")
    return runledger.at / ".run" / "sprint-plan-state.json"


def test_a_state_file_that_cannot_be_read(runledger: Terminal, state: Path) -> None:
    """Somebody meant to say something: nobody is told to go on until it is set right or kept aside."""
    state.write_text('{"plan_id": "p", "sta', "utf-8")
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (78, "INVALID")
    assert runledger("status", "--json").json["state"] == "INVALID"
    assert runledger("is-running", "-q").code == 1
    assert runledger("step", "s", "--key", "b", "--", "true").code == 0
    assert state.with_name(f"{state.name}.rejected-1").read_text("utf-8") == '{"plan_id": "p", "sta'
    assert runledger("wake").code == 0


def test_a_history_that_is_gone(runledger: Terminal, state: Path) -> None:
    """No step may run, so nobody is told to go on, and the way out is named."""
    runledger("compact")
    assert runledger("wake").code == 0
    (state.parent / "ledger" / "history.db").unlink()
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (78, "INVALID")
    refused = runledger("step", "s", "--key", "a", "--", "touch", "again")
    assert refused.code == 78
    assert "runledger repair" in refused.err
    assert not (runledger.at / "again").exists()


def test_an_edit_that_sets_the_time_back(runledger: Terminal, state: Path) -> None:
    """Neither size nor time tells of it, and a halt by hand is obeyed all the same."""
    assert runledger("wake").code == 0
    before = state.stat()
    with state.open("r+", encoding="utf-8") as file:
        text = file.read().replace('"RUNNING",', '"HALTED", ')
        file.seek(0)
        file.write(text)
    os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert state.stat().st_size == before.st_size
    assert runledger("wake").code == 77
    assert runledger("step", "s", "--key", "b", "--", "true").code == 77


def test_an_edit_leaves_what_the_file_covers(runledger: Terminal, state: Path) -> None:
    """The checkpoint that it carries is still the one that it carries."""
    covered = runledger("status", "--json").json["checkpoint_lsn"]
    with state.open("a", encoding="utf-8") as file:
        file.write("\n")
    assert covered > 0
    assert runledger("status", "--json").json["checkpoint_lsn"] == covered


def test_files_that_only_look_like_ours_stay(runledger: Terminal, state: Path) -> None:
    """Of temporary files only those go that a killed writer of ours left."""
    kept = state.with_name(f".{state.name}.backup.tmp")
    left = state.with_name(f".{state.name}.12345.0123456789ab.tmp")
    for file in (kept, left):
        file.write_text("mine", "utf-8")
        os.utime(file, (1, 1))
    runledger("halt", "--reason", "enough")
    assert (kept.exists(), left.exists()) == (True, False)


def test_a_second_halt_with_another_reason(runledger: Terminal, state: Path) -> None:
    """The later word is on record too; the same one again is not."""
    for reason in ("one", "two", "two"):
        assert runledger("halt", "--reason", reason).code == 0
    assert "two" in runledger("wake").text
    assert state.read_text("utf-8").count("two") == 1
    halts = [line for line in runledger("log").text.splitlines() if " halted" in line]
    assert len(halts) == 2


def test_a_value_that_begins_with_a_dash(runledger: Terminal, state: Path) -> None:
    """The refusal says how to write it."""
    refused = runledger("halt", "--reason", "-x")
    assert refused.code == 64
    assert "--reason=VALUE" in refused.err
    assert runledger("halt", "--reason=-x").code == 0
