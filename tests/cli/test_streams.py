"""What goes to which stream, in which form, and what is loaded for it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from runledger import cli
from runledger.cli import failing, parser
from runledger.version import VERSION
from tests.cli.terminal import RUNLEDGER, Terminal


def test_the_version(runledger: Terminal) -> None:
    """On standard output, for people and for programs."""
    assert runledger("--version").text == f"runledger {VERSION}\n"
    assert runledger("--json", "--version").json == {"version": VERSION}


@pytest.mark.parametrize(
    "words", [("--help",), ("help",), ("step", "--help"), ("sprint", "-h"), ("wake", "-h")]
)
def test_help_is_a_result(runledger: Terminal, words: tuple[str, ...]) -> None:
    """Who asks for help gets it on standard output, with exit code 0."""
    said = runledger(*words)
    assert (said.code, said.err) == (0, "")
    assert said.text.startswith("usage: runledger")


def test_every_command_says_what_it_does() -> None:
    """The tree of all commands and the parser of each agree, and none lacks its help."""
    whole = parser.build_parser().format_help()
    for command in parser.commands():
        assert command.help
        assert command.name.split()[0] in whole
        with pytest.raises(SystemExit) as stop:
            parser.parse([*command.name.split(), "--help"], as_json=False)
        assert stop.value.code == 0


def test_an_error_is_a_message_and_a_hint(runledger: Terminal) -> None:
    """On standard error; standard output stays empty; what a terminal would obey is escaped."""
    said = runledger("fl\x1b[2Jy")
    assert (said.code, said.out) == (64, b"")
    assert said.err.startswith("runledger: ")
    assert "\x1b" not in said.err
    assert len(said.err.splitlines()) == 2


def test_json_is_taken_before_and_after_the_command(runledger: Terminal) -> None:
    """Both forms give the one object."""
    before, after = runledger("--json", "status"), runledger("status", "--json")
    assert before.json == after.json
    assert after.json["schema"] == "runledger.status/1"


def test_the_fields_of_status(runledger: Terminal) -> None:
    """Those that programs were promised."""
    runledger("step", "s", "--key", "a", "--", "false")
    said = runledger("status", "--json").json
    promised = (
        "schema state plan_id sprint lsn checkpoint_lsn last_activity age_s stale owner advice reason "
        "committed in_flight in_doubt last_commit"
    )
    assert set(promised.split()) <= set(said)
    step = "name key lsn attempt started owner marks failure"
    assert set(step.split()) <= set(said["in_doubt"][0])


def colours(runledger: Terminal, **environment: str) -> bool:
    """Whether ``runledger wake`` paints its word on a terminal."""
    main, side = pty.openpty()
    done = subprocess.run(
        (*RUNLEDGER, "wake"),
        cwd=runledger.at,
        env={**runledger.environment, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(side)
    said = os.read(main, 4096)
    os.close(main)
    assert done.returncode == 0
    assert b"RUNNING" in said
    return b"\x1b[" in said


def test_colour_only_on_a_terminal_that_wants_it(runledger: Terminal) -> None:
    """NO_COLOR and a dumb terminal are respected; a pipe never gets any."""
    runledger("start")
    runledger.environment.pop("NO_COLOR", None)
    assert colours(runledger)
    assert not colours(runledger, NO_COLOR="1")
    assert not colours(runledger, TERM="dumb")
    assert b"\x1b" not in runledger("wake").out


def test_a_full_disk_behind_standard_output(runledger: Terminal) -> None:
    """74, said on standard error, once."""
    said = runledger.sh("runledger status >/dev/full")
    assert said.code == 74
    assert len(said.err.splitlines()) == 1


def test_text_that_the_locale_cannot_show(runledger: Terminal) -> None:
    """It is escaped, not an error; JSON is UTF-8 whatever the locale is."""
    runledger("start", "--plan-id", "pläne")
    latin = {"PYTHONIOENCODING": "ascii"}
    assert b"pl\\xe4ne" in runledger.run(*RUNLEDGER, "status", **latin).out
    assert runledger.run(*RUNLEDGER, "status", "--json", **latin).json["plan_id"] == "pläne"


@pytest.mark.parametrize("words", [["wake"], ["status", "--json"], ["is-running", "-q"], ["heartbeat"]])
def test_what_hooks_call_loads_little(runledger: Terminal, words: list[str]) -> None:
    """These run at every turn of an agent: no parser, no event loop, no database, no logging."""
    runledger("start")
    program = (
        "import sys; from runledger.cli import main; main(sys.argv[1:]); "
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    loaded = set(runledger.run(sys.executable, "-c", program, *words).err.split())
    assert "runledger" in loaded
    heavy = {"argparse", "asyncio", "sqlite3", "structlog", "portalocker", "logging", "json", "subprocess"}
    assert loaded & heavy == set()


def test_what_nobody_thought_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A defect is a message and 70; its traceback comes only where it is asked for."""

    def broken(words: list[str], *, as_json: bool, alone: bool) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(cli, "_run", broken)
    monkeypatch.delenv("RUNLEDGER_DEBUG", raising=False)
    assert cli.main(["status"]) == failing.DEFECT
    said = capsys.readouterr().err
    assert "ZeroDivisionError: oh" in said
    assert "Traceback" not in said
    monkeypatch.setenv("RUNLEDGER_DEBUG", "1")
    assert cli.main(["--json", "status"]) == failing.DEFECT
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert json.loads(said.splitlines()[-1])["error"]["slug"] == "defect"
