"""JACKED_OUT does not happen by accident: not to a run that did nothing, failed, or is in doubt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.children import command, ran
from tests.support.tree import state, state_file

OLD = {
    "plan_id": "old-plan",
    "state": "HALTED",
    "timestamps": {"started": "2026-01-02T03:04:05Z", "last_activity": "2026-01-02T04:00:00Z"},
    "sprints": {"total": 1, "completed": 0, "current": "s1", "list": [{"id": "s1", "status": "in_progress"}]},
    "failure": {"sprint": "s1", "reason": "tests failed", "timestamp": "2026-01-02T04:00:00Z"},
}

CLOSES = {
    "nothing": """
        with ledger.run("plan"):
            pass
    """,
    "every-step-raised": """
        with ledger.run("plan"):
            for key in ("k1", "k2"):
                try:
                    with ledger.step("work", key=key):
                        raise ValueError("no")
                except ValueError:
                    pass
    """,
    "last-unresolved": """
        with ledger.run("plan"):
            with ledger.step("work", key="k1"):
                pass
            try:
                with ledger.step("work", key="k2"):
                    raise ValueError("no")
            except ValueError:
                pass
    """,
    "sprint-left": """
        with ledger.run("plan", sprints=["s1", "s2"]):
            with ledger.step("work", key="k1"):
                pass
            ledger.complete_sprint("s1")
    """,
}
NAMED = {
    "nothing": ["nothing was committed"],
    "every-step-raised": ["work k1", "work k2"],
    "last-unresolved": ["work k2"],
    "sprint-left": ["s2"],
}


@pytest.mark.parametrize("how", CLOSES)
def test_a_clean_end_of_an_undone_run_is_refused(root: Path, how: str) -> None:
    """The error names what is undone, and after a compaction the run is still RUNNING.

    (The case asks for HALTED; the contract: a clean end that ``finish`` refuses raises and stays RUNNING.)

    https://github.com/0xHoneyJar/loa/issues/1174
    """
    ended = ran(f"with Ledger.open() as ledger:\n{CLOSES[how]}", root, code=1)
    assert "FinishRefused" in ended.err
    for name in NAMED[how]:
        assert name in ended.err
    assert command(root, "compact").code == 0
    document = state(root)
    assert document["state"] == "RUNNING"
    doubted = [f"{step['name']} {step['key']}" for step in document["ledger"]["in_doubt"]]
    assert doubted == [name for name in NAMED[how] if name.startswith("work")]
    refused = command(root, "finish")
    assert refused.code == 77
    for name in NAMED[how]:
        assert name in refused.err


def test_an_escaping_error_halts_the_run_and_names_the_step(root: Path) -> None:
    """The state file says HALTED, why, and which step is in doubt; a compaction changes nothing of it.

    https://github.com/0xHoneyJar/loa/issues/1174
    """
    program = """
    with Ledger.open() as ledger, ledger.run("plan"):
        with ledger.step("work", key="k1"):
            raise ValueError("no")
    """
    assert "ValueError" in ran(program, root, code=1).err
    for _ in range(2):
        document = state(root)
        assert document["state"] == "HALTED"
        assert document["failure"]["reason"] == "ValueError: no"
        assert [step["key"] for step in document["ledger"]["in_doubt"]] == ["k1"]
        assert command(root, "compact").code == 0
    woken = command(root, "wake")
    assert (woken.code, woken.lines[0]) == (77, "HALTED")
    assert any("work k1" in line for line in woken.lines)


def test_a_forced_end_of_nothing_says_so(root: Path) -> None:
    """A run that did nothing can be ended, with a reason that stays on record.

    https://github.com/0xHoneyJar/loa/issues/1174
    """
    ran(CLOSES["nothing"].replace("with ledger", "with Ledger.open() as ledger, ledger", 1), root, code=1)
    assert command(root, "finish", "--force").code == 64
    assert command(root, "finish", "--force", "--reason", "nothing was to be done").code == 0
    assert state(root)["state"] == "JACKED_OUT"
    logged = [json.loads(line) for line in command(root, "log", "--json").lines]
    assert [one["reason"] for one in logged if one["t"] == "finished"] == ["nothing was to be done"]


START = """
with Ledger.open() as ledger:
    try:
        with ledger.run("new-plan"):
            with ledger.step("work", key="k1"):
                happen("work")
    except LedgerError as refusal:
        say(refusal.slug)
    try:
        with ledger.step("work", key="k1"):
            happen("work")
    except LedgerError as refusal:
        say(refusal.slug)
"""


def test_a_halted_file_of_an_older_run_is_neither_inherited_nor_overwritten(root: Path) -> None:
    """Without a journal it refuses everything, byte for byte as it was, until it is adopted, halted.

    https://github.com/0xHoneyJar/loa/issues/1174
    """
    state_file(root).parent.mkdir()
    text = json.dumps(OLD, indent=2) + "\n"
    state_file(root).write_text(text, "utf-8")
    assert ran(START, root).lines == ["run-halted", "run-halted"]
    assert command(root, "start", "--plan-id", "new-plan").code == 77
    command(root, "compact")
    assert state_file(root).read_text("utf-8") == text
    assert command(root, "adopt").code == 0
    assert state(root)["state"] == "HALTED"
    assert ran(START, root).lines == ["run-move-refused", "run-halted"]
    assert command(root, "abandon", "--reason", "an older plan").code == 0
    assert ran(START, root).lines == ["run-finished"]
    assert state(root) | {"ledger": None} == state(root) | {"ledger": None, "plan_id": "new-plan"}


def test_a_halted_run_of_our_own_is_not_started_over(root: Path) -> None:
    """It is resumed, or abandoned with a reason; starting another over it is refused.

    https://github.com/0xHoneyJar/loa/issues/1174
    """
    assert command(root, "start", "--plan-id", "old-plan").code == 0
    assert command(root, "halt", "--reason", "tests failed").code == 0
    assert ran(START, root).lines == ["run-move-refused", "run-halted"]
    assert command(root, "start", "--plan-id", "new-plan").code == 77
    assert (state(root)["plan_id"], state(root)["state"]) == ("old-plan", "HALTED")
