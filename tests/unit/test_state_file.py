"""The snapshot's text, its digest, and what versions mean that others wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from runledger.errors import LedgerCorrupt, NewerVersion
from runledger.run_state import HALTED, INVALID, JACKED_OUT, RUNNING, valid_sprint_id
from runledger.state_file import Edit, observe, render, renewed, verifies
from runledger.state_reading import apply_reading, read
from runledger.view import Run, SprintView, View

FILES = sorted((Path(__file__).parents[1] / "data" / "state-files").glob("*.json"))
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
AT = "2026-11-29T12:00:00.123456Z"
OWNED = {"state", "timestamps", "sprints", "failure", "ledger"}
DOUBT = {"name": "publish", "key": "page-7", "lsn": 3, "attempt": 1}


def taken_over(data: bytes, lsn: int = 4) -> View:
    """The view after a state file was adopted."""
    return View(ledger="0011223344556677", lsn=lsn, at=AT, run=apply_reading(None, read(data), run_id="r1"))


def fresh(**fields: Any) -> View:
    """The view of a run that was started here."""
    sprints = [SprintView("s1", "completed", 1), SprintView("s2", "in_progress")]
    run = Run(
        "r1",
        "plan-1",
        branch="main",
        started=AT,
        last_activity=AT,
        sprints=sprints,
        current="s2",
        total=2,
        completed=1,
    )
    for name, value in fields.items():
        setattr(run, name, value)
    return View(ledger="0011223344556677", lsn=8, at=AT, run=run)


def text_of(view: View, in_doubt: list[dict[str, Any]] | None = None) -> str:
    """The snapshot, which there must be."""
    text = render(view, in_doubt or [])
    assert text is not None
    return text


def ordered(text: str) -> Any:
    """The document with order and the text of numbers kept."""
    return json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=list)


def foreign(text: str) -> Any:
    """Everything of a document that is not ours, in order, with the text of numbers."""
    top = []
    for name, value in ordered(text):
        if name == "timestamps":
            kept = [pair for pair in value if pair[0] not in {"started", "last_activity"}]
            top.append((name, kept))
        elif name == "sprints":
            parts = dict(value)
            items = [
                [pair for pair in item if pair[0] not in {"status", "cycles"}] for item in parts.pop("list")
            ]
            ours = {"total", "completed", "current"}
            top.append((name, items, [part for part in parts.items() if part[0] not in ours]))
        elif name not in OWNED:
            top.append((name, value))
    return top


def keeps_the_format(text: str) -> None:
    """Section by section, what the format promises its readers."""
    assert text.endswith("}\n")
    document = json.loads(text)
    assert document["state"] in {RUNNING, HALTED, JACKED_OUT}
    assert isinstance(document["plan_id"], str)
    assert isinstance(document.get("branch", ""), str)
    times = document["timestamps"]
    assert STAMP.fullmatch(times.get("started") or times["started_at"])
    assert STAMP.fullmatch(times.get("last_activity", "2026-11-29T12:00:00Z"))
    sprints = document["sprints"]
    assert type(sprints["total"]) is int
    assert sprints["completed"] == sum(item["status"] == "completed" for item in sprints["list"])
    assert sprints["current"] is None or valid_sprint_id(sprints["current"])
    for item in sprints["list"]:
        assert item["status"] in {"completed", "in_progress", "pending"}
    assert ("failure" in document) is (document["state"] == HALTED)
    if document["state"] == HALTED:
        assert isinstance(document["failure"]["reason"], str)
        assert STAMP.fullmatch(document["failure"]["timestamp"])
    assert set(document["ledger"]) == {"version", "lsn", "digest", "in_doubt"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_life_of_a_real_file(path: Path) -> None:
    """Taken over, sprints moved, halted, resumed, finished: the format holds, nothing foreign changes."""
    data = path.read_bytes()
    view = taken_over(data)
    run = view.run
    assert run is not None
    before = foreign(data.decode())

    def step(text: str) -> None:
        keeps_the_format(text)
        assert foreign(text) == before
        assert verifies(text, view.ledger)
        assert observe(view, text.encode(), view.lsn) is None
        assert text_of(view, [DOUBT] if '"page-7"' in text else []) == text

    step(text_of(view))
    for number, sprint in enumerate(run.sprints):
        view.lsn += 1
        sprint.status = ("pending", "in_progress", "completed")[(number + len(sprint.status)) % 3]
        sprint.cycles += 1
        run.current = sprint.id
        run.completed = sum(one.status == "completed" for one in run.sprints)
        step(text_of(view))
    view.lsn += 1
    run.state, run.reason, run.failure_sprint, run.failed_at = HALTED, "tests fail", run.current, AT
    halted = text_of(view, [DOUBT])
    step(halted)
    assert json.loads(halted)["failure"] == {
        "sprint": run.current,
        "reason": "tests fail",
        "timestamp": "2026-11-29T12:00:00Z",
    }
    assert json.loads(halted)["ledger"]["in_doubt"] == [DOUBT]
    view.lsn += 1
    run.state, run.reason, run.failure_sprint, run.failed_at = RUNNING, None, None, None
    run.last_activity = AT
    run.sprints.append(SprintView("sprint-new"))
    run.total += 1
    added = text_of(view)
    keeps_the_format(added)
    assert json.loads(added)["sprints"]["list"][-1] == {"id": "sprint-new", "status": "pending", "cycles": 0}
    assert json.loads(added)["timestamps"]["last_activity"] == "2026-11-29T12:00:00Z"
    run.state = JACKED_OUT
    keeps_the_format(text_of(view))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lines_that_did_not_change_keep_their_bytes(path: Path) -> None:
    """Taking over adds the ledger object and sets the few values that disagree; no line is reflowed."""
    lines = path.read_text("utf-8").splitlines()
    after = text_of(taken_over(path.read_bytes())).splitlines()
    gone = [line for line in lines if line not in after and f"{line}," not in after]
    assert all(re.match(r' *"(state|completed)": ', line) for line in gone)
    assert len(gone) <= 1


def test_a_fresh_snapshot() -> None:
    """Its fields come in the format's order, and a failure before the ledger object."""
    view = fresh(state=HALTED, reason="tests", failure_sprint="s2", failed_at=AT)
    text = text_of(view)
    keeps_the_format(text)
    assert list(json.loads(text)) == [
        "plan_id", "branch", "state", "timestamps", "sprints", "options", "metrics", "failure", "ledger",
    ]  # fmt: skip
    assert '      {"id": "s1", "status": "completed", "cycles": 1},\n' in text
    assert json.loads(text)["ledger"]["lsn"] == 8
    assert "failure" not in json.loads(text_of(fresh()))


def test_a_halt_without_a_reason_says_so() -> None:
    """Readers find a string and a time in ``failure`` whatever is known."""
    keeps_the_format(text_of(fresh(state=HALTED)))
    failure = json.loads(text_of(fresh(state=HALTED)))["failure"]
    assert failure == {"sprint": None, "reason": "no reason was given", "timestamp": "2026-11-29T12:00:00Z"}


def test_nothing_is_rendered_over_a_word_that_is_kept() -> None:
    """INVALID is for a person to set right; without a run there is nothing to say."""
    assert render(fresh(state=INVALID, word="PAUSED"), []) is None
    assert render(View(ledger="00"), []) is None


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"state": 5, "timestamps": null, "sprints": 7, "failure": [], "ledger": "mine"}',
        '{"sprints": {"list": 7}, "timestamps": {"started_at": 1}}',
        '{"sprints": {"list": [1, {"id": "s1"}, {"id": "s1"}]}}',
        '{"sprints": [], "failure": {"details": {"x": 1}}, "ledger": {"theirs": true}}\n\n',
    ],
)
@pytest.mark.parametrize("state", [RUNNING, HALTED, JACKED_OUT])
def test_odd_documents_are_kept_and_completed(text: str, state: str) -> None:
    """A foreign value whose type has no room for ours stays in its place; the rest is written."""
    view = fresh(state=state, document=text)
    after = text_of(view)
    old, new = json.loads(text), json.loads(after)
    assert (new["state"], new["plan_id"]) == (state, "plan-1")
    assert after.endswith("}\n")
    assert not after.endswith("\n\n")
    assert ("failure" in new) is (state == HALTED)
    if not isinstance(old.get("sprints", {}), dict):
        assert new["sprints"] == old["sprints"]
    else:
        assert new["sprints"]["current"] == "s2"
    if state == HALTED and isinstance(old.get("failure"), dict):
        assert new["failure"]["details"] == {"x": 1}
    assert verifies(after, view.ledger)
    assert observe(view, after.encode(), 8) is None


def test_the_file_stays_small_however_many_doubts() -> None:
    """At most a hundred are listed, long names are cut, and how many more there are is said."""
    doubts = [{"name": "n" * 5000, "key": "k" * 5000, "lsn": lsn, "attempt": 1} for lsn in range(150)]
    text = text_of(fresh(), doubts)
    ledger = json.loads(text)["ledger"]
    assert (len(ledger["in_doubt"]), ledger["in_doubt_more"]) == (100, 50)
    assert len(text) < 100_000
    view = fresh(document=text)
    assert "in_doubt_more" not in json.loads(text_of(view, doubts[:2]))["ledger"]


# --- the digest -------------------------------------------------------------------------------------------


def test_the_digest_covers_every_byte_and_names_its_ledger() -> None:
    """No character can change, and no other ledger's file verifies."""
    text = text_of(fresh())
    assert verifies(text, "0011223344556677")
    assert not verifies(text, "0011223344556678")
    for at in range(len(text) - 1):
        other = "1" if text[at] == "0" else "0"
        assert not verifies(text[:at] + other + text[at + 1 :], "0011223344556677")
    assert not verifies(text + "\n", "0011223344556677")
    assert not verifies("{}", "0011223344556677")
    assert not verifies('{"ledger": {"digest": ""}}', "0011223344556677")


def test_the_digest_is_what_the_format_says() -> None:
    """A checksum of the text with the digest's value empty, seeded with that of the ledger's id."""
    import zlib

    text = text_of(fresh())
    said = json.loads(text)["ledger"]["digest"]
    bare = text.replace(said, "")
    assert said == f"crc32:{zlib.crc32(bare.encode(), zlib.crc32(b'0011223344556677')):08x}"


# --- what others wrote ------------------------------------------------------------------------------------


def edit_of(view: View, change: dict[str, Any], written: int = 8, base: str | None = None) -> Edit | None:
    """What a program's read-modify-write of our version means."""
    document = json.loads(base or text_of(view))
    for name, value in change.items():
        where = document
        *way, last = name.split(".")
        for part in way:
            where = where[part]
        where[last] = value
    return observe(view, json.dumps(document).encode(), written)


def test_ours_is_no_edit() -> None:
    """Our last version, and a later one of another process of ours."""
    view = fresh()
    text = text_of(view)
    assert observe(view, text.encode(), 8) is None
    assert observe(view, text.encode(), 5) is None


@pytest.mark.parametrize(
    ("state", "word"), [(RUNNING, HALTED), (HALTED, RUNNING), (RUNNING, JACKED_OUT), (RUNNING, "PAUSED")]
)
def test_a_word_set_by_hand_is_obeyed(state: str, word: str) -> None:
    """An edit of the current version is recorded and not ignored."""
    edit = edit_of(fresh(state=state), {"state": word})
    assert edit is not None
    assert (edit.kind, edit.ignored) == ("edit", None)
    assert edit.document is not None
    assert json.loads(edit.document)["state"] == word


def test_a_file_written_anew_by_somebody_else_is_an_edit() -> None:
    """Without a ledger object nothing shows it to be old: of the same plan, or of none, it is followed."""
    for data in (b'{"state": "HALTED"}', b'{"plan_id": "plan-1", "state": "RUNNING"}'):
        edit = observe(fresh(state=HALTED), data, 8)
        assert edit is not None
        assert (edit.kind, edit.ignored) == ("edit", None)


def test_an_old_version_put_back_is_stale() -> None:
    """It is ours to the byte, older than what was written since, and never obeyed."""
    view = fresh()
    old = text_of(view)
    view.lsn = 9
    edit = observe(view, old.encode(), 9)
    assert edit is not None
    assert (edit.kind, edit.document) == ("stale", None)


@pytest.mark.parametrize("word", [RUNNING, HALTED])
def test_no_stale_writer_moves_a_closed_run_back(word: str) -> None:
    """Only an edit of the closed version itself reopens a run; any other is recorded as ignored."""
    old = text_of(fresh(state=RUNNING))
    view = fresh(state=JACKED_OUT)
    view.lsn = 9
    closed = text_of(view)
    current = edit_of(view, {"state": word}, 9, closed)
    stale = edit_of(view, {"state": word}, 9, old)
    blind = observe(view, json.dumps({"plan_id": "plan-1", "state": word}).encode(), 9)
    unwritten = observe(view, json.dumps({**json.loads(old), "x": 1}).encode(), 0, moved_lsn=9)
    assert current is not None
    assert current.ignored is None
    for edit in (stale, blind, unwritten) if word == RUNNING else (stale, blind):
        assert edit is not None
        assert edit.kind == "edit"
        assert edit.ignored is not None
        assert "JACKED_OUT" in edit.ignored


def test_a_stale_writer_does_not_take_a_halt_away_but_may_halt() -> None:
    """From an older version a run is stopped, never set going."""
    view = fresh(state=RUNNING)
    old = text_of(view)
    view.lsn = 9
    halt = edit_of(view, {"state": HALTED}, 9, old)
    assert halt is not None
    assert halt.ignored is None
    assert view.run is not None
    view.run.state = HALTED
    going = edit_of(view, {"options": {"a": 1}}, 9, old)
    assert going is not None
    assert going.ignored is not None
    assert "older version" in going.ignored


def test_a_stale_writer_does_not_take_progress_back() -> None:
    """A sprint that was completed since stays completed; what the edit moves forward is followed."""
    view = fresh()
    old = text_of(view)
    assert view.run is not None
    view.lsn = 9
    view.run.sprints = [SprintView("s1", "completed", 1), SprintView("s2", "completed", 3), SprintView("s3")]
    view.run.current = "s3"
    base = json.loads(old)
    base["sprints"]["list"].append({"id": "s3", "status": "in_progress", "cycles": 0})
    edit = observe(view, json.dumps(base).encode(), 9)
    assert edit is not None
    assert edit.document is not None
    after = json.loads(edit.document)["sprints"]
    assert [item["status"] for item in after["list"]] == ["completed", "completed", "in_progress"]
    assert after["list"][1]["cycles"] == 3
    assert after["current"] == "s3"


def test_another_plan_is_not_ours() -> None:
    """Never taken for an edit of this run, whatever it says."""
    edit = edit_of(fresh(), {"plan_id": "plan-2"})
    assert edit is not None
    assert edit.kind == "other-plan"
    assert "plan-2" in edit.reason


def test_without_a_run_any_foreign_file_is_an_edit() -> None:
    """Whether it is adopted is the caller's to decide."""
    edit = observe(View(ledger="00"), b'{"state": "RUNNING"}', 0)
    assert edit is not None
    assert edit.kind == "edit"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]"])
def test_what_cannot_be_read_is_kept_aside(data: bytes) -> None:
    """Bytes that say nothing change nothing of the run."""
    edit = observe(fresh(), data, 8)
    assert edit is not None
    assert (edit.kind, edit.document) == ("unreadable", None)
    assert edit.reason


def test_a_byte_order_mark_on_our_own_version_is_an_edit() -> None:
    """Not one byte of ours may differ unseen."""
    view = fresh()
    edit = observe(view, b"\xef\xbb\xbf" + text_of(view).encode(), 8)
    assert edit is not None
    assert edit.kind == "edit"


def test_a_version_from_beyond_the_journals_end_is_loud() -> None:
    """The journal lost acknowledged records: nothing goes on as if they had never been."""
    view = fresh()
    text = text_of(view)
    view.lsn = 7
    with pytest.raises(LedgerCorrupt) as caught:
        observe(view, text.encode(), 7)
    assert "LSN 8" in caught.value.message


def test_a_later_version_of_the_format_is_not_touched() -> None:
    """It is refused, not kept aside and overwritten."""
    with pytest.raises(NewerVersion):
        edit_of(fresh(), {"ledger.version": 2})


# --- a new run over an old file ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_new_run_over_a_real_file(path: Path) -> None:
    """What is ours begins anew; foreign fields outside the old plan's sprints stay, in their order."""
    data = path.read_bytes()
    text = renewed(data.decode(), plan_id="plan-new", branch="", sprints=["a", "b"], at=AT)
    run = Run(
        "r2", "plan-new", started=AT, last_activity=AT, sprints=[SprintView("a"), SprintView("b")], total=2
    )
    run.document, run.current = text, "a"
    after = text_of(View(ledger="00", lsn=1, at=AT, run=run))
    keeps_the_format(after)
    new = json.loads(after)
    assert (new["plan_id"], new["state"]) == ("plan-new", RUNNING)
    assert new["timestamps"]["started"] == "2026-11-29T12:00:00Z"
    assert "started_at" not in new["timestamps"]
    assert new["sprints"]["list"] == [{"id": name, "status": "pending", "cycles": 0} for name in "ab"]
    ours = {"plan_id", "timestamps", "sprints"}
    assert [pair for pair in foreign(after) if pair[0] not in ours] == [
        pair for pair in foreign(data.decode()) if pair[0] not in ours
    ]
    assert list(new)[: len(json.loads(data))] == list(json.loads(data))


def test_a_new_run_over_a_halted_file_inherits_no_failure() -> None:
    """The old reason belongs to the old run."""
    old = text_of(fresh(state=HALTED, reason="old"))
    new = json.loads(renewed(old, plan_id="p2", branch="b2", sprints=[], at=AT))
    assert "failure" not in new
    assert (new["branch"], new["sprints"]["list"], new["sprints"]["total"]) == ("b2", [], 0)
