"""The exact expectation: its value, its parts, its limits, and what it refuses."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from typing import Any

import pytest

import runledger.granularity
from runledger.granularity import expected_costs, expected_redo, expected_total, segments_costs


def one_segment(length: float, mean_time: float, restart: float) -> float:
    """M * e^(R/M) * (e^(a/M) - 1), in 50 digits."""
    getcontext().prec = 50
    a, m, r = map(Decimal, (length, mean_time, restart))
    return float(m * (r / m).exp() * ((a / m).exp() - 1))


@pytest.mark.parametrize("restart", [0.0, 0.25, 40.0])
@pytest.mark.parametrize("mean_time", [0.5, 10.0, 3600.0, 2.6e6, 1e12])
@pytest.mark.parametrize("length", [1e-4, 1.0, 25.0])
def test_one_segment_is_dalys_formula(length: float, mean_time: float, restart: float) -> None:
    """The expected time of one segment is the formula's, to all digits, rare failures or frequent."""
    found = expected_total(
        length, length, record_cost=0.5, mean_time_between_failures=mean_time, restart_cost=restart
    )
    assert found == pytest.approx(one_segment(length + 0.5, mean_time, restart), rel=1e-13)


def test_work_is_cut_into_whole_segments_and_a_rest() -> None:
    """Ten seconds in segments of four are four, four and two, each with its record."""
    found = expected_total(10, 4, record_cost=1, mean_time_between_failures=20, restart_cost=3)
    assert found == pytest.approx(2 * one_segment(5, 20, 3) + one_segment(3, 20, 3))


def test_a_rest_that_is_only_rounding_is_no_segment() -> None:
    """An hour in steps of 0.1 s is 36,000 segments, though 3600 / 0.1 is no whole number of floats."""
    assert expected_costs(3600, 0.1, record_cost=1, mean_time_between_failures=1e9).records == 36000
    assert expected_costs(0.3, 0.1, record_cost=1, mean_time_between_failures=1e9).records == 3


@pytest.mark.parametrize("interval", [10.0, 11.0, math.inf])
def test_an_interval_beyond_the_work_is_one_segment(interval: float) -> None:
    """The run's end is recorded once, however long the interval."""
    found = expected_total(10, interval, record_cost=1, mean_time_between_failures=20)
    assert found == pytest.approx(one_segment(11, 20, 0))


def test_without_failures_only_records_are_added() -> None:
    """An infinite mean time between failures leaves the work and its records."""
    costs = expected_costs(100, 10, record_cost=2, mean_time_between_failures=math.inf, restart_cost=9)
    assert (costs.total, costs.redone, costs.restarts, costs.deaths) == (120, 0, 0, 0)


def test_free_records_without_end_leave_only_restarts() -> None:
    """At interval 0 free records leave nothing to redo; a failure still costs its restart."""
    costs = expected_costs(100, 0, record_cost=0, mean_time_between_failures=50, restart_cost=5)
    assert costs.redone == 0
    assert costs.total == pytest.approx(100 * math.exp(5 / 50))
    near = expected_total(100, 1e-6, record_cost=0, mean_time_between_failures=50, restart_cost=5)
    assert costs.total == pytest.approx(near, rel=1e-6)


@pytest.mark.parametrize("interval", [0.0, 5e-324, 1e-300])
def test_costly_records_without_end_never_finish(interval: float) -> None:
    """Records that cost something and are made without end take for ever."""
    assert expected_total(1e9, interval, record_cost=1e9, mean_time_between_failures=10) == math.inf


@pytest.mark.parametrize(
    ("interval", "cost", "mean_time", "restart"),
    [(1e6, 1, 10, 0), (1, 1e6, 10, 0), (1, 1, 10, 1e6), (1, 1, 1e-300, 0), (1e300, 1e300, 1e-300, 1e300)],
)
def test_beyond_a_floats_range_is_infinite(
    interval: float, cost: float, mean_time: float, restart: float
) -> None:
    """What would overflow is infinite, never an error and never NaN."""
    found = expected_total(
        1e6, interval, record_cost=cost, mean_time_between_failures=mean_time, restart_cost=restart
    )
    assert found == math.inf


def test_no_work_costs_nothing() -> None:
    """A run of no work is over at once, whatever a restart would cost."""
    assert expected_total(0, 1, record_cost=1, mean_time_between_failures=1, restart_cost=1e9) == 0


def test_parts_and_deaths_add_up() -> None:
    """Deaths are the total over the mean time; each part is what its definition says."""
    costs = expected_costs(1000, 50, record_cost=2, mean_time_between_failures=300, restart_cost=20)
    assert costs.work == 1000
    assert costs.records == 40
    assert costs.deaths == pytest.approx(costs.total / 300)
    in_segments = 20 * math.expm1(52 / 300)
    assert costs.restarts == pytest.approx(in_segments * 300 * math.expm1(20 / 300))
    redo = expected_redo(50, record_cost=2, mean_time_between_failures=300)
    assert costs.redone == pytest.approx(in_segments * redo)


def test_given_segments_cost_what_equal_ones_do() -> None:
    """Boundaries that happen to be equal cost as the interval does; uneven ones cost more."""
    about: dict[str, Any] = {"record_cost": 2, "mean_time_between_failures": 300, "restart_cost": 20}
    even = expected_total(1000, 50, **about)
    assert segments_costs([50] * 20, **about).total == pytest.approx(even)
    assert segments_costs([10] * 10 + [90] * 10, **about).total > even
    assert segments_costs([], **about).total == 0


def test_redo_is_half_a_segment_where_failures_are_rare_and_never_above_the_mean_time() -> None:
    """The work lost to a failure goes from half a segment to the mean time between failures."""
    assert expected_redo(9, record_cost=1, mean_time_between_failures=1e9) == pytest.approx(5)
    assert expected_redo(9, record_cost=1, mean_time_between_failures=math.inf) == 5
    assert expected_redo(9, record_cost=1, mean_time_between_failures=1e-3) == pytest.approx(1e-3)
    assert expected_redo(1e9, record_cost=1, mean_time_between_failures=7) == 7


@pytest.mark.parametrize(
    "bad",
    [
        {"work": -1},
        {"work": math.nan},
        {"work": math.inf},
        {"interval": -1},
        {"interval": math.nan},
        {"record_cost": -1e-9},
        {"record_cost": math.inf},
        {"mean_time_between_failures": 0},
        {"mean_time_between_failures": -5},
        {"mean_time_between_failures": math.nan},
        {"restart_cost": -1},
        {"restart_cost": math.nan},
    ],
    ids=str,
)
def test_impossible_numbers_are_refused_by_name(bad: dict[str, float]) -> None:
    """The error names the argument that is wrong."""
    good = {"work": 1, "interval": 1, "record_cost": 1, "mean_time_between_failures": 1, "restart_cost": 1}
    with pytest.raises(ValueError, match=next(iter(bad))):
        expected_total(**{**good, **bad})


def test_every_name_of_the_package_is_there() -> None:
    """What the package lists it also gives, and it says so of what it has not."""
    for name in runledger.granularity.__all__:
        assert getattr(runledger.granularity, name).__name__ == name
    assert dir(runledger.granularity) == sorted(runledger.granularity.__all__)
    with pytest.raises(AttributeError, match="no attribute 'best'"):
        getattr(runledger.granularity, "best")  # noqa: B009 - asked as a user's typing would ask
