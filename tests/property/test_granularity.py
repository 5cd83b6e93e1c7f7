"""What must hold of the arithmetic for any numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runledger.granularity import (
    Failures,
    Fixed,
    Life,
    Pacer,
    expected_costs,
    expected_redo,
    expected_total,
    failure_rate,
    optimal_interval,
    segments_costs,
    simulate,
    young_interval,
)


def between(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers spread over orders of magnitude."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


ANY = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
ANY_MEAN_TIME = st.floats(min_value=0, exclude_min=True, allow_nan=False)


@given(between(1e-6, 1e3), between(1e-2, 1e8), between(1e-6, 1e3))
def test_no_other_interval_is_better(cost: float, mean_time: float, factor: float) -> None:
    """Moving the interval by any factor never makes a long run cheaper."""
    best = optimal_interval(cost, mean_time)

    def price(interval: float) -> float:
        whole = {"record_cost": cost, "mean_time_between_failures": mean_time}
        return expected_total(interval, interval, **whole) / interval

    assert price(best) <= price(best * factor) * (1 + 1e-12)


@given(between(1e-6, 1e3), between(1e-2, 1e8), between(1e-2, 1e8), st.integers(1, 50))
def test_no_other_division_of_a_given_work_is_better(
    cost: float, mean_time: float, work: float, count: int
) -> None:
    """The best interval for a given work is at least as good as any number of equal segments."""
    whole = {"record_cost": cost, "mean_time_between_failures": mean_time}
    best = optimal_interval(cost, mean_time, work=work)
    assert expected_total(work, best, **whole) <= expected_total(work, work / count, **whole) * (1 + 1e-9)


@given(between(1e-6, 1e3), between(1e-2, 1e8), between(1e-3, 1e3))
def test_the_unit_of_cost_does_not_matter(cost: float, mean_time: float, unit: float) -> None:
    """Seconds, minutes or tokens: the optimum scales with the unit."""
    scaled = optimal_interval(cost * unit, mean_time * unit)
    assert scaled == pytest.approx(optimal_interval(cost, mean_time) * unit, rel=1e-9)


@given(ANY, ANY_MEAN_TIME)
def test_the_optimum_lies_within_its_bounds(cost: float, mean_time: float) -> None:
    """Never negative, never NaN, never above the mean time between failures nor above Young's."""
    best = optimal_interval(cost, mean_time)
    assert 0 <= best <= mean_time
    assert best <= young_interval(cost, mean_time) * (1 + 1e-9)


@given(ANY, ANY, ANY, ANY_MEAN_TIME, ANY)
def test_any_numbers_have_an_expectation(
    work: float, interval: float, cost: float, mean_time: float, restart: float
) -> None:
    """Nothing overflows, nothing is NaN, and no run is quicker than its work."""
    costs = expected_costs(
        work, interval, record_cost=cost, mean_time_between_failures=mean_time, restart_cost=restart
    )
    parts = (costs.work, costs.records, costs.redone, costs.restarts, costs.deaths)
    assert all(part >= 0 for part in parts)
    assert costs.total >= work * (1 - 1e-9)
    redo = expected_redo(interval, record_cost=cost, mean_time_between_failures=mean_time)
    assert 0 <= redo <= mean_time * (1 + 1e-9)


@given(st.lists(between(1e-3, 1e3), min_size=2, max_size=8), between(1.0, 1e6), between(1e-4, 10.0))
def test_uneven_segments_are_never_cheaper_than_even_ones(
    segments: list[float], mean_time: float, cost: float
) -> None:
    """The same work in as many equal segments costs no more."""
    whole = {"record_cost": cost, "mean_time_between_failures": mean_time}
    even = [sum(segments) / len(segments)] * len(segments)
    assert segments_costs(even, **whole).total <= segments_costs(segments, **whole).total * (1 + 1e-9)


@given(st.integers(1, 500), between(1.0, 1e7), st.floats(0.5, 0.999))
def test_an_interval_holds_its_rate_and_narrows_with_the_count(
    deaths: int, exposure: float, confidence: float
) -> None:
    """The rate lies inside, and twice the deaths in twice the time are known better."""
    rate = failure_rate(deaths, exposure, confidence=confidence)
    assert rate.rate is not None
    assert 0 < rate.low < rate.rate < rate.high
    more = failure_rate(2 * deaths, 2 * exposure, confidence=confidence)
    assert more.high - more.low < rate.high - rate.low


@given(
    st.lists(st.tuples(between(1e-3, 1e6), st.booleans()), max_size=80),
    st.lists(between(1e-6, 10.0), max_size=20),
    st.none() | between(1e-3, 1e5),
    st.lists(between(1e-3, 1e3), max_size=20),
)
def test_the_controller_always_has_an_interval(
    lives: list[tuple[float, bool]], costs: list[float], first: float | None, steps: list[float]
) -> None:
    """Whatever it is told, its interval is a number of at least 0, and one that is long past is due."""
    pacer = Pacer([Life(seconds, died) for seconds, died in lives], costs, first=first)
    now = 0.0
    for step in steps:
        assert 0 <= pacer.interval < math.inf
        now += step
        if pacer.due(now):
            pacer.recorded(now, step / 100)
    assert pacer.due(now + 10 * pacer.interval + 1)


@given(st.integers(0, 2**32), st.lists(between(1e-2, 5.0), min_size=1, max_size=30), between(0.1, 20.0))
def test_a_simulated_run_keeps_its_books(seed: int, units: list[float], interval: float) -> None:
    """Work is done once, the parts add up, and each death costs one restart at most in full."""
    run = simulate(units, Failures(seed, (0, 40)), Fixed(interval), record_cost=0.1, restart_cost=1)
    assert run.finished
    assert run.work == pytest.approx(sum(units))
    assert run.work + run.records + run.redone + run.restarts == pytest.approx(run.total)
    assert run.restarts <= run.deaths + 1e-9
