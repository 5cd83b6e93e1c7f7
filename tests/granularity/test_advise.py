"""``advise`` and ``report`` on real journals, whose clock was told."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from runledger import Ledger
from runledger.advice import advise
from runledger.advice.cost import RecordCost
from runledger.advice.judge import judged
from runledger.advice.report import as_json
from runledger.advice.report import report as told
from runledger.errors import UsageError
from runledger.granularity import failure_rate, optimal_interval
from runledger.past import look
from runledger.past.model import Attempt, Mark
from runledger.pictures.document import as_markdown, as_text
from runledger.timeline import as_json as course
from runledger.timeline import report as told_course
from tests.granularity.conftest import LIFE, work
from tests.support.children import Child, Ended, command

COST = RecordCost(0.004, 0.0004, "told by the test")


def said(root: Path, *words: str) -> Any:
    """What a command answers as JSON."""
    ended: Ended = command(root, *words, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.lines[0])


def test_it_names_the_coarse_and_the_tiny(root: Path) -> None:
    """Ten steps of two hours are too coarse, ten thousand that do nothing too fine, one effect is not to be split."""
    work(root, lives=4, tiny=10_000)
    found = said(root, "advise")
    verdicts = {step["name"]: (step["verdict"], step["count"]) for step in found["steps"]}
    assert verdicts == {
        "train": ("too coarse", 10),
        "send": ("one effect", 1),
        "gather": ("well", 1),
        "fetch": ("well", 3),
        "tick": ("too fine", 10_000),
    }
    train, tick = (next(s for s in found["steps"] if s["name"] == name) for name in ("train", "tick"))
    assert train["redo_per_death"] == pytest.approx(3600, rel=0.01)
    assert "ledger.every" in train["advice"]
    assert tick["ledger_share"] > 0.5


def test_deaths_are_counted_and_what_each_cost(lived: Path) -> None:
    """Six owners never closed; each lost between nothing and an hour of a step that was done again."""
    found = as_json(judged(look(lived), COST))
    deaths = found["deaths"]
    assert deaths["count"] == 6
    assert deaths["per_second"] == pytest.approx(6 / deaths["exposure"])
    rate = failure_rate(6, deaths["exposure"])
    assert (deaths["low"], deaths["high"]) == (pytest.approx(rate.low), pytest.approx(rate.high))
    assert 24 * 3600 < deaths["exposure"] < 36 * 3600
    assert len(found["each_death"]) == 6
    for death in found["each_death"]:
        (step,) = death["steps"]
        assert (step["name"], step["became"]) == ("train", "it was done again")
        assert 0 <= step["low"] < 1
        assert step["high"] == pytest.approx(3600 + 60, rel=0.02)


def test_the_best_interval_is_the_arithmetics(lived: Path) -> None:
    """From the record's cost and the deaths that were counted, ends of the range included."""
    found = as_json(judged(look(lived), COST))
    train = next(step for step in found["steps"] if step["name"] == "train")
    rate = failure_rate(6, found["deaths"]["exposure"])
    assert rate.mean_time is not None
    assert train["best_interval"]["value"] == pytest.approx(optimal_interval(0.004, rate.mean_time))
    assert train["best_interval"]["low"] == pytest.approx(optimal_interval(0.004, rate.shortest_mean_time))
    assert train["saving_per_day"]["low"] < train["saving_per_day"]["value"] < train["saving_per_day"]["high"]
    assert train["saving_per_day"]["value"] <= train["redo_per_day"]["value"]


def test_without_a_death_no_rate_is_invented(deathless: Path) -> None:
    """There is a bound and no number, no step is called too coarse, and what a death would take is said."""
    advice = judged(look(deathless), COST)
    found = as_json(advice)
    assert (found["deaths"]["count"], found["deaths"]["per_second"], found["deaths"]["low"]) == (0, None, 0)
    assert found["deaths"]["high"] == pytest.approx(-math.log(0.05) / found["deaths"]["exposure"])
    verdicts = {step["name"]: step["verdict"] for step in found["steps"]}
    assert (verdicts["train"], verdicts["tick"]) == ("cannot tell", "too fine")
    assert all(step["saving_per_day"] is None for step in found["steps"])
    assert all((step["best_interval"] or {}).get("value") is None for step in found["steps"])
    text = "\n".join(as_text(told(advice)))
    assert "No death was seen" in text
    assert "a death inside train costs most" in text


def test_of_few_deaths_a_range_is_given(root: Path) -> None:
    """With two deaths the words give the range, and no average."""
    work(root, lives=2, tiny=20)
    text = " ".join(as_text(told(judged(look(root), COST)), 1000))
    assert "2 deaths in" in text
    assert "few, so all that is known of the rate" in text
    assert "on average" not in text


def test_costs_in_a_column_of_marks(lived: Path) -> None:
    """Redone tokens are as many as the time redone would have cost; a column that is nowhere is refused by name."""
    seconds, tokens = (judged(look(lived), COST, unit) for unit in ("seconds", "tokens"))
    by_time, by_token = (next(s for s in a.steps if s.group.name == "train") for a in (seconds, tokens))
    assert by_token.group.cost == pytest.approx(70_004.5)
    assert by_token.per_death == pytest.approx(by_time.per_death * 70_004.5 / by_time.group.seconds.mean)
    assert "tokens" in "\n".join(as_text(told(tokens)))
    with pytest.raises(UsageError, match="eggs") as refused:
        advise(lived, unit="eggs", measure=False)
    assert "tokens" in refused.value.hint


def test_after_a_compaction_it_says_what_it_no_longer_knows(root: Path) -> None:
    """Durations and the number of deaths are still there; what each cost is not, and that is said."""
    work(root, lives=3, tiny=20)
    before = as_json(judged(look(root), COST))
    with Ledger.open(root) as ledger:
        ledger.compact()
    after = as_json(judged(look(root), COST))
    assert after["deaths"]["count"] == before["deaths"]["count"] == 3
    assert after["each_death"] == []
    assert any("only the number is known" in line for line in after["uncertain"])
    durations = {step["name"]: step["seconds"] for step in after["steps"]}
    assert durations["train"] == next(s["seconds"] for s in before["steps"] if s["name"] == "train")


SAVED = (
    LIFE
    + """
with Ledger.open() as ledger, ledger.step("index", key="all", idempotent=True) as step:
    for number in range(step.resumed_from or 0, 6):
        clock.pass_by(1000)
        if number == 3 and step.attempt == 1:
            die()
        step.checkpoint(number + 1)
say(clock.now)
"""
)


def test_saves_are_boundaries_in_attempts_that_were_cut_off_too(root: Path) -> None:
    """What was saved before a death is work that was done; only what came after it is lost."""
    now = 1_700_000_000.0
    for _ in range(2):
        with Child(SAVED, root, now) as child:
            now = float(child.line()) + 60
            child.end()
    found = as_json(judged(look(root), COST))
    (step,) = found["steps"]
    assert (step["count"], step["saves"]) == (1, 6)
    assert step["longest_stretch"] == pytest.approx(1000, rel=0.01)
    assert step["redo_per_death"] == pytest.approx(500, rel=0.01)
    assert step["verdict"] == "too coarse"
    assert "It is saved about every 17 min" in step["advice"]
    (death,) = found["each_death"]
    assert death["steps"][0]["low"] < 1
    assert death["steps"][0]["high"] == pytest.approx(1060, rel=0.01)


def test_what_a_record_costs_is_said_and_how(lived: Path, root: Path) -> None:
    """Measured where the journal has few gaps, from them where it has many, unknown where nothing may be written."""
    assert "measured now" in said(lived, "advise")["record_cost"]["how"]
    untold = said(lived, "advise", "--no-measure")
    assert untold["record_cost"]["durable"] is None
    assert {step["verdict"] for step in untold["steps"]} == {"cannot tell", "too fine"}
    with Ledger.open(root) as ledger:
        for number in range(40):
            with ledger.step("note", key=str(number)):
                pass
    cost = said(root, "advise")["record_cost"]
    assert "from the journal" in cost["how"]
    assert 0 < cost["durable"] < 1


def test_measuring_leaves_nothing_behind(deathless: Path) -> None:
    """The scratch ledger is gone, and the journal is as it was."""
    before = sorted(str(path) for path in (deathless / ".run").rglob("*"))
    said(deathless, "advise")
    assert sorted(str(path) for path in (deathless / ".run").rglob("*")) == before


def test_nothing_yet(root: Path) -> None:
    """An empty directory has no ledger to speak of; a run without a step has nothing to advise on."""
    assert command(root, "advise").code == command(root, "report").code == 78
    with Ledger.open(root) as ledger:
        ledger.start("plan")
    assert "nothing to advise on" in "\n".join(command(root, "advise").lines)
    assert "RUNNING: plan" in "\n".join(command(root, "report").lines)


def test_the_course_of_the_run(lived: Path) -> None:
    """Attempts, nested lanes, deaths, the plan, and the hours of heartbeats without progress."""
    found = said(lived, "report")
    assert found["counts"] == {"again": 6, "committed": 315}
    assert (found["state"], found["deaths"]) == ("RUNNING", 6)
    assert found["sprints"] == {"total": 2, "completed": 1, "current": "sprint-2"}
    lanes = [(tuple(lane["path"]), lane["name"], lane["attempts"]) for lane in found["lanes"]]
    assert lanes == [
        ((), "train", 16),
        ((), "send", 1),
        ((), "gather", 1),
        (("gather",), "fetch", 3),
        ((), "tick", 300),
    ]
    assert [event["kind"] for event in found["events"]].count("death") == 6
    (stall,) = found["stalls"]
    assert stall["seconds"] == pytest.approx(6 * 2400, rel=0.01)
    assert stall["signs"] == found["heartbeats"] == 6


def test_a_slow_step_is_no_stall(deathless: Path) -> None:
    """Two hours inside a step that commits are no alarm; four hours of heartbeats alone are."""
    assert len(course(look(deathless))["stalls"]) == 1


@pytest.mark.parametrize("width", [40, 80, 120])
def test_it_fits_the_terminal(lived: Path, width: int) -> None:
    """No line of either report is wider, its plot and legend included, but for a heading."""
    for told_of in (told(judged(look(lived), COST)), told_course(look(lived))):
        headings = {section.title for section in told_of.sections}
        assert [line for line in as_text(told_of, width) if len(line) > width and line not in headings] == []


def test_the_same_in_markdown(lived: Path) -> None:
    """Every name and count of the JSON is in the Markdown's tables."""
    ended = command(lived, "advise", "--markdown")
    text = "\n".join(ended.lines)
    for step in said(lived, "advise")["steps"]:
        assert f"| {step['name']} | {step['verdict']} | {step['count']:,} |" in text
    assert as_markdown(told_course(look(lived))).startswith("# The run so far")


def test_names_of_any_kind_do_nothing_to_the_reader(root: Path) -> None:
    """Markup, pipes and control characters in names reach no form of a report unescaped."""
    name = "<script>alert(1)</script>|\x1b[31m`x`"
    with Ledger.open(root) as ledger:
        for number in range(3):
            with ledger.step(name, key=str(number)) as step:
                step.mark(name, note=name)
    for words in (
        ("report",),
        ("report", "--markdown"),
        ("advise", "--no-measure"),
        ("advise", "--markdown"),
    ):
        assert "\x1b" not in "\n".join(command(root, *words).lines)
    assert "<script>" not in "\n".join(command(root, "report", "--markdown").lines)
    command(root, "report", "--html", "page.html")
    page = (root / "page.html").read_text("utf-8")
    assert page.count("<script") == 1
    assert page.count("\x1b") == 0


def test_a_column_of_anything_is_only_summed_where_it_is_a_number() -> None:
    """Text, truth and nothing are no cost."""
    attempt = Attempt(
        lsn=1, name="a", key="b", attempt=1, owner="o", started=0.0, ended=1.0, status="committed",
        marks=[Mark(0.0, "m", data) for data in ({"n": 2}, {"n": "3"}, {"n": True}, None, [1], {"n": 1.5})],
    )  # fmt: skip
    assert attempt.cost("n") == 3.5
