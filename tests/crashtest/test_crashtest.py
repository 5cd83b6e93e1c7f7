"""Real programs, really killed; the page in the how-to has the naive one and the one with a probe."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runledger.crashtest import advice
from runledger.crashtest.command import crashtest
from runledger.errors import UsageError

NOTED_AFTERWARDS = """
from runledger import Ledger

with Ledger.open() as ledger:
    if ledger.lookup("noted", "ada") is None:
        with open("sent.log", "a") as outside:
            print("ada", file=outside)
        with ledger.step("noted", key="ada"):
            pass
"""

ELSEWHERE = """
import sys
from runledger import Ledger

with Ledger.open(sys.argv[1]) as ledger, ledger.step("send", key="ada"):
    pass
"""

KEYS = """
import os
from runledger import Ledger

with Ledger.open() as ledger:
    with ledger.skip_committed(), ledger.step("first", key="x"):
        pass
    with ledger.skip_committed(), ledger.step("send", key=str({keys})):
        pass
    ledger.compact()
"""

SHELL = """
{python} -m runledger step push --key v1 -- sh -c 'echo v1 >> pushed.log'
"""


@pytest.fixture(autouse=True)
def _here(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)


def test_a_note_after_the_fact_is_found_out(root: Path) -> None:
    """The effect comes before the intent: a kill between them repeats it, and no step knows."""
    (root / "noted.py").write_text(NOTED_AFTERWARDS)
    tested = crashtest([sys.executable, "noted.py"], count="cat sent.log", runs=1)
    assert [(f.kind, f.change, f.kills) for f in tested.findings] == [
        ("ran_twice", advice.OUTSIDE, ["before intent of noted ada"])
    ]
    assert sorted(path.name for path in root.iterdir()) == ["noted.py"]


@pytest.mark.parametrize(("keys", "code"), [("os.getpid()", 1), ("1", 0)])
def test_the_exit_code_is_0_only_when_nothing_ran_twice_silently(root: Path, keys: str, code: int) -> None:
    """A key made from a process id is another after the restart; the ledger alone shows that, no count is needed."""
    (root / "keys.py").write_text(KEYS.format(keys=keys))
    words = ["crashtest", "--json", "--runs", "2", "--", sys.executable, "keys.py"]
    ended = subprocess.run([sys.executable, "-m", "runledger", *words], check=False, capture_output=True)
    said = json.loads(ended.stdout)
    assert (ended.returncode, said["ok"], said["schema"]) == (code, code == 0, "runledger.crashtest/1")
    assert [finding["change"] for finding in said["findings"]] == [advice.STABLE_KEY][:code]


def test_steps_of_a_shell_script_are_killed_with_their_shell(root: Path) -> None:
    """Every process is watched; a step without a probe ends in doubt, and that is no violation."""
    (root / "push.sh").write_text(SHELL.format(python=sys.executable))
    tested = crashtest(["sh", "push.sh"], count="wc -l < pushed.log", runs=2)
    assert tested.boundaries == 4
    assert [(str(t.boundary), t.ended) for t in tested.trials] == [
        ("before intent of push v1", "done"),
        ("before commit of push v1", "in doubt"),
    ]
    assert [(f.kind, f.violation, f.change) for f in tested.findings] == [("in_doubt", False, advice.PROBE)]


def test_a_ledger_outside_of_the_copy_is_never_touched(root: Path, tmp_path: Path) -> None:
    """The program is stopped before it writes there."""
    (root / "elsewhere.py").write_text(ELSEWHERE)
    real = tmp_path / "real"
    real.mkdir()
    with pytest.raises(UsageError, match="outside of its copy"):
        crashtest([sys.executable, "elsewhere.py", str(real)])
    assert list(real.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "reason"), [("raise SystemExit(3)", "exit 3"), ("pass", "no step was seen")]
)
def test_a_program_that_cannot_be_tested_is_refused(program: str, reason: str) -> None:
    """It must end well by itself, and use a ledger."""
    with pytest.raises(UsageError, match=reason):
        crashtest([sys.executable, "-c", program])
