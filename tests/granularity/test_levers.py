"""Checkpoints inside a step, and ``ledger.every``: across real kills, and on a simulated journal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NoReturn

import pytest

from runledger import Ledger
from runledger.clock import stamp
from runledger.errors import StepInDoubt, UsageError
from runledger.granularity import (
    Clairvoyant,
    Failures,
    Life,
    Pacer,
    expected_total,
    fixed_units,
    optimal_interval,
    simulate,
)
from runledger.lives import lives_of, owners_of
from runledger.pacing import AsyncPace, Pace
from runledger.record import Closed, Lost, Mark, Opened, Record
from runledger.step import Step
from tests.support.children import Child, ran

SAVING = """
with Ledger.open() as ledger, ledger.step("train", key="m", idempotent=True) as step:
    say("resumed", step.attempt, repr(step.resumed_from))
    if step.attempt < 3:
        step.checkpoint({"epoch": step.attempt, "shape": (2, 3), "weights": b"x" * int(arguments[0])})
        say("saved")
        time.sleep(60)
    step.result = step.resumed_from["epoch"], len(step.resumed_from["weights"])
"""


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_the_next_attempt_of_a_killed_step_resumes(root: Path, size: int) -> None:
    """What ``checkpoint`` saved comes back equal in value and type, small or in a file, after each SIGKILL."""
    for attempt in (1, 2):
        with Child(SAVING, root, size) as child:
            assert child.line().startswith(f"resumed {attempt} ")
            child.until("saved")
            child.kill()
    files = list((root / ".run/ledger/results").glob("*")) if size > 1000 else []
    assert all(file.stat().st_size >= size for file in files)
    assert bool(files) == (size > 1000)
    assert "'shape': (2, 3)" in ran(SAVING, root, size).lines[0]
    with Ledger.open(root) as ledger:
        known = ledger.lookup("train", "m")
        assert known is not None
        assert (known.status, known.attempt, known.result) == ("committed", 3, (2, size))


def test_saved_state_outlives_a_compaction(root: Path) -> None:
    """An open step keeps what it saved when the records before it are dropped."""
    with Child(SAVING, root, 10) as child:
        child.until("saved")
        child.kill()
    with Ledger.open(root) as ledger:
        ledger.compact()
        with ledger.step("train", key="m", idempotent=True) as step:
            assert step.resumed_from["shape"] == (2, 3)


def saved_and_broken(step: Step, state: object) -> NoReturn:
    """A body that saves and then fails."""
    step.checkpoint(state)
    raise ZeroDivisionError


def test_a_step_that_is_not_idempotent_is_never_resumed_by_itself(root: Path) -> None:
    """It is in doubt, whatever it saved."""
    with Ledger.open(root) as ledger:
        with pytest.raises(ZeroDivisionError), ledger.step("send", key="m") as step:
            saved_and_broken(step, {"sent": 1})
        with pytest.raises(StepInDoubt), ledger.step("send", key="m"):
            pass


LOOP = """
with Ledger.open() as ledger, ledger.step("index", key="all", idempotent=True) as step:
    pace = ledger.every(seconds=0.001)
    total = pace.state or 0
    say("from", pace.done, total)
    for number in pace.over(range(200), state=lambda: total):
        total += number
        time.sleep(0.002)
        if number == step.attempt * 60 and step.attempt < 3:
            say("at", number)
            time.sleep(60)
    step.result = total
"""


def test_a_killed_loop_goes_on_where_it_was_saved(root: Path) -> None:
    """Each attempt begins at the last save; no item is lost and none counts twice."""
    begins = []
    for _ in range(2):
        with Child(LOOP, root) as child:
            begins.append(int(child.line().split()[1]))
            child.line()
            child.kill()
    ended = ran(LOOP, root)
    begins.append(int(ended.lines[0].split()[1]))
    assert begins[0] == 0 < begins[1] <= 60 < begins[2] <= 120
    with Ledger.open(root) as ledger:
        known = ledger.lookup("index", "all")
        assert known is not None
        assert known.result == sum(range(200))


def paced(root: Path) -> float:
    """The interval that a pace takes after one save."""
    with Ledger.open(root) as ledger, ledger.step("other", key="k", idempotent=True):
        pace = ledger.every(seconds=3600, at_most=0.01)
        while not pace.save(lambda: "state"):
            pass
        pace._pacer._at_most = 1e9
        pace.save("state")
        pace._pacer.recorded(pace._now(), 0.001)
        return pace.interval


def test_deaths_on_record_shorten_the_interval(root: Path, tmp_path: Path) -> None:
    """A pace learns from the journal alone that lives before it ended early."""
    for _ in range(2):
        with Child(SAVING, root, 10) as child:
            child.until("saved")
            child.kill()
    assert paced(root) < paced(tmp_path / "fresh") / 3


def test_every_in_an_async_step(root: Path) -> None:
    """``async for`` and ``await pace.save``; a plain ``for`` is refused."""

    async def main() -> int:
        async with Ledger.open(root) as ledger, ledger.step("index", key="a", idempotent=True) as step:
            pace = ledger.every(seconds=1e-6)
            assert isinstance(pace, AsyncPace)
            assert pace.record_cost is None
            seen = 0
            async for number in pace.over(range(50)):
                seen += number
                await asyncio.sleep(0.0002)
            with pytest.raises(UsageError, match="async for"):
                list(pace.over(range(3)))
            assert pace.record_cost
            assert step.attempt == 1
            return seen

    assert asyncio.run(main()) == sum(range(50))


def test_every_needs_an_idempotent_step(root: Path) -> None:
    """Outside of a step, in another ledger's, and in one that nobody would take up again, it is refused."""
    with Ledger.open(root) as ledger:
        with pytest.raises(UsageError, match="needs a step"):
            ledger.every(seconds=60)
        with ledger.step("send", key="k"), pytest.raises(UsageError, match="not idempotent"):
            ledger.every(seconds=60)
        with ledger.step("mine", key="k", idempotent=True) as step, Ledger.open(root / "other") as other:
            with pytest.raises(UsageError, match="needs a step"):
                other.every()
            with pytest.raises(UsageError, match="above 0"):
                ledger.every(seconds=0)
            assert isinstance(ledger.every("1m", step=step), Pace)


def test_a_state_of_ones_own_is_not_taken_for_a_loops(root: Path) -> None:
    """``over`` refuses what ``checkpoint`` saved by hand; ``save`` goes on with it."""
    with Ledger.open(root) as ledger:
        with pytest.raises(ZeroDivisionError), ledger.step("s", key="k", idempotent=True) as step:
            saved_and_broken(step, {"mine": 1})
        with ledger.step("s", key="k", idempotent=True) as step:
            pace = ledger.every()
            with pytest.raises(UsageError, match="by itself"):
                pace.over([1])
            assert step.resumed_from == {"mine": 1}


class Journalled:
    """A policy that knows only what the records of a simulated journal say, as ``ledger.every`` does."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.born, self.owner = 0.0, ""
        self.pacer = Pacer()

    def _write(self, record: Record, at: float) -> None:
        record.lsn, record.at = len(self.records) + 1, stamp(1e9 + at)
        self.records.append(record)

    def wake(self, now: float, last: Life | None) -> None:
        before, self.owner, self.born = self.owner, f"o-{len(self.records)}", now
        opened = Opened(
            lsn=0, at="", owner=self.owner, pid=1, start=1, boot="", pidns="", host="", version=""
        )
        self._write(opened, now)
        if last is not None:
            self._write(Lost(lsn=0, at="", owner=self.owner, who=before, proof="its lock is free"), now)
        self.pacer = Pacer(lives_of(owners_of(self.records).values(), self.owner))

    def begin(self, now: float) -> None:
        self.pacer.begin(now - self.born)

    def due(self, now: float, done: float) -> bool:  # noqa: ARG002 - the protocol's
        return self.pacer.due(now - self.born)

    def recorded(self, now: float, cost: float) -> None:
        self._write(Mark(lsn=0, at="", owner=self.owner, of=1, label="saved"), now)
        self.pacer.recorded(now - self.born, cost)


@pytest.mark.parametrize(("before", "after"), [(1000.0, 100.0), (100.0, 1000.0)])
def test_from_the_journal_alone_it_follows_a_tenfold_change(before: float, after: float) -> None:
    """Within 10 % of one who knows both rates, though each life begins with the journal and no cost known."""
    cost, restart, unit = 5.0, 5.0, 3.0

    def done_in(mean_time: float) -> float:
        best = optimal_interval(cost, mean_time)
        parts = {"record_cost": cost, "mean_time_between_failures": mean_time, "restart_cost": restart}
        return 9000 * 1e6 / expected_total(1e6, best, **parts)

    ratios = []
    for seed in range(4):
        failures = Failures(seed, (0, before), (9000, after))
        units = fixed_units(int((done_in(before) + done_in(after)) / unit), unit)
        learnt = simulate(units, failures, Journalled(), record_cost=cost, restart_cost=restart).total
        best = simulate(
            units, failures, Clairvoyant(failures, cost), record_cost=cost, restart_cost=restart
        ).total
        ratios.append(learnt / best)
    assert sum(ratios) / len(ratios) < 1.10


def test_a_closed_life_is_no_death() -> None:
    """Lives come in the order of their ends, without the one that asks."""

    def opened(lsn: int, owner: str, at: float) -> Opened:
        facts = {"pid": 1, "start": 1, "boot": "", "pidns": "", "host": "", "version": ""}
        return Opened(lsn=lsn, at=stamp(at), owner=owner, **facts)  # type: ignore[arg-type] # facts by name

    records: list[Record] = [
        opened(1, "a", 100),
        opened(2, "b", 110),
        Closed(lsn=3, at=stamp(150), owner="a"),
        opened(4, "c", 160),
        Lost(lsn=5, at=stamp(161), owner="c", who="b", proof="its lock is free"),
    ]
    assert lives_of(owners_of(records).values(), "c") == [Life(0.0, died=True), Life(50.0, died=False)]
