"""The simulator: its books balance, and its averages are those of the exact expectation."""

from __future__ import annotations

import math
from itertools import islice

import pytest

from runledger.granularity import (
    Adaptive,
    Failures,
    Fixed,
    expected_costs,
    exponential_units,
    fixed_units,
    heavy_tailed_units,
    mean_interval,
    simulate,
)

NEVER = Failures(0, (0, math.inf))


@pytest.mark.parametrize(
    ("interval", "mean_time", "restart"), [(4, 100, 0), (10, 30, 5), (20, 20, 10), (50, 200, 1)]
)
def test_the_average_run_is_the_expected_one(interval: float, mean_time: float, restart: float) -> None:
    """Four hundred runs: every part of the cost lies where the formula says, within 99.9 % intervals."""
    units = fixed_units(200, 1.0)
    runs = [
        simulate(units, Failures(seed, (0, mean_time)), Fixed(interval), record_cost=2, restart_cost=restart)
        for seed in range(400)
    ]
    model = expected_costs(
        200, interval, record_cost=2, mean_time_between_failures=mean_time, restart_cost=restart
    )
    for part in ("records", "redone", "restarts", "deaths", "total"):
        measured = mean_interval([getattr(run, part) for run in runs], confidence=0.999)
        assert measured.low - 1e-6 <= getattr(model, part) <= measured.high + 1e-6, part


def test_without_failures_the_time_is_work_and_records() -> None:
    """Ten units recorded by threes need four records; nothing is done twice."""
    run = simulate(fixed_units(10, 1), NEVER, Fixed(3), record_cost=0.5, restart_cost=9)
    assert (run.work, run.records, run.redone, run.restarts, run.deaths) == (10, 2, 0, 0, 0)
    assert run.total == 12
    assert run.finished


def test_the_books_balance() -> None:
    """What a run spent adds up to what it took, and its work is done once."""
    units = exponential_units(500, 1.0, seed=3)
    run = simulate(units, Failures(4, (0, 20)), Fixed(3), record_cost=0.2, restart_cost=1)
    assert run.work == pytest.approx(sum(units))
    assert run.work + run.records + run.redone + run.restarts == pytest.approx(run.total)
    assert run.deaths > 5


def test_a_run_that_cannot_end_stops_at_its_limit() -> None:
    """A unit far longer than the mean time between failures is never finished, and said so."""
    run = simulate([1e6], Failures(1, (0, 10)), Fixed(1), record_cost=0, limit=500)
    assert not run.finished
    assert run.total == 500
    assert (run.work, run.redone) == (0, 500)


def test_a_record_may_cost_what_the_moment_says() -> None:
    """A disk that becomes slow half-way."""
    run = simulate(fixed_units(10, 1), NEVER, Fixed(1), record_cost=lambda now: 0.0 if now < 5 else 1.0)
    assert run.records == 6


def test_failures_are_the_same_each_time_and_for_each_policy() -> None:
    """The moments depend on the seed alone."""
    failures = Failures(7, (0, 10), (100, 1))
    assert list(islice(failures.moments(), 50)) == list(islice(failures.moments(), 50))
    assert list(islice(failures.moments(), 5)) != list(islice(Failures(8, (0, 10)).moments(), 5))


def test_the_rate_of_failures_changes_when_it_says() -> None:
    """A hundred mean times on either side of the change: about a hundred failures on either side."""
    failures = Failures(2, (0, 10), (1000, 1), (1100, math.inf))
    moments = list(failures.moments())
    assert moments == sorted(moments)
    assert moments[-1] < 1100
    assert sum(moment < 1000 for moment in moments) == pytest.approx(100, abs=35)
    assert sum(moment >= 1000 for moment in moments) == pytest.approx(100, abs=35)
    assert [failures.mean_time(at) for at in (0, 999, 1000, 1100)] == [10, 10, 1, math.inf]
    assert failures.mean_times == {10, 1, math.inf}


def test_units_have_the_mean_that_they_are_asked_for() -> None:
    """Fixed, exponential and heavy-tailed lengths; the last with most of the work in few units."""
    assert fixed_units(3, 2.5) == [2.5] * 3
    assert mean_interval(exponential_units(2000, 3.0, seed=1), confidence=0.999).contains(3.0)
    heavy = heavy_tailed_units(20000, 3.0, seed=1, shape=2.5)
    assert mean_interval(heavy, confidence=0.999).contains(3.0)
    heavy = sorted(heavy_tailed_units(2000, 3.0, seed=1))
    assert sum(heavy[-200:]) > 0.4 * sum(heavy)
    assert min(heavy) >= 0


def test_the_adaptive_policy_works_through_uneven_units() -> None:
    """Exponential and heavy-tailed units are finished too, with a controller built anew for each life."""
    for units in (exponential_units(2000, 1, seed=1), heavy_tailed_units(2000, 1, seed=1, shape=3)):
        run = simulate(units, Failures(5, (0, 100)), Adaptive(), record_cost=0.5, restart_cost=1)
        assert run.finished
        assert run.total < 1.5 * run.work


@pytest.mark.parametrize("phases", [(), ((1, 10),), ((0, 10), (5, 1), (5, 2)), ((0, 10), (9, 1), (5, 2))])
def test_phases_out_of_order_are_refused(phases: tuple[tuple[float, float], ...]) -> None:
    """The first begins at 0, and they go up."""
    with pytest.raises(ValueError, match="phases"):
        Failures(1, *phases)


def test_impossible_numbers_are_refused() -> None:
    """Costs, means, shapes and limits that cannot be."""
    with pytest.raises(ValueError, match="mean time"):
        Failures(1, (0, 0))
    with pytest.raises(ValueError, match="record_cost"):
        simulate([1], NEVER, Fixed(1), record_cost=-1)
    with pytest.raises(ValueError, match="record_cost"):
        simulate([1], NEVER, Fixed(1), record_cost=lambda _: math.nan)
    with pytest.raises(ValueError, match="restart_cost"):
        simulate([1], NEVER, Fixed(1), record_cost=1, restart_cost=math.nan)
    with pytest.raises(ValueError, match="limit"):
        simulate([1], NEVER, Fixed(1), record_cost=1, limit=0)
    with pytest.raises(ValueError, match="interval"):
        Fixed(-1)
    with pytest.raises(ValueError, match="shape"):
        heavy_tailed_units(1, 1, 1, shape=1)
    with pytest.raises(ValueError, match="length"):
        fixed_units(1, math.inf)
