"""The fold, record by record: what is known afterwards, and what is not touched."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from runledger import record as r
from runledger.fold import advance, fold
from runledger.fold_steps import MARKS_KEPT
from runledger.view import Damage, Identity, View, identity_of

AT = "2026-11-29T14:20:11.123456Z"
LATER = "2026-11-29T14:21:00.000000Z"

OF_A = Identity("r-1", "pay", "a")


def fields(lsn: int, **more: Any) -> dict[str, Any]:
    """The fields that every record has."""
    return {"lsn": lsn, "at": AT, "run": "r-1", "owner": "o-1", **more}


def started(lsn: int = 1, **more: Any) -> r.Started:
    """A run of two sprints."""
    return r.Started(**fields(lsn), **{"plan_id": "p-1", "sprints": ["1", "2"], **more})


def intent(lsn: int, key: str | None = "a", **more: Any) -> r.Intent:
    """An intent of the step ``pay``."""
    return r.Intent(**fields(lsn, steps=1), name="pay", key=key, **more)


def commit(lsn: int, of: int, key: str | None = "a", **more: Any) -> r.Commit:
    """Its commit."""
    return r.Commit(**fields(lsn, steps=1), of=of, name="pay", key=key, **more)


def view_of(*items: r.Record | Damage) -> View:
    """What is known after these."""
    return fold(View(ledger="00"), items)


def run_of(view: View) -> Any:
    """The run, which is there."""
    assert view.run is not None
    return view.run


# --- owners ---------------------------------------------------------------------------------------------


def opened(lsn: int, owner: str = "o-1") -> r.Opened:
    """An owner comes."""
    facts = {"pid": 7, "start": 8, "boot": "b", "pidns": "9", "host": "h"}
    return r.Opened(lsn=lsn, at=AT, owner=owner, **facts, version="0.1.0", commit="riding")


def test_owner_comes_and_goes() -> None:
    """One that closed in good order is no longer looked for."""
    view = view_of(opened(1), opened(2, "o-2"), r.Closed(lsn=3, at=AT, owner="o-1"))
    assert list(view.owners) == ["o-2"]
    assert (view.owners["o-2"].pid, view.owners["o-2"].commit, view.deaths) == (7, "riding", 0)


def test_dead_owner_is_counted() -> None:
    """Its steps stay open: that it is dead says nothing of what it did."""
    view = view_of(
        opened(1),
        started(2),
        intent(3),
        r.Lost(lsn=4, at=AT, owner="o-2", who="o-1", proof="its lock is free"),
    )
    assert (view.owners, view.deaths) == ({}, 1)
    assert view.open[3].by is not None
    assert view.open[3].by.pid == 7


# --- the run --------------------------------------------------------------------------------------------


def test_run_starts() -> None:
    """RUNNING, its first sprint the current one."""
    run = run_of(view_of(started(branch="main", declared_branch=True)))
    assert (run.id, run.plan_id, run.state, run.branch, run.declared_branch) == (
        "r-1",
        "p-1",
        "RUNNING",
        "main",
        True,
    )
    assert (run.total, run.completed, run.current, run.started, run.moved) == (2, 0, "1", AT, 1)


def test_current_sprint_is_the_one_in_progress_else_the_first_pending() -> None:
    """Not the last one named: completing a later sprint leaves an earlier one to be done."""
    moves = [
        ("2", "in_progress", "2"),
        ("2", "completed", "1"),
        ("1", "in_progress", "1"),
        ("1", "completed", None),
    ]
    view = view_of(started())
    for at, (sprint, status, current) in enumerate(moves, start=2):
        advance(view, r.Sprint(**fields(at), id=sprint, status=status))
        assert run_of(view).current == current
    assert (run_of(view).completed, [s.cycles for s in run_of(view).sprints]) == (2, [1, 1])


def test_unlisted_sprint_is_added() -> None:
    """A run that was started without a list gets one as its sprints are named."""
    run = run_of(view_of(started(sprints=[]), r.Sprint(**fields(2), id="x", status="in_progress")))
    assert ([s.id for s in run.sprints], run.total, run.current) == (["x"], 1, "x")


def test_halt_and_resume() -> None:
    """A halt keeps its reason, sprint and time; a resume clears all three."""
    view = view_of(started(), r.Halted(**{**fields(2), "at": LATER}, reason="no disk"))
    run = run_of(view)
    assert (run.state, run.reason, run.failure_sprint, run.failed_at, run.moved) == (
        "HALTED",
        "no disk",
        "1",
        LATER,
        2,
    )
    advance(view, r.Resumed(**fields(3), by="kim"))
    run = run_of(view)
    assert (run.state, run.reason, run.failure_sprint, run.failed_at, run.moved) == (
        "RUNNING",
        None,
        None,
        None,
        3,
    )


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (r.Finished(**fields(2), forced=True, reason="enough"), "enough"),
        (r.Finished(**fields(2)), None),
        (r.Abandoned(**fields(2), reason="other plan"), "abandoned: other plan"),
    ],
    ids=["forced", "finished", "abandoned"],
)
def test_run_ends(record: r.Record, reason: str | None) -> None:
    """JACKED_OUT, with the reason where one was given."""
    run = run_of(view_of(started(), record))
    assert (run.state, run.reason) == ("JACKED_OUT", reason)


def test_activity_follows_what_the_run_does() -> None:
    """Owners that come and go are no activity, and nothing moves it once the run is not RUNNING."""
    view = view_of(started(), msgspec.structs.replace(opened(2), at=LATER))
    assert run_of(view).last_activity == AT
    advance(view, r.Heartbeat(**{**fields(3), "at": LATER}))
    assert run_of(view).last_activity == LATER
    advance(view, r.Halted(**fields(4), reason="x"))
    advance(view, commit(5, 9))
    assert run_of(view).last_activity == AT
    advance(view, msgspec.structs.replace(commit(6, 9), at=LATER))
    assert run_of(view).last_activity == AT


def test_observed_edit_is_folded_in() -> None:
    """A state word set by hand is obeyed; what the file does not say stays."""
    text = '{"plan_id": "p-1", "state": "HALTED", "extra": 1}'
    run = run_of(view_of(started(), r.Observed(**fields(2), document=text)))
    assert (run.state, run.reason, run.document, run.moved) == (
        "HALTED",
        "halted by hand in the state file",
        text,
        2,
    )
    assert [s.id for s in run.sprints] == ["1", "2"]


def test_ignored_edit_changes_foreign_fields_alone() -> None:
    """It was recorded with the reason why its word is not obeyed."""
    text = '{"plan_id": "p-1", "state": "RUNNING", "extra": 1}'
    end = r.Finished(**fields(2))
    run = run_of(view_of(started(), end, r.Observed(**fields(3), document=text, ignored="it is older")))
    assert (run.state, run.document) == ("JACKED_OUT", text)


def test_rejected_copy_changes_nothing() -> None:
    """The file could not be read; where it is kept is on record."""
    view = view_of(started())
    before = msgspec.json.encode(view.run)
    advance(view, r.Observed(**fields(2), rejected="sprint-plan-state.json.rejected-1", ignored="no JSON"))
    assert msgspec.json.encode(view.run) == before


def test_adopted_file_is_the_run() -> None:
    """What somebody else wrote is taken over as it stands."""
    sprints = '{"list": [{"id": "7", "status": "pending"}]}'
    text = f'{{"plan_id": "theirs", "branch": "b", "state": "HALTED", "sprints": {sprints}}}'
    run = run_of(view_of(r.Adopted(**fields(1), document=text)))
    assert (run.id, run.plan_id, run.state, run.document) == ("r-1", "theirs", "HALTED", text)
    assert (run.branch, run.declared_branch, [s.id for s in run.sprints]) == ("b", True, ["7"])


# --- steps ----------------------------------------------------------------------------------------------


def test_intent_opens_and_commit_settles() -> None:
    """The result, its marks and the inputs go with it."""
    view = view_of(started(), intent(2, inputs="abc", code="c0de"))
    assert (view.keys, list(view.open), view.settled) == ({OF_A: 2}, [2], {})
    advance(view, r.Mark(**fields(3), of=2, label="sent", data=Raw(b'{"id":7}')))
    advance(view, commit(4, 2, inputs="abc", result=Raw(b"42")))
    assert (view.keys, view.open) == ({}, {})
    settled = view.settled[OF_A]
    assert (settled.status, settled.lsn, settled.of, settled.attempt, settled.started) == (
        "committed",
        4,
        2,
        1,
        AT,
    )
    assert (bytes(settled.result), settled.inputs, settled.code, settled.marks[0].label) == (
        b"42",
        "abc",
        "c0de",
        "sent",
    )
    assert (run_of(view).committed, run_of(view).last_commit) == (1, "pay a")


def test_abort_settles_without_identity() -> None:
    """It is found by the intent's number."""
    view = view_of(started(), intent(2), r.Abort(**fields(3), of=2, reason="refused"))
    assert (view.settled[OF_A].status, view.settled[OF_A].reason, run_of(view).aborted) == (
        "aborted",
        "refused",
        1,
    )


def test_doubt_keeps_the_step_open() -> None:
    """The call is over, whoever lives."""
    view = view_of(started(), intent(2), r.Doubt(**fields(3), of=2, failure=r.Failure("OSError", "no")))
    assert (view.open[2].over, view.open[2].failure) == (True, r.Failure("OSError", "no"))


def test_next_attempt_takes_the_place_of_the_last() -> None:
    """One identity has one open attempt; the state that the earlier one saved goes over to it."""
    first = intent(2, idempotent=True)
    saved = r.Checkpoint(**fields(3), of=2, state=Raw(b"[5]"))
    view = view_of(started(), first, saved, intent(4, idempotent=True, attempt=2))
    assert (list(view.open), view.keys) == ([4], {OF_A: 4})
    assert view.open[4].saved is not None
    assert bytes(view.open[4].saved.state) == b"[5]"


def test_intent_after_an_abort_forgets_the_abort() -> None:
    """The step is open again, and nothing else is known of it."""
    view = view_of(started(), intent(2), r.Abort(**fields(3), of=2), intent(4, attempt=2))
    assert (view.settled, view.keys) == ({}, {OF_A: 4})


def test_late_outcome_of_an_old_attempt_leaves_the_new_one_open() -> None:
    """It happened then; whether it happened again is not known."""
    view = view_of(started(), intent(2, idempotent=True), intent(3, attempt=2, idempotent=True), commit(4, 2))
    assert list(view.open) == [3]


def test_scopes_keep_keys_apart() -> None:
    """A key of one run is not that of the next; a key of the ledger is that of all."""
    assert identity_of("run", "r-1", "pay", "a") == OF_A
    assert identity_of("ledger", "r-1", "pay", "a") == Identity("", "pay", "a")
    assert identity_of("run", "r-1", "pay", None) is None
    view = view_of(started(), intent(2), intent(3, scope="ledger"))
    assert view.keys == {OF_A: 2, Identity("", "pay", "a"): 3}


def test_keyless_steps_are_open_until_settled() -> None:
    """Each is a step of its own, and none is remembered as committed."""
    view = view_of(started(), intent(2, key=None), intent(3, key=None), commit(4, 2, key=None))
    assert (list(view.open), view.keys, view.settled) == ([3], {}, {})
    assert (run_of(view).committed, run_of(view).last_commit) == (1, "pay")


def test_marks_shown_are_bounded() -> None:
    """The last ones are kept; the journal has them all."""
    marks = [r.Mark(**fields(n + 3), of=2, label=str(n)) for n in range(MARKS_KEPT + 10)]
    view = view_of(started(), intent(2), *marks)
    labels = [mark.label for mark in view.open[2].marks]
    assert (len(labels), labels[-1]) == (MARKS_KEPT, str(MARKS_KEPT + 9))


def test_resolution_settles() -> None:
    """Either way, and it says that it was decided and not seen."""
    happened = r.Resolved(
        **fields(3), of=2, happened=True, reason="seen", name="pay", key="a", result=Raw(b'"u"')
    )
    view = view_of(started(), intent(2), happened)
    assert (view.settled[OF_A].status, view.settled[OF_A].resolved, view.settled[OF_A].reason) == (
        "committed",
        True,
        "seen",
    )
    not_happened = r.Resolved(**fields(3), of=2, happened=False, reason="looked", name="pay", key="a")
    assert view_of(started(), intent(2), not_happened).settled[OF_A].status == "aborted"


def test_records_of_the_journal_itself_change_no_answer() -> None:
    """A compaction and a heartbeat are for the timeline; a torn tail is counted."""
    view = view_of(started(), intent(2))
    after = fold(
        view,
        [
            r.Compacted(**fields(3)),
            r.Heartbeat(**fields(4)),
            r.Torn(**fields(5), segment="s", offset=1, size=2),
        ],
    )
    assert (after.open, after.keys, after.settled, after.torn) == (view.open, view.keys, view.settled, 1)


# --- damage ---------------------------------------------------------------------------------------------


def lost(first: int, last: int, **more: Any) -> Damage:
    """Records that are lost."""
    return Damage(file="f", offset=1, first=first, last=last, reason="bad", **more)


def test_lost_numbers_are_used_up() -> None:
    """The next record has the next number, and the count of intents goes on."""
    view = view_of(started(), lost(2, 4, intents=2))
    assert (view.lsn, view.steps, len(view.damage)) == (4, 2, 1)


def test_lost_outcome_leaves_the_step_open() -> None:
    """The intent is there: the step is in doubt, not forgotten."""
    assert list(view_of(started(), intent(2), lost(3, 3)).open) == [2]


def test_lost_intent_with_its_commit_is_committed() -> None:
    """A commit repeats the identity, so one lost line never loses a key."""
    view = view_of(started(), lost(2, 2, intents=1), commit(3, 2, inputs="abc"))
    assert (view.open, view.settled[OF_A].status, view.settled[OF_A].inputs) == ({}, "committed", "abc")


def test_legible_step_of_lost_bytes_is_in_doubt() -> None:
    """Damage never reads as never started."""
    view = view_of(started(), lost(2, 2, intents=1, salvaged=[("run", "pay", "a")]))
    assert view.keys == {OF_A: 2}
    assert (view.open[2].over, view.open[2].damaged, view.open[2].started) == (True, True, "")


def test_step_that_was_misread_in_one_lost_record() -> None:
    """Its outcome tells who it was: nobody has to settle a step that never was."""
    view = view_of(started(), lost(2, 2, intents=1, salvaged=[("run", "qay", "a")]), commit(3, 2))
    assert (view.open, view.keys, view.settled[OF_A].status) == ({}, {}, "committed")


def test_step_that_was_misread_in_several_lost_records() -> None:
    """Another of them may have been that step: it stays in doubt."""
    view = view_of(started(), lost(2, 3, intents=2, salvaged=[("run", "qay", "a")]), commit(4, 2))
    assert ([step.name for step in view.open.values()], view.settled[OF_A].status) == (["qay"], "committed")


def test_legible_step_that_is_known_stays_as_it_is() -> None:
    """A bad copy of what is known adds nothing."""
    view = view_of(started(), intent(2), commit(3, 2), lost(4, 4, salvaged=[("run", "pay", "a")]))
    assert (view.open, view.settled[OF_A].status) == ({}, "committed")


def test_resolution_by_number_ends_the_damage() -> None:
    """Somebody looked: the numbers stay used up, new keys may run."""
    view = view_of(
        started(), lost(2, 4, intents=1), r.Resolved(**fields(5), of=3, happened=False, reason="looked")
    )
    assert (view.damage, view.lsn) == ([], 5)


# --- purity ---------------------------------------------------------------------------------------------


def test_fold_leaves_its_view_alone() -> None:
    """``advance`` works in place; ``fold`` does not."""
    view = view_of(started(), intent(2))
    before = msgspec.json.encode(view.open)
    fold(view, [commit(3, 2)])
    assert msgspec.json.encode(view.open) == before
    assert view.lsn == 2
