"""``begin``, and what is done with its token."""

from __future__ import annotations

import json
import re
import time

import pytest

from tests.cli.terminal import Terminal

TOKEN = re.compile(r"rl1-[0-9]+-[0-9a-f]+\n")
USE = "T=$(runledger begin pr --key k) && echo x >>ran && runledger commit $T"


def begun(runledger: Terminal, *words: str) -> str:
    """A token for the step ``pr k``."""
    said = runledger("begin", "pr", "--key", "k", *words)
    assert said.code == 0
    assert TOKEN.fullmatch(said.text)
    assert said.err == ""
    return said.text.strip()


def test_the_line_that_cannot_repeat(runledger: Terminal) -> None:
    """``T=$(runledger begin …) && effect`` runs the effect once, however often the line is run."""
    first, again = runledger.sh(USE), runledger.sh(USE)
    assert (first.code, again.code, again.out) == (0, 79, b"")
    assert (runledger.at / "ran").read_text() == "x\n"
    assert "already committed" in again.err


def test_names_that_look_like_options(runledger: Terminal) -> None:
    """After ``--`` nothing is an option, and an option's own value is joined to it by ``=``."""
    token = runledger("begin", "--key=-k", "--", "-n").text.strip()
    assert runledger("commit", token).code == 0
    assert runledger("show", "--json", "--", "-n", "-k").json["status"] == "committed"


def test_a_result_is_kept(runledger: Terminal) -> None:
    """One JSON value, from the command line or from standard input."""
    runledger("commit", begun(runledger), "--result", ' {"url": "https://x", "n": 1.50} ')
    assert runledger("show", "pr", "k", "--json").json["result"] == {"url": "https://x", "n": 1.5}
    token = runledger("begin", "pr", "--key", "other").text.strip()
    assert runledger("commit", token, "--result", "-", input=b'["a"]\n').code == 0
    assert runledger("show", "pr", "other", "--json").json["result"] == ["a"]


@pytest.mark.parametrize("text", ["NaN", "{", "1 2", "hello", "", '"\\ud800"', "[" * 5000])
def test_what_is_no_json_is_no_result(runledger: Terminal, text: str) -> None:
    """64, and the step is still ours to commit."""
    token = begun(runledger)
    assert runledger("commit", token, "--result", text).code == 64
    assert runledger("commit", token).code == 0


def test_a_commit_again_changes_nothing(runledger: Terminal) -> None:
    """The same token after its commit: exit 0, and said so."""
    token = begun(runledger)
    runledger("commit", token, "--result", "1")
    again = runledger("commit", token, "--result", "2")
    assert again.code == 0
    assert "already committed" in again.err
    assert "another result" in again.err
    assert "another result" not in runledger("commit", token, "--result", "1").err
    assert runledger("show", "pr", "k", "--json").json["result"] == 1


def test_a_commit_again_after_a_compaction(runledger: Terminal) -> None:
    """A shell whose commit was lost on its way back says it again, however late."""
    token = runledger("begin", "pay", "--key", "a").out.decode().strip()
    runledger("commit", token, "--result", "1")
    assert runledger("compact").code == 0
    again = runledger("commit", token, "--result", "1")
    assert again.code == 0
    assert "already committed" in again.err
    assert runledger("commit", token[:-1] + "0" * (token[-1] != "0") + "1" * (token[-1] == "0")).code == 76


def test_abort_lets_it_begin_again(runledger: Terminal) -> None:
    """The next attempt has a token of its own, and the old one is worth nothing."""
    old = begun(runledger)
    assert runledger("abort", old, "--reason", "no network").code == 0
    new = begun(runledger)
    assert new != old
    assert runledger("commit", old).code == 76
    assert runledger("commit", new).code == 0


def test_marks_are_kept(runledger: Terminal) -> None:
    """A breadcrumb with its facts shows up for whoever looks into the doubt."""
    token = begun(runledger, "--lease", "0.3")
    assert runledger("mark", token, "branch-pushed", "--data", '{"sha": "abc"}').code == 0
    time.sleep(0.3)
    said = runledger("replay", "--json")
    (step,) = said.json["in_doubt"]
    assert said.code == 1
    assert (step["marks"][0]["label"], step["marks"][0]["data"]) == ("branch-pushed", {"sha": "abc"})
    assert "lease" in step["owner"]["how"]


def test_a_lease_holds_the_step_and_a_late_commit_counts(runledger: Terminal) -> None:
    """In flight, then in doubt; a commit is accepted while the attempt is the current one."""
    token = begun(runledger, "--lease", "1.5")
    assert runledger("begin", "pr", "--key", "k").code == 75
    time.sleep(1.5)
    refused = runledger("begin", "pr", "--key", "k")
    assert (refused.code, refused.out) == (76, b"")
    assert runledger("commit", token).code == 0


@pytest.mark.parametrize(
    "token", ["", "x", "rl1-0-3f9a0c5d7e21", "rl1-1-", "rl1-1-XYZ", "rl1-²-3f9a0c5d7e21"]
)
def test_what_is_no_token(runledger: Terminal, token: str) -> None:
    """64, and nothing is made."""
    said = runledger("commit", token, "--json")
    assert (said.code, said.out) == (64, b"")
    assert json.loads(said.last)["error"]["slug"] == "token-unknown"
    assert list(runledger.at.iterdir()) == []


def test_a_forged_token_settles_nothing(runledger: Terminal) -> None:
    """The LSN alone does not show who began the attempt."""
    token = begun(runledger)
    forged = token.rpartition("-")[0] + "-000000000000"
    for command in (("commit", forged), ("abort", forged), ("mark", forged, "x")):
        assert runledger(*command).code == 76
    assert runledger("commit", token).code == 0


def test_begin_as_json(runledger: Terminal) -> None:
    """The token, and the idempotency key to hand on to the outside."""
    said = runledger("--json", "begin", "pr", "--key", "k").json
    assert TOKEN.fullmatch(said["token"] + "\n")
    assert len(said["idempotency_key"]) == 32
    assert said["attempt"] == 1


def test_a_token_that_nobody_got_is_taken_back(runledger: Terminal) -> None:
    """With standard output closed or full the step is not begun: nobody could ever commit it."""
    for nowhere in (">&-", ">/dev/full"):
        said = runledger.sh(f"runledger begin pr --key k {nowhere}")
        assert said.code == 74
    assert runledger("show", "pr", "k", "--json").json["status"] == "aborted"
    assert runledger("verify").code == 0


@pytest.mark.parametrize("words", [("--lease", "0"), ("--lease", "-1"), ("--lease", "soon"), ()])
def test_begin_wants_a_lease_and_a_key(runledger: Terminal, words: tuple[str, ...]) -> None:
    """A call without meaning is refused before anything is made."""
    key = ("--key", "k") if words else ()
    assert runledger("begin", "pr", *key, *words).code == 64
    assert list(runledger.at.iterdir()) == []
