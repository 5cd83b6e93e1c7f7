"""``bench granularity``: a small sweep with real kills, its bookkeeping, and what it makes of what it measured."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runledger.errors import UsageError
from runledger.granularity import mean_interval, segments_costs
from runledger.pictures.document import as_markdown, as_text
from runledger.sweep.driver import Run
from runledger.sweep.measure import measured
from runledger.sweep.plan import Plan, segments
from runledger.sweep.pool import SweepFailed, sweep
from runledger.sweep.report import as_json, report
from tests.granularity.sweeps import made_up, planned
from tests.support.children import command

SMALL = (
    "bench",
    "granularity",
    "--seconds",
    "1",
    "--points",
    "2",
    "--workers",
    "2",
    "--mean-time",
    "1h",
    "--compress",
    "14400",
)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, list[Run]]:
    """Three intervals, two runs at each or more, after which the scratch ledgers are gone."""
    chosen = planned()
    directory = tmp_path_factory.mktemp("sweep")
    runs = sweep(chosen, str(directory))
    assert list(directory.iterdir()) == []
    return chosen, runs


def test_every_second_of_a_run_is_accounted_for(swept: tuple[Plan, list[Run]]) -> None:
    """Work, records, what was redone and recoveries add up to the time taken, kill by kill."""
    chosen, runs = swept
    assert {run.interval for run in runs} == {*chosen.intervals, None}
    assert sum(run.deaths for run in runs) > 0
    for run in runs:
        assert run.finished
        assert run.work == pytest.approx(chosen.work)
        assert run.total == pytest.approx(run.work + run.records + run.redone + run.recovery, abs=1e-6)
        assert min(run.records, run.redone, run.recovery) >= 0
        assert len(run.recoveries) <= run.deaths
        assert (run.deaths == 0) == (run.recovery == 0)


def test_the_model_is_given_what_was_measured(swept: tuple[Plan, list[Run]]) -> None:
    """At each point it is the exact expectation for that point's costs and true boundaries."""
    chosen, runs = swept
    found = measured(chosen, runs, 1.0)
    for point in found.points:
        assert point.interval is not None
        expected = segments_costs(
            segments(chosen.units, point.interval),
            record_cost=point.record_cost,
            mean_time_between_failures=chosen.mean_time,
            restart_cost=point.restart_cost,
        )
        assert point.model == pytest.approx(expected.total / chosen.work)
        assert point.agrees == (point.total.low <= expected.total / chosen.work <= point.total.high)
        own = [run.total / run.work for run in runs if run.interval == point.interval]
        interval = mean_interval(own, confidence=1 - 0.05 / 3)
        assert (point.total.value, point.total.high) == (interval.value, interval.high)
        assert point.total.low == max(1.0, interval.low)


@pytest.mark.parametrize(("factor", "agreeing"), [(1.0, 4), (1.1, 0)])
def test_where_they_disagree_is_said(factor: float, agreeing: int) -> None:
    """A model that is ten percent off is called so at each point, in every form."""
    found = made_up(factor)
    assert as_json(found)["agreeing"] == agreeing
    assert len(as_json(found)["disagreeing"]) == 4 - agreeing
    for text in ("\n".join(as_text(report(found))), as_markdown(report(found))):
        assert ("They disagree at" in text) == (agreeing == 0)
        assert text.count("NO") == 4 - agreeing


def test_full_length_is_told(swept: tuple[Plan, list[Run]]) -> None:
    """Compression concerns kills and work alone: the same record cost, uncompressed deaths."""
    full = made_up(1.0).full
    assert full.mean_time == 3600
    assert full.best == pytest.approx((2 * 0.001 * 3600) ** 0.5, rel=0.01)
    assert full.best == pytest.approx(full.young, rel=0.01)


@pytest.mark.parametrize("kind", ["fixed", "exponential", "heavy", "ledger"])
def test_units_of_each_kind_fill_the_work(kind: str) -> None:
    """Whatever their lengths, they take the time that was asked for, and segments end at their boundaries."""
    chosen = planned(kind=kind, durations=[1.0, 5.0, 2.5])
    assert chosen.work == pytest.approx(0.75)
    for interval in chosen.intervals:
        parts = segments(chosen.units, interval)
        assert sum(parts) == pytest.approx(chosen.work)
        assert min(parts[:-1], default=interval) >= interval * 0.999


def test_plans_that_cannot_be_are_refused() -> None:
    """Deaths that come too fast or never, no workers, units of an empty ledger."""
    for wrong in (
        {"compress": 1.0},
        {"compress": 1e9},
        {"workers": 0},
        {"points": 1},
        {"budget": float("nan")},
        {"budget": float("inf")},
        {"kind": "ledger"},
        {"work": 1.0},
    ):
        with pytest.raises(UsageError):
            planned(**wrong)  # type: ignore[arg-type] # by name


def test_the_command_tells_it_in_json(root: Path) -> None:
    """One JSON object with every point, on standard output alone; no bar where there is no terminal."""
    ended = command(root, *SMALL, "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.lines[0])
    assert found["schema"] == "runledger.bench.granularity/1"
    assert len(found["points"]) == 2
    assert found["kills"] > 0
    assert all(point["runs"] >= 2 for point in found["points"])
    assert list(root.iterdir()) == []


def test_a_driver_that_dies_is_an_error(tmp_path: Path) -> None:
    """Where the experiment cannot run there is no result: a directory that is gone is told, not measured."""
    with pytest.raises(SweepFailed) as failed:
        sweep(planned(), str(tmp_path / "gone"))
    assert failed.value.exit_code == 74


@pytest.mark.soak
def test_the_default_sweep_holds_the_model(tmp_path: Path) -> None:
    """Under three minutes; the model within the measurement's interval at nine of ten points or more."""
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "runledger", "bench", "granularity", "--json"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    took = time.monotonic() - began
    found = json.loads(ended.stdout)
    assert took < 180
    assert found["points"][-1]["interval"] / found["points"][0]["interval"] > 500
    assert found["agreeing"] >= 0.9 * len(found["points"])
    best = min(point["total"]["mean"] for point in found["points"])
    assert found["every"]["total"]["low"] < best * 1.1
