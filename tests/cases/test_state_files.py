"""Each real state file through a whole life by the public calls alone; then files of writers whom nobody knows."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runledger
from runledger import (
    AdoptionRequired,
    FinishRefused,
    Ledger,
    LedgerError,
    RunFinished,
    RunHalted,
    RunMoveRefused,
    RunStateInvalid,
)
from tests.support.outside import Outside
from tests.support.state_files import FILES, foreign, keeps_the_format
from tests.support.tree import leftovers, needs_jq, read_by_jq, state_file

WORDS = {
    "COMPLETE": "JACKED_OUT",
    "COMPLETED": "JACKED_OUT",
    "READY_FOR_HITL": "HALTED",
    "INTERRUPTED": "HALTED",
}


class Life:
    """The life of one file: each act is followed by a look at what the file says then."""

    def __init__(self, root: Path, text: str) -> None:
        self.root = root
        self.before = foreign(text)
        self.outside = Outside(root)
        path = state_file(root)
        path.parent.mkdir()
        path.write_bytes(text.encode("utf-8"))
        path.chmod(0o640)
        self.said = path.read_bytes()

    def unchanged(self) -> None:
        """Nobody touched the file since the last look."""
        assert state_file(self.root).read_bytes() == self.said

    def look(self, state: str) -> dict[str, Any]:
        """The file keeps the format, everything foreign is where it was, and readers can read it."""
        self.said = state_file(self.root).read_bytes()
        document = keeps_the_format(self.said.decode("utf-8"), state)
        now = [pair for pair in foreign(self.said.decode("utf-8")) if pair in self.before]
        assert now == self.before
        assert leftovers(self.root) == []
        assert state_file(self.root).stat().st_mode & 0o777 == 0o640
        assert runledger.replay(self.root).state == state
        return document

    def refused(self, ledger: Ledger, error: type[LedgerError]) -> None:
        """No step runs, a committed one neither, and the file stays as it is."""
        for key in ("k1", "new"):
            with pytest.raises(error), ledger.step("work", key=key):
                self.outside.happen("refused")
        self.unchanged()

    def work(self, ledger: Ledger) -> None:
        """Two steps, each once, however often they are entered."""
        for key in ("k1", "k2", "k1", "k2"):
            with ledger.skip_committed() as skip, ledger.step("work", key=key) as step:
                self.outside.happen(key)
                step.result = key
            assert skip.result == (key if skip.skipped else None)
        assert self.outside.all() == ["k1", "k2"]


def live(root: Path, text: str) -> None:
    """Adopt the file, work two steps, halt, resume, and finish where that may be."""
    found = json.loads(text)["state"]
    state = WORDS.get(found, found)
    life = Life(root, text)
    with Ledger.open(root) as ledger:
        if state == "RUNNING":
            assert (ledger.status().state, ledger.status().advice) == ("RUNNING", "adopt")
        life.refused(ledger, {"RUNNING": AdoptionRequired, "HALTED": RunHalted}.get(state, RunFinished))
        ledger.adopt()
        document = life.look(state)
        assert document["sprints"]["total"] >= len(document["sprints"]["list"])
        if state == "JACKED_OUT":
            stays_over(life, ledger)
            return
        if state == "HALTED":
            life.refused(ledger, RunHalted)
            with pytest.raises(RunHalted):
                ledger.finish()
            ledger.resume(by="a person")
            life.look("RUNNING")
        life.work(ledger)
        ledger.halt("tests failed")
        halted = life.look("HALTED")
        assert halted["failure"]["reason"] == "tests failed"
        assert halted["failure"]["sprint"] == halted["sprints"]["current"]
        life.refused(ledger, RunHalted)
        ledger.compact()
        assert life.look("HALTED")["timestamps"] == halted["timestamps"]
    with Ledger.open(root) as ledger:
        life.refused(ledger, RunHalted)
        ledger.resume()
        life.look("RUNNING")
        life.work(ledger)
        finish(life, ledger)
    life.look("JACKED_OUT")


def finish(life: Life, ledger: Ledger) -> None:
    """Refused while a sprint is left, and named; then each is completed and the run ends."""
    left = [item["id"] for item in open_sprints(life)]
    if left:
        with pytest.raises(FinishRefused) as refusal:
            ledger.finish()
        assert left[0] in str(refusal.value)
        life.look("RUNNING")
    for sprint in left:
        ledger.begin_sprint(sprint)
        assert life.look("RUNNING")["sprints"]["current"] == sprint
        ledger.complete_sprint(sprint)
    ledger.finish()
    over = life.look("JACKED_OUT")
    assert over["sprints"]["current"] is None or not left
    life.refused(ledger, RunFinished)


def open_sprints(life: Life) -> list[dict[str, Any]]:
    """The sprints that are not completed, as the file has them."""
    document = json.loads(state_file(life.root).read_text("utf-8"))
    return [item for item in document["sprints"]["list"] if item["status"] != "completed"]


def stays_over(life: Life, ledger: Ledger) -> None:
    """A run that is over does nothing more; a new one may begin, and keeps what is not ours."""
    life.refused(ledger, RunFinished)
    for move in (ledger.resume, ledger.finish, lambda: ledger.halt("late"), lambda: ledger.abandon("late")):
        with pytest.raises((RunFinished, RunMoveRefused)):
            move()
    life.unchanged()
    ledger.compact()
    life.look("JACKED_OUT")
    ledger.start("the-next-plan", sprints=["one"])
    text = state_file(life.root).read_text("utf-8")
    document = keeps_the_format(text, "RUNNING")
    assert (document["plan_id"], document["sprints"]["total"]) == ("the-next-plan", 1)
    ours = {"plan_id", "timestamps", "sprints"}
    assert [pair for pair in foreign(text) if pair[0] not in ours and pair in life.before] == [
        pair for pair in life.before if pair[0] not in ours
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_whole_life_of_a_real_file(root: Path, path: Path) -> None:
    """Adopted, worked on, halted, resumed, finished or refused: nothing foreign changes, the format holds."""
    live(root, path.read_text("utf-8"))


@needs_jq
def test_jq_reads_every_file_after_its_life(tmp_path: Path) -> None:
    """The shell's reader finds the words, the times and the counts of all of them."""
    roots = []
    for path in FILES:
        root = tmp_path / path.stem
        root.mkdir()
        Life(root, path.read_text("utf-8"))
        with Ledger.open(root) as ledger:
            ledger.adopt()
        roots.append(state_file(root))
    query = "[.state, .timestamps.last_activity // .timestamps.started, .sprints.total, .ledger.version]"
    for line in read_by_jq(*roots, query=query):
        state, stamp, total, version = json.loads(line)
        assert state in {"RUNNING", "HALTED", "JACKED_OUT"}
        assert (stamp[-1], type(total), version) == ("Z", int, 1)


@pytest.mark.parametrize("word", ["READY_FOR_HITL", "INTERRUPTED", "COMPLETE", "COMPLETED"])
def test_other_words_are_read_and_said(root: Path, word: str) -> None:
    """A word of another writer means one of the three; the file says the known one once it is adopted."""
    document = json.loads(FILES[9].read_text("utf-8")) | {"state": word}
    live(root, json.dumps(document, indent=2) + "\n")


@pytest.mark.parametrize("word", ["running", "PAUSED", "", 7, None])
def test_a_word_that_is_none_is_kept_and_refuses_steps(root: Path, word: object) -> None:
    """INVALID: nothing is done, nothing is written, until a person sets it right."""
    document = json.loads(FILES[9].read_text("utf-8")) | {"state": word}
    life = Life(root, json.dumps(document) + "\n")
    with Ledger.open(root) as ledger:
        assert ledger.status().state == "INVALID"
        life.refused(ledger, RunStateInvalid)
    assert state_file(root).read_bytes() == life.said
    right = json.dumps(document | {"state": "RUNNING"}) + "\n"
    state_file(root).write_text(right, "utf-8")
    with Ledger.open(root) as ledger:
        ledger.adopt()
        life.look("RUNNING")
        state_file(root).write_text(right.replace('"RUNNING"', json.dumps(word)), "utf-8")
        with pytest.raises(RunStateInvalid), ledger.step("work", key="k1"):
            life.outside.happen("refused")
        assert runledger.replay(root).state == "INVALID"
        assert json.loads(state_file(root).read_text("utf-8"))["state"] == word
    assert life.outside.all() == []


def test_an_edit_by_hand_is_obeyed_and_kept(root: Path) -> None:
    """Somebody halts in the file and adds a field while a handle is open: steps stop, and the field stays."""
    life = Life(root, FILES[9].read_text("utf-8"))
    with Ledger.open(root) as ledger:
        ledger.adopt()
        life.work(ledger)
        ledger.begin_sprint("sprint-1")
        document = json.loads(state_file(root).read_text("utf-8"))
        edited = {**document, "state": "HALTED", "note": ["by", "hand"]}
        state_file(root).write_text(json.dumps(edited, indent=4), "utf-8")
        with pytest.raises(RunHalted), ledger.step("work", key="k3"):
            life.outside.happen("refused")
        assert life.look("HALTED")["note"] == ["by", "hand"]
        ledger.resume(by="a person")
        assert life.look("RUNNING")["note"] == ["by", "hand"]
        life.work(ledger)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": "HALTED"', "\x00\x01"])
def test_what_cannot_be_read_is_kept_aside(root: Path, text: str) -> None:
    """A half-written edit of somebody else changes nothing of the run, and its bytes are not lost."""
    life = Life(root, FILES[9].read_text("utf-8"))
    with Ledger.open(root) as ledger:
        ledger.adopt()
        state_file(root).write_text(text, "utf-8")
        life.work(ledger)
        ledger.begin_sprint("sprint-1")
        life.look("RUNNING")
    assert state_file(root).with_name("sprint-plan-state.json.rejected-1").read_text("utf-8") == text


# --- files that nobody has seen yet --------------------------------------------------------------------------

VALUES = [
    "1.0", "1e3", "-0", "0.10", "123456789012345678901234567890", "1E400", "null", "true", '""', "[]", "{}",
    '"\\u00e9\\/\\n"', '"日本 \N{GRINNING FACE}"', '"\\ud83d\\ude00"', '[1, 2.50, [], {"a": null}]',
    '{"b": {"c": 1.10}, "a": [ ] }', '{"state": "HALTED"}',
]  # fmt: skip
NAMES = st.sampled_from(
    ["cycle", "pause", "options", "metrics", "x y", "é", "", "ledgers", "State", "a.b", "branch "]
)
FOREIGN = st.dictionaries(NAMES, st.sampled_from(VALUES), max_size=5)
SPRINTS = st.lists(
    st.tuples(st.sampled_from(["completed", "in_progress", "pending"]), st.integers(0, 9), FOREIGN),
    min_size=1,
    max_size=4,
)


def one_object(members: dict[str, str], gap: str, order: list[str] | None = None) -> str:
    """The text of an object whose values are texts."""
    parts = [f"{json.dumps(name, ensure_ascii=False)}:{gap}{members[name]}" for name in order or members]
    return "{" + gap + f",{gap}".join(parts) + gap + "}"


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A state file of an unknown writer: its own fields anywhere, in any order, spaced in its own way."""
    gap = draw(st.sampled_from(["", " ", "\n", "\n  ", "\n\t"]))
    items = [
        one_object({"id": f'"s{n}"', **more, "status": f'"{status}"', "cycles": f"{cycles}"}, gap)
        for n, (status, cycles, more) in enumerate(draw(SPRINTS))
    ]
    sprints = {
        "total": f"{len(items)}",
        "completed": "0",
        "current": '"s0"',
        **draw(FOREIGN),
        "list": f"[{gap}" + f",{gap}".join(items) + "]",
    }
    times = {
        **draw(FOREIGN),
        "started": '"2026-01-02T03:04:05Z"',
        "last_activity": '"2026-01-02T03:04:05Z"',
    }
    members = {
        **draw(FOREIGN),
        "plan_id": '"a plan"',
        "state": f'"{draw(st.sampled_from(["RUNNING", "HALTED", "JACKED_OUT", *WORDS]))}"',
        "timestamps": one_object(times, gap),
        "sprints": one_object(sprints, gap),
    }
    order = draw(st.permutations(list(members)))
    return one_object(members, gap, order) + draw(st.sampled_from(["", "\n", "\n\n", " \n"]))


@settings(max_examples=12, deadline=None)
@given(documents())
def test_the_whole_life_of_a_file_that_nobody_has_seen(text: str) -> None:
    """The same life, and each foreign value keeps the very characters that it was written with."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        live(root, text)
        after = state_file(root).read_text("utf-8")
    if "the-next-plan" not in after:  # a new run begins with sprints of its own
        unmistakable = [value for value in VALUES if len(value) > 4]
        assert [value for value in unmistakable if after.count(value) < text.count(value)] == []


@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(max_examples=500, deadline=None)
@given(documents())
def test_the_whole_life_of_many_files_that_nobody_has_seen(text: str) -> None:
    """The same for many more."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        root.mkdir()
        live(root, text)
