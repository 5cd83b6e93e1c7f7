"""``show``, ``replay``, ``resolve``, ``log``, ``verify``, ``compact``: what is known, and what settles it."""

from __future__ import annotations

import json
import select
import signal
from pathlib import Path

from tests.cli.terminal import Terminal


def journal(runledger: Terminal) -> Path:
    """The one segment that there is."""
    (segment,) = (runledger.at / ".run" / "ledger").glob("*.jsonl")
    return segment


def test_show_a_committed_step(runledger: Terminal) -> None:
    """Its status, its result as plain JSON, and who did it; 1 for a step that was never started."""
    runledger("step", "s", "--key", "a", "--", "echo", "hi")
    known = runledger("show", "s", "a", "--json").json
    assert (known["name"], known["key"], known["status"]) == ("s", "a", "committed")
    assert (known["result"], known["attempt"], known["marks"]) == ("hi\n", 1, [])
    assert known["owner"]
    assert "committed" in runledger("show", "s", "a").text
    missing = runledger("show", "s", "b", "--json")
    assert (missing.code, missing.json["status"]) == (1, "unknown")


def test_show_after_a_compaction(runledger: Terminal) -> None:
    """Compaction changes no answer."""
    runledger("step", "s", "--key", "a", "--", "echo", "hi")
    before = runledger("show", "s", "a", "--json").json
    assert runledger("compact", "--json").json["folded"] == 1
    assert runledger("show", "s", "a", "--json").json == before
    assert runledger("step", "s", "--key", "a", "--", "false").out == b"hi\n"


def test_replay_lists_the_doubts_and_their_lines(runledger: Terminal) -> None:
    """1 where something is in doubt; the lines work as they are printed."""
    runledger("step", "s", "--key", "a b", "--", "sh", "-c", "exit 4")
    said = runledger("replay", "--json")
    assert (said.code, said.json["schema"], said.json["state"]) == (1, "runledger.replay/1", "RUNNING")
    (doubt,) = said.json["in_doubt"]
    assert (doubt["name"], doubt["key"], doubt["attempt"]) == ("s", "a b", 1)
    assert doubt["owner"]["alive"] is False
    text = runledger("replay").text
    assert all(line in text for line in said.json["resolve"])
    assert "exit status 4" in text
    assert runledger.sh(said.json["resolve"][0]).code == 0
    assert runledger("replay").code == 0


def test_resolve_by_name_and_by_lsn(runledger: Terminal) -> None:
    """A result may come along; the wrong attempt, a settled step and a missing reason are refused."""
    runledger("step", "s", "--key", "a", "--", "false")
    lsn = str(runledger("show", "s", "a", "--json").json["lsn"])
    wrong = runledger("resolve", "s", "a", "--lsn", "1", "--happened", "--reason", "r")
    assert wrong.code == 76
    assert runledger("resolve", "s", "a", "--happened").code == 64
    assert runledger("resolve", "--happened", "--reason", "r").code == 64
    assert runledger("resolve", "s", "a", "--not-happened", "--result", "1", "--reason", "r").code == 64
    assert runledger("resolve", "--lsn", "x", "--happened", "--reason", "r").code == 64
    done = runledger("resolve", "--lsn", lsn, "--happened", "--result", '"there"', "--reason", "r", "--json")
    assert done.json["happened"] is True
    assert runledger("resolve", "--happened", "s", "a", "--reason", "r").code == 76
    assert runledger("show", "s", "a", "--json").json["result"] == "there"


def test_resolve_a_step_without_a_key(runledger: Terminal) -> None:
    """It has no name of its own but its LSN."""
    runledger("step", "s", "--", "false")
    line = runledger("replay", "--json").json["resolve"][1]
    assert "--not-happened" in line
    assert runledger.sh(line).code == 0
    assert runledger("replay").code == 0


def test_log_tells_every_record(runledger: Terminal) -> None:
    """A line for each, in LSN order, for people and as JSON; control characters are escaped."""
    runledger("step", "s\n\x1b", "--key", "a", "--", "true")
    lines = runledger("log").text.splitlines()
    records = [json.loads(line) for line in runledger("log", "--json").text.splitlines()]
    assert [int(line.split()[0]) for line in lines] == [record["lsn"] for record in records]
    assert [record["lsn"] for record in records] == list(range(1, len(records) + 1))
    assert {"started", "intent", "commit"} <= {record["t"] for record in records}
    assert any("name=s\\x0a\\x1b" in line for line in lines)


def test_log_follows(runledger: Terminal) -> None:
    """What is recorded later comes too, and a compaction meanwhile is survived; Ctrl-C ends it."""
    runledger("start", "--plan-id", "p")
    process = runledger.start("log", "--follow", "--json")
    assert process.stdout is not None
    seen: list[str] = []

    def until(word: str) -> None:
        while word not in seen:
            assert select.select([process.stdout], [], [], 20)[0], f"{word} is not in {seen}"
            assert process.stdout is not None
            seen.append(json.loads(process.stdout.readline())["t"])

    until("started")
    runledger("step", "s", "--key", "a", "--", "true")
    until("commit")
    runledger("compact")
    runledger("halt", "--reason", "r")
    until("halted")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, b"")


def test_log_into_a_pipe_that_breaks(runledger: Terminal) -> None:
    """``head`` has seen enough, and nobody says anything."""
    runledger("step", "s", "--key", "a", "--", "true")
    said = runledger.sh("(runledger log --follow; echo $? >code) | head -n 1; cat code")
    first, code = said.text.splitlines()
    assert first.split()[2] == "opened"
    assert (code, said.err) == ("141", "")


def test_damage_is_told_everywhere(runledger: Terminal) -> None:
    """A flipped byte in the middle: verify 1, replay, log and wake 78, each naming the file."""
    for key in "abc":
        runledger("step", "s", "--key", key, "--", "echo", "result-of-" + key)
    assert runledger("verify").code == 0
    segment = journal(runledger)
    segment.write_bytes(segment.read_bytes().replace(b"result-of-b", b"result-of-x", 1))
    found = runledger("verify", "--json")
    assert (found.code, found.json["ok"]) == (1, False)
    assert segment.name in found.json["findings"][0]["file"]
    assert runledger("verify").code == 1
    for words in (("replay",), ("log",), ("status",)):
        said = runledger(*words)
        assert said.code == 78
        assert segment.name in said.text
    woken = runledger("wake")
    assert (woken.code, woken.text.splitlines()[0]) == (78, "INVALID")
    assert runledger("step", "s", "--key", "b", "--", "touch", "ran").code in {76, 78}
    assert not (runledger.at / "ran").exists()
    assert runledger("step", "s", "--key", "a", "--", "false").out == b"result-of-a\n"


def test_a_newer_version_is_left_alone(runledger: Terminal) -> None:
    """78, INVALID for whoever asks for the word."""
    runledger("start")
    segment = journal(runledger)
    segment.write_bytes(segment.read_bytes().replace(b'"format":1', b'"format":2', 1))
    before = segment.read_bytes()
    assert runledger("wake").code == 78
    assert runledger("status", "--json").json["state"] == "INVALID"
    said = runledger("step", "s", "--key", "a", "--", "true")
    assert said.code == 78
    assert segment.read_bytes() == before


def test_a_torn_tail_is_told_and_is_no_damage(runledger: Terminal) -> None:
    """Replay names it, verify is content, and the next writer cuts it."""
    runledger("step", "s", "--key", "a", "--", "true")
    segment = journal(runledger)
    with segment.open("ab") as file:
        file.write(b'{"t":"intent","lsn":')
    assert runledger("replay", "--json").json["torn_tail"]["bytes"] > 0
    assert "torn tail" in runledger("replay").text
    assert runledger("verify").code == 0
    assert runledger("step", "s", "--key", "b", "--", "true").code == 0
    assert runledger("replay", "--json").json["torn_tail"] is None
