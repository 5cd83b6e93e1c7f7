"""Reading any state file: what real ones say, what odd ones say, and bytes that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runledger.errors import NewerVersion
from runledger.run_state import HALTED, INVALID, JACKED_OUT, RUNNING
from runledger.state_reading import LARGEST, Reading, Unreadable, apply_reading, read
from runledger.view import SprintView

FILES = sorted((Path(__file__).parents[1] / "data" / "state-files").glob("*.json"))


def say(**fields: Any) -> Reading:
    """The reading of a small document."""
    return read(json.dumps({"plan_id": "p", "state": RUNNING, **fields}).encode())


def test_all_real_files_are_there() -> None:
    """The cases below run over all of them."""
    assert len(FILES) == 22


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_files(path: Path) -> None:
    """Every field of a real file is read as a plain JSON parser reads it."""
    data = path.read_bytes()
    raw = json.loads(data)
    reading = read(data)
    words = {"COMPLETE": JACKED_OUT, "COMPLETED": JACKED_OUT}
    assert reading.document == data.decode()
    assert reading.word == raw["state"]
    assert reading.state == words.get(raw["state"], raw["state"])
    assert reading.plan_id == raw["plan_id"]
    assert reading.branch == raw.get("branch", "")
    times = raw["timestamps"]
    assert reading.started == times.get("started", times.get("started_at"))
    assert reading.last_activity == times.get("last_activity", "")
    assert reading.current == raw["sprints"]["current"]
    assert reading.total == raw["sprints"]["total"]
    assert reading.sprints == [
        SprintView(id=one["id"], status=one["status"], cycles=one.get("cycles", 0))
        for one in raw["sprints"]["list"]
    ]
    assert reading.completed == sum(one["status"] == "completed" for one in raw["sprints"]["list"])
    assert reading.reason == raw.get("pause", {}).get("reason")
    assert reading.failure_sprint == raw.get("pause", {}).get("at_sprint")
    assert reading.ledger is None
    assert not reading.foreign_ledger


def test_what_is_translated_or_recounted_is_said() -> None:
    """A real file whose count disagrees with its list, and one with a foreign word, each have one note."""
    notes = {path.name[:2]: read(path.read_bytes()).notes for path in FILES}
    assert notes.pop("01") == ["completed says 0 but the list has 1 completed; the list is followed"]
    assert notes.pop("05") == ["completed says 2 but the list has 3 completed; the list is followed"]
    assert notes.pop("21") == ["COMPLETE is read as JACKED_OUT"]
    assert notes.pop("22") == ["COMPLETED is read as JACKED_OUT"]
    assert not any(notes.values())


@pytest.mark.parametrize("word", ["running", "PAUSED", "", None, 1, ["RUNNING"], {"a": 1}, True])
def test_a_word_that_is_none_of_the_three(word: object) -> None:
    """It is INVALID, with a note, whatever its type."""
    reading = say(state=word)
    assert reading.state == INVALID
    assert len(reading.notes) == 1
    assert reading.word == (word if isinstance(word, str) else json.dumps(word))


def test_no_word_at_all() -> None:
    """An empty object says nothing, and is read."""
    reading = read(b"{}")
    assert (reading.state, reading.word, reading.plan_id, reading.sprints) == (INVALID, "", "", None)
    assert reading.notes == ["it says no state"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("plan_id", 7),
        ("branch", ["b"]),
        ("timestamps", {"started": 1}),
        ("timestamps", {"last_activity": {}}),
        ("sprints", []),
        ("sprints", {"list": {}}),
        ("sprints", {"current": 5}),
        ("sprints", {"current": "a b"}),
        ("sprints", {"total": "7"}),
        ("sprints", {"total": -1}),
        ("sprints", {"total": 1.0}),
        ("sprints", {"completed": True}),
        ("sprints", {"completed": 10**40}),
        ("sprints", {"list": [1, None, {}, {"id": 1}, {"id": ""}]}),
        ("sprints", {"list": [{"id": "a", "status": "done"}, {"id": "b", "status": 1}]}),
    ],
)
def test_odd_fields_are_noted_and_left_alone(field: str, value: object) -> None:
    """A field of another type is no error: one note says what is not followed."""
    reading = say(**{field: value})
    assert reading.state == RUNNING
    assert len(reading.notes) == 1
    assert reading.current is None


def test_odd_sprints() -> None:
    """Items without an id of their own are passed over; no status is pending, a foreign one is kept."""
    items = [{"id": "a"}, 3, {"id": "b", "status": "done", "cycles": "x"}, {"id": "a", "status": "completed"}]
    reading = say(sprints={"list": items, "completed": 2})
    assert reading.sprints == [SprintView("a"), SprintView("b", "done")]
    assert reading.completed == 0


def test_a_failure_comes_before_a_pause() -> None:
    """What this format calls failure is followed, whatever pause says."""
    pause = {"reason": "lunch", "at_sprint": "s1"}
    failure = {"sprint": "s2", "reason": "tests", "timestamp": "2026-11-29T12:00:00Z"}
    both = say(state=HALTED, pause=pause, failure=failure)
    assert (both.failure_sprint, both.reason, both.failed_at) == ("s2", "tests", "2026-11-29T12:00:00Z")
    odd = say(state=HALTED, pause=pause, failure="tests")
    assert (odd.failure_sprint, odd.reason, odd.failed_at) == ("s1", "lunch", None)


def test_our_ledger_and_somebody_elses() -> None:
    """Ours has a version, an LSN and a digest; anything else of that name is somebody's."""
    ours = say(ledger={"version": 1, "lsn": 3, "digest": "crc32:00000000", "in_doubt": []})
    assert ours.ledger is not None
    assert (ours.ledger.lsn, ours.foreign_ledger) == (3, False)
    for other in ("x", {}, {"version": 1, "lsn": 3}, {"version": "1", "lsn": 3, "digest": ""}, None):
        reading = say(ledger=other)
        assert (reading.ledger, reading.foreign_ledger) == (None, True)
    assert not say().foreign_ledger


def test_a_later_version_is_refused() -> None:
    """What a later version wrote is not guessed at."""
    with pytest.raises(NewerVersion):
        say(ledger={"version": 2, "lsn": 3, "digest": "sha256:…"})


def test_a_byte_order_mark_is_dropped_and_said() -> None:
    """Editors on other systems put one there; the document itself has none."""
    reading = read(b"\xef\xbb\xbf" + b'{"state": "RUNNING"}')
    assert reading.state == RUNNING
    assert reading.document == '{"state": "RUNNING"}'
    assert "byte order mark" in reading.notes[-1]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"RUNNING",
        b"[]",
        b'{"state": "RUNNING"',
        b'{"state": "RUNNING"}}',
        b'{"state": "RUNNING", "state": "HALTED"}',
        b'{"state": "RUNN\xff"}',
        b'{"a": NaN}',
        b'{"a": "\\ud800"}',
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        b'{"a":' + b"[" * 100_000,
        b'{"a": "' + b"x" * LARGEST + b'"}',
    ],
)
def test_what_cannot_be_read(data: bytes) -> None:
    """Damaged, doubtful, too deep or too large: the reason is told."""
    with pytest.raises(Unreadable) as caught:
        read(data)
    assert caught.value.reason


@given(
    st.binary() | st.text().map(str.encode) | st.text('{}[]":,statesprnlgd1-. ', max_size=60).map(str.encode)
)
def test_any_bytes_are_read_or_unreadable(data: bytes) -> None:
    """No bytes raise anything else."""
    try:
        document = read(data).document
    except Unreadable:
        document = None
    assert document is None or document.encode() == data.removeprefix(b"\xef\xbb\xbf")


ODD = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "RUNNING", "\x00é"])
)
TREES = st.recursive(
    ODD, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)
ITEMS = st.fixed_dictionaries({}, optional={"id": TREES, "status": TREES, "cycles": TREES}) | TREES
SPRINTS = st.fixed_dictionaries(
    {},
    optional={
        "total": TREES,
        "completed": TREES,
        "current": TREES,
        "list": st.lists(ITEMS, max_size=3) | TREES,
    },
)
NAMES = ("plan_id", "branch", "state", "timestamps", "failure", "pause", "options")
DOCUMENTS = st.fixed_dictionaries(
    {}, optional={**dict.fromkeys(NAMES, TREES), "sprints": SPRINTS | TREES, "ledger": TREES}
)


@given(DOCUMENTS)
def test_fields_of_any_type_are_read_and_taken_over(document: dict[str, Any]) -> None:
    """Any JSON in any field is read, and makes a run whose own fields have their types."""
    data = json.dumps(document).encode()
    run = apply_reading(None, read(data), run_id="r")
    assert run.state in {RUNNING, HALTED, JACKED_OUT, INVALID}
    assert run.document is not None
    assert run.document.encode() == data
    assert run.total >= len(run.sprints)
    assert run.completed >= 0
    assert run.plan_id


def test_taking_over_a_file_without_a_plan() -> None:
    """The run needs a plan id all the same, and makes one of its own id."""
    assert apply_reading(None, say(plan_id=5), run_id="r1").plan_id == "plan-r1"


def test_an_edit_keeps_what_it_does_not_say() -> None:
    """A stub with nothing but a word halts the run and takes nothing away."""
    sprints = {"total": 2, "current": "b", "list": [{"id": "a", "status": "completed"}, {"id": "b"}]}
    run = apply_reading(None, say(branch="main", sprints=sprints), run_id="r")
    after = apply_reading(run, read(b'{"state": "HALTED"}'), run_id="r")
    assert after.state == HALTED
    assert (after.plan_id, after.branch, after.current, after.total, after.completed) == (
        "p",
        "main",
        "b",
        2,
        1,
    )
    assert after.sprints == run.sprints
    assert after.sprints[0] is not run.sprints[0]
    assert after.document == '{"state": "HALTED"}'


def test_an_edit_is_followed() -> None:
    """The list, the current sprint, the branch and the reason are those of the edit."""
    run = apply_reading(None, say(sprints={"current": "a", "list": [{"id": "a"}, {"id": "b"}]}), run_id="r")
    edit = say(
        state=HALTED,
        branch="other",
        sprints={"current": None, "list": [{"id": "a", "status": "completed", "cycles": 2}]},
        failure={"sprint": "a", "reason": "stop"},
    )
    after = apply_reading(run, edit, run_id="r")
    assert (after.branch, after.current, after.completed) == ("other", None, 1)
    assert after.sprints == [SprintView("a", "completed", 2)]
    assert (after.failure_sprint, after.reason) == ("a", "stop")
    assert apply_reading(after, say(), run_id="r").reason is None


def test_an_edit_that_is_not_obeyed_gives_its_foreign_fields() -> None:
    """The text is kept, nothing of the run moves."""
    run = apply_reading(None, say(state=JACKED_OUT), run_id="r")
    after = apply_reading(run, say(state=RUNNING, extra=1), run_id="r", obey=False)
    assert after.state == JACKED_OUT
    assert after.document is not None
    assert '"extra"' in after.document


def test_an_invalid_word_is_kept_until_it_is_set_right() -> None:
    """The run knows the word, and forgets it with the next good one."""
    run = apply_reading(None, say(), run_id="r")
    invalid = apply_reading(run, say(state="PAUSED"), run_id="r")
    assert (invalid.state, invalid.word) == (INVALID, "PAUSED")
    right = apply_reading(invalid, say(), run_id="r")
    assert (right.state, right.word) == (RUNNING, None)


def test_an_old_pause_is_not_the_reason_of_a_new_halt() -> None:
    """Nobody clears a pause on resuming: only a new one, or a failure, is a reason."""
    pause = {"reason": "lunch", "at_sprint": "s1"}
    adopted = apply_reading(None, say(state=HALTED, pause=pause), run_id="r")
    assert adopted.reason == "lunch"
    resumed = apply_reading(adopted, say(pause=pause), run_id="r")
    assert apply_reading(resumed, say(state=HALTED, pause=pause), run_id="r").reason is None
    again = apply_reading(resumed, say(state=HALTED, pause={"reason": "night"}), run_id="r")
    assert again.reason == "night"


def test_a_halted_run_keeps_its_reason_over_an_edit_without_one() -> None:
    """An edit of a foreign field of a halted run does not lose why it is halted."""
    run = apply_reading(None, say(state=HALTED, failure={"reason": "tests"}), run_id="r")
    assert apply_reading(run, say(state=HALTED, note=1), run_id="r").reason == "tests"
