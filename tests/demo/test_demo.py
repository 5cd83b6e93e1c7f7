"""The demo end to end: a person's screen, a program's counts, and a verdict from outside."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runledger.demo import main
from runledger.demo.acts import ACTS, Kill
from runledger.demo.story import Story, plain

VERDICT = "duplicates 0 · lost 0 · JACKED_OUT"
KILLS = sum(isinstance(act, Kill) for act in ACTS)


def played(**options: bool) -> tuple[int, str]:
    out = io.StringIO()
    return main(out=out, **options), out.getvalue()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo makes its scratch directory."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_the_story_fits_a_screen_and_ends_with_the_verdict(scratch: Path) -> None:
    """About forty lines, no escape sequence where nobody looks, nothing left behind."""
    code, text = played()
    lines = text.splitlines()
    assert (code, lines[-1]) == (0, VERDICT)
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120
    assert "\x1b" not in text
    assert list(scratch.iterdir()) == []


@pytest.mark.usefixtures("scratch")
def test_json_has_every_count() -> None:
    """Each planned effect is there once; each kill left a doubt, and each doubt was settled."""
    code, text = played(as_json=True)
    report: dict[str, Any] = json.loads(text)
    assert code == 0
    assert report["schema"] == "runledger.demo/1"
    assert (report["duplicates"], report["lost"], report["state"]) == (0, 0, "JACKED_OUT")
    assert all(count["there"] == count["planned"] for count in report["effects"].values())
    assert report["kills"]["worker"] == KILLS
    assert report["kills"]["compaction"] >= 1
    assert report["doubts"] == KILLS
    assert report["settled"] == {"probe": 4, "resolve": 2}
    assert report["committed"] == sum(count["planned"] for count in report["effects"].values())


@pytest.mark.usefixtures("scratch")
def test_without_the_ledger_the_same_kills_repeat_effects() -> None:
    """Each kill after an effect is at least one duplicate, seen from outside."""
    code, text = played(without_ledger=True, as_json=True)
    report = json.loads(text)
    assert (code, report["state"], report["kills"]["worker"]) == (0, None, KILLS)
    assert report["duplicates"] >= sum(isinstance(act, Kill) and act.side == "after" for act in ACTS)


@pytest.mark.usefixtures("scratch")
def test_the_last_line_without_the_ledger() -> None:
    """It says how many duplicates there were, and that there was no ledger."""
    code, text = played(without_ledger=True)
    assert code == 0
    duplicates, lost, word = text.splitlines()[-1].split(" · ")
    assert int(duplicates.removeprefix("duplicates ")) > 0
    assert (lost, word) == ("lost 0", "no ledger")


def test_keep_leaves_the_scratch_directory_and_says_where(
    scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The state file in it says the word."""
    code, text = played(keep=True, as_json=True)
    (kept,) = scratch.iterdir()
    assert (code, json.loads(text)["scratch"]) == (0, str(kept))
    assert str(kept) in capsys.readouterr().err
    assert (
        json.loads((kept / "tree" / ".run" / "sprint-plan-state.json").read_bytes())["state"] == "JACKED_OUT"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_leave_nothing_behind(scratch: Path, number: signal.Signals) -> None:
    """Interrupted in the middle of an act: no process of it is left, and no file."""
    program = "import sys; from runledger.demo import main; main(without_ledger=True, out=sys.stdout)"
    demo = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"TMPDIR": str(scratch), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with demo:
        assert demo.stdout is not None
        while "SIGKILL" not in (line := demo.stdout.readline()):
            assert line
        demo.send_signal(number)
        demo.wait(timeout=20)
    assert demo.returncode != 0
    assert list(scratch.iterdir()) == []
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(scratch) not in commands


def test_no_git_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine without git: exit 1, and what is missing."""
    monkeypatch.setenv("PATH", "")
    assert played() == (1, "")
    assert capsys.readouterr().err == "runledger demo: needs git, and SIGKILL as POSIX has it\n"


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_a_terminal_that_wants_it(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    coloured: bool,  # noqa: FBT001  # a parameter of pytest
) -> None:
    """NO_COLOR and a dumb terminal are respected."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    Story(terminal).verdict("done", good=True)
    assert ("\x1b[" in terminal.getvalue()) is coloured


def test_control_characters_are_shown_and_not_obeyed() -> None:
    """A name from outside cannot paint the screen."""
    assert plain("a\x1b[31mb\nc") == r"a\x1b[31mb\nc"
