"""The advice where there is little to go by: a death a second, costs that are not told, lives that end in a kill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runledger.advice.cost import RecordCost, record_cost
from runledger.advice.judge import DAY, judged
from runledger.advice.report import as_json
from runledger.clock import parse
from runledger.lives import OwnerLife, moments
from runledger.past import look
from runledger.past.model import Attempt, Mark, Past
from runledger.pictures.page import as_html
from runledger.sweep.child import Seen
from runledger.sweep.driver import _Account
from runledger.timeline import report as course
from runledger.timeline.report import CARRIED

COST = RecordCost(0.004, 0.0004, "told by the test")


def attempt(lsn: int, started: float, ended: float | None, **facts: Any) -> Attempt:
    """One attempt of a step ``work`` that may be repeated, committed where it ended."""
    return Attempt(
        lsn=lsn,
        name="work",
        key=str(lsn),
        attempt=1,
        owner="o",
        started=started,
        ended=ended,
        status="again" if ended is None else "committed",
        idempotent=True,
        **facts,
    )


def past_of(attempts: list[Attempt], *, seconds: float, deaths: int = 0, **facts: Any) -> Past:
    """A past of one owner who was at work for so long; of the deaths no more is known than how many they were."""
    usual: dict[str, Any] = {"events": [], "plan": None, "first": 1, "lsn": 100, "alive": [], "unburied": []}
    usual |= {"beats": [], "done": [], "gaps": [], "light_gaps": [], "riding": False, "now": seconds}
    owner = OwnerLife(owner="o", first=0.0, last=seconds, ended="closed")
    return Past(attempts=attempts, owners={"o": owner}, deaths=deaths, **{**usual, **facts})


@pytest.mark.parametrize("deaths", [1, 2, 30])
def test_no_day_has_more_than_a_day_to_redo(deaths: int) -> None:
    """However often it dies: what is redone, and what would be saved, is at most all of the time."""
    found = as_json(judged(past_of([attempt(1, 0.0, 9.0)], seconds=10.0, deaths=deaths), COST))
    (step,) = found["steps"]
    for share in (step["redo_per_day"], step["saving_per_day"]):
        assert 0 < share["low"] < share["value"] < share["high"] <= DAY
    assert step["saving_per_day"]["value"] < step["redo_per_day"]["value"]


def test_steps_side_by_side_redo_as_many_days_as_they_are() -> None:
    """Eight threads' work is at most eight days a day."""
    side_by_side = [attempt(lsn, 0.0, 10.0) for lsn in range(1, 9)]
    (step,) = as_json(judged(past_of(side_by_side, seconds=10.0, deaths=30), COST))["steps"]
    assert DAY < step["redo_per_day"]["value"] <= 8 * DAY


def test_where_marks_do_not_tell_the_cost_it_is_said() -> None:
    """Steps without a number, and numbers that add up to less than nothing, count as none spent."""
    told = [[Mark(0.0, "call", {"tokens": tokens})] for tokens in (100, -300)]
    attempts = [attempt(1, 0, 1, marks=told[0]), attempt(2, 1, 2, marks=told[1]), attempt(3, 2, 3)]
    found = as_json(judged(past_of(attempts, seconds=4.0), COST, "tokens"))
    assert found["steps"][0]["cost"] == pytest.approx(100 / 3)
    said = "\n".join(found["uncertain"])
    assert "work: no mark in 1 of 3 has a number under tokens" in said
    assert "work: in 1 of 3 the tokens add up to less than 0" in said


def test_of_folded_steps_it_is_not_said_that_they_are_effects() -> None:
    """Whether they may be repeated is not on record: both ways are told; what is quicker than a sync had none."""
    long = [attempt(n, 100.0 * n, 100.0 * n + 90, folded=True) for n in range(1, 11)]
    quick = [attempt(n, 2000.0, 2000.002, folded=True) for n in range(11, 31)]
    for one in quick:
        one.name = "tick"
    past = past_of([*long, *quick], seconds=3000.0, deaths=10)
    slow, tick = as_json(judged(past, COST))["steps"]
    assert (slow["name"], slow["verdict"], slow["sure"], slow["idempotent"]) == (
        "work",
        "too coarse",
        False,
        None,
    )
    assert slow["advice"].startswith("Whether it may be repeated is not on record. If it may: save inside it")
    assert "one effect outside, it cannot be split" in slow["advice"]
    assert tick["ledger_share"] == pytest.approx(0.0008 / (0.002 - 0.0004 + 0.0008), rel=0.01)


def test_what_rides_is_not_taken_from_what_is_synced(tmp_path: Path) -> None:
    """Where the journal tells only what a synced record costs, the other is measured, or not known."""
    past = past_of([], seconds=1.0, gaps=[0.5] * 40)
    untold = record_cost(past, str(tmp_path), measure=False)
    assert (untold.durable, untold.riding) == (0.5, None)
    found = record_cost(past, str(tmp_path))
    assert found.durable == 0.5
    assert found.riding is not None
    assert found.riding < 0.5
    assert "what rides was measured now" in found.how
    assert list(tmp_path.iterdir()) == []


def test_a_long_journal_tells_how_far_it_was_read(lived: Path) -> None:
    """Shares that rise from 0 to 1, for a bar."""
    shares: list[float] = []
    look(lived, shares.append)
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1


def test_moments_are_those_of_the_clock() -> None:
    """A journal's stamps are read as by ``parse``, whichever come before them, and what is none is none."""
    stamps = [
        f"2026-11-29T14:20:{second:02}.{part}Z"
        for second in (0, 1, 59, 60, 61)
        for part in ("000000", "999999")
    ]
    stamps += [
        "2026-11-29T14:20:01Z",
        "2026-13-29T14:20:11.123456Z",
        "",
        "2026-11-29 14:20:11.123456Z",
        "x" * 27,
    ]
    stamps += ["2026-11-29T14:20:11.12³456Z", "2026-11-29T14:20:11.123456+", "2026-11-29T14:20:11,123456Z"]
    moment = moments()
    for stamp in [*stamps, *reversed(stamps), "1970-01-01T00:00:00.000001Z"]:
        assert moment(stamp) == parse(stamp), stamp


def test_a_page_of_a_huge_run_carries_its_last_attempts() -> None:
    """So many that a phone can open it; all else is whole, and the JSON has all."""
    past = past_of([attempt(n, float(n), n + 0.5) for n in range(1, CARRIED + 11)], seconds=9000.0)
    said = course(past)
    assert len(said.data["attempts"]) == CARRIED + 10
    assert said.carried["attempts"] == said.data["attempts"][10:]
    assert {**said.carried, "attempts": said.data["attempts"]} == said.data
    assert as_html(said).count('"saves":') == CARRIED


def test_a_life_ends_with_its_last_sign() -> None:
    """A child that kept a record after its kill was due, and before it came, has lived until then."""
    account = _Account([1.0, 1.0])
    account.life(Seen(ready=10.0, resumed=0, kept=11.5, done=1, records=1, overhead=0.5), killed=11.4)
    account.life(Seen(ready=11.9, resumed=1, kept=13.0, done=2, records=1, overhead=0.1), killed=None)
    parts = 2.0 + account.overhead + account.redone + account.recovery
    assert account.ended - account.began == pytest.approx(parts)
    assert account.redone == 0
