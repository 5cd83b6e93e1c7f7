"""Every row of the table of exit codes, each from a directory of its own."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.terminal import Terminal

Given = Callable[[Terminal], object]


def nothing(runledger: Terminal) -> None:
    """An empty directory."""


def running(runledger: Terminal) -> None:
    """A run with one step committed and one begun."""
    runledger("start", "--plan-id", "p")
    runledger("step", "s", "--key", "a", "--inputs", "v1", "--", "true")
    runledger("begin", "held", "--key", "a")


def doubtful(runledger: Terminal) -> None:
    """A run with a step in doubt."""
    runledger("step", "s", "--key", "d", "--", "false")


def halted(runledger: Terminal) -> None:
    """A run that was halted."""
    running(runledger)
    runledger("halt", "--reason", "r")


@pytest.mark.parametrize(
    ("given", "words", "code", "slug"),
    [
        (nothing, ("start",), 0, ""),
        (running, ("step", "s", "--key", "a", "--", "false"), 0, ""),
        (running, ("step", "n", "--key", "a", "--", "sh", "-c", "exit 9"), 9, ""),
        (doubtful, ("replay",), 1, ""),
        (nothing, ("is-running",), 1, ""),
        (nothing, ("fly",), 64, "usage"),
        (nothing, (), 64, "usage"),
        (nothing, ("sprint",), 64, "usage"),
        (nothing, ("sprint", "skip"), 64, "usage"),
        (nothing, ("status", "--fast"), 64, "usage"),
        (nothing, ("status", "now"), 64, "usage"),
        (nothing, ("halt",), 64, "usage"),
        (nothing, ("begin", "s", "--key", ""), 64, "empty-key"),
        (running, ("step", "s", "--key", "a", "--inputs", "v2", "--", "true"), 65, "inputs-mismatch"),
        (running, ("begin", "held", "--key", "a"), 75, "step-in-flight"),
        (running, ("step", "held", "--key", "a", "--", "true"), 75, "step-in-flight"),
        (running, ("resolve", "held", "a", "--happened", "--reason", "r"), 76, "resolve-refused"),
        (doubtful, ("begin", "s", "--key", "d"), 76, "step-in-doubt"),
        (doubtful, ("wake",), 76, ""),
        (halted, ("wake",), 77, ""),
        (halted, ("step", "n", "--key", "a", "--", "true"), 77, "run-halted"),
        (halted, ("begin", "s", "--key", "a"), 77, "run-halted"),
        (running, ("finish",), 77, "finish-refused"),
        (nothing, ("wake",), 78, ""),
        (nothing, ("heartbeat",), 78, "ledger-missing"),
        (nothing, ("show", "s", "a"), 78, "ledger-missing"),
        (running, ("begin", "s", "--key", "a"), 79, "step-committed"),
    ],
)
def test_exit_code(runledger: Terminal, given: Given, words: tuple[str, ...], code: int, slug: str) -> None:
    """The code; with ``--json`` the error as an object on standard error, and nothing on standard output."""
    given(runledger)
    said = runledger("--json", *words)
    assert said.code == code
    if slug:
        assert said.out == b""
        described = next(line for line in said.err.splitlines() if line.startswith("{"))
        error = json.loads(described)["error"]
        assert (error["slug"], error["exit_code"]) == (slug, code)
        assert error["message"]
        assert set(error) == {"slug", "message", "hint", "exit_code"}


def test_a_disk_that_refuses(runledger: Terminal) -> None:
    """74: where the ledger should be there is no directory."""
    (runledger.at / "file").touch()
    for words in (("start",), ("status",), ("begin", "s", "--key", "a")):
        said = runledger(*words, RUNLEDGER_DIR=str(runledger.at / "file"))
        assert (said.code, said.out) == (74, b"")
        assert said.err.startswith("runledger: ")
    assert runledger("wake", RUNLEDGER_DIR=str(runledger.at / "file")).text.startswith("INVALID\n")
