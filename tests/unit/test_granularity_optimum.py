"""The best interval, against brute force, against more digits, and where the classical formulas fail."""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext
from itertools import product
from pathlib import Path

import pytest

from runledger.granularity import daly_interval, expected_total, optimal_interval, young_interval

COSTS = (1e-4, 1e-3, 1e-2, 0.1, 1, 5, 20, 60)
MEAN_TIMES = (10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)
RESTARTS = (0.0, 5.0)


def overhead(interval: float, cost: float, mean_time: float) -> float:
    """Expected seconds for each second of a long run's work: Daly's formula, restarts left out."""
    return mean_time * math.expm1((interval + cost) / mean_time) / interval


def brute_force(cost: float, mean_time: float) -> float:
    """The least of it over 4,000 intervals, from far below any that could be best to ten mean times."""
    return min(overhead(mean_time * 10 ** (-8 + 9 * k / 4000), cost, mean_time) for k in range(4001))


@pytest.mark.parametrize(("cost", "mean_time"), [*product(COSTS, MEAN_TIMES)])
def test_the_optimum_is_that_of_brute_force(cost: float, mean_time: float) -> None:
    """No interval of a fine sweep costs less than the recommended one: 64 combinations."""
    best = optimal_interval(record_cost=cost, mean_time_between_failures=mean_time)
    assert overhead(best, cost, mean_time) <= brute_force(cost, mean_time) * (1 + 1e-9)


@pytest.mark.parametrize(("cost", "mean_time", "restart"), [*product(COSTS, MEAN_TIMES, RESTARTS)])
def test_a_days_work_is_within_two_percent_of_its_best_division(
    cost: float, mean_time: float, restart: float
) -> None:
    """For a real run's length, whole segments and a rest, the recommended interval is within 2 % of any."""

    def total(interval: float) -> float:
        return expected_total(
            86400,
            interval,
            record_cost=cost,
            mean_time_between_failures=mean_time,
            restart_cost=restart,
        )

    swept = [total(86400 * 10 ** (-7 + 7 * k / 700)) for k in range(701)]
    divided = [total(86400 / n) for n in range(1, 40)]
    least = min(swept + divided)
    assert total(optimal_interval(cost, mean_time, restart)) <= 1.02 * least
    assert total(optimal_interval(cost, mean_time, restart, work=86400)) <= least * (1 + 1e-9)


@pytest.mark.parametrize("ratio", [1e-250, 1e-30, 1e-12, 1e-6, 1e-3, 0.02, 0.5, 1, 3, 30, 41, 300])
def test_the_root_has_all_its_digits(ratio: float) -> None:
    """The answer u = s/M to u + ln(1 - u) = -d/M is right within 4 parts in 10^15."""
    cost = 7.0 * ratio
    best = optimal_interval(cost, 7.0)
    # Lambert's W at its branch point: 1 + W0 is the difference of numbers that agree in 250 digits.
    with localcontext(prec=600):

        def residue(scale: str) -> Decimal:
            u = Decimal(best) * Decimal(scale) / 7
            return u + (1 - u).ln() + Decimal(cost) / 7 if u < 1 else Decimal(-1)

        assert residue("0.999999999999996") > 0 > residue("1.000000000000004")


@pytest.mark.parametrize(("hours", "minutes"), [(24, 117), (6, 57), (0.25, 9.1)])
def test_dalys_own_examples(hours: float, minutes: float) -> None:
    """The optima that his figures 3 to 5 name for a record of 5 minutes."""
    assert daly_interval(300, hours * 3600) / 60 == pytest.approx(minutes, abs=0.5 if minutes > 10 else 0.05)
    assert optimal_interval(300, hours * 3600) / 60 == pytest.approx(minutes, rel=0.02)


def test_all_three_agree_where_records_are_cheap() -> None:
    """Young's and Daly's formulas are the limits of the exact one."""
    exact = optimal_interval(1e-3, 86400)
    assert young_interval(1e-3, 86400) == pytest.approx(exact, rel=1e-3)
    assert daly_interval(1e-3, 86400) == pytest.approx(exact, rel=1e-9)


def test_young_is_far_off_where_the_interval_nears_the_failure_time() -> None:
    """A record of a minute, a death every ten seconds: Young's interval costs over three times the best."""
    young, best = young_interval(60, 10), optimal_interval(60, 10)
    assert young > 30
    assert best < 10
    assert overhead(young, 60, 10) > 3 * overhead(best, 60, 10)
    assert overhead(young_interval(60, 60), 60, 60) > 1.05 * overhead(optimal_interval(60, 60), 60, 60)


def test_daly_is_capped_where_his_series_ends() -> None:
    """From d = 2M on, Daly's formula is M itself."""
    assert daly_interval(20, 10) == 10
    assert daly_interval(1e9, 10) == 10


def test_restarts_do_not_move_the_optimum() -> None:
    """The restart cost multiplies every segment alike."""
    assert optimal_interval(1, 100, 1e6) == optimal_interval(1, 100)


def test_limits() -> None:
    """Free records: always; no failures: never; a record beyond all bounds: one mean time of work."""
    assert optimal_interval(0, 10) == 0
    assert optimal_interval(0, math.inf) == young_interval(0, math.inf) == daly_interval(0, 10) == 0
    assert optimal_interval(1, math.inf) == young_interval(1, math.inf) == math.inf
    assert optimal_interval(1e308, 1e-300) == 1e-300
    assert optimal_interval(1e-300, 1e300) == pytest.approx(math.sqrt(2))


def test_for_a_given_work_the_segments_are_equal_and_whole() -> None:
    """An hour where 53 minutes were best is one segment; ten times 53 minutes are ten."""
    best = optimal_interval(60, 86400)
    assert best == pytest.approx(3200, rel=0.01)
    assert optimal_interval(60, 86400, work=3600) == 3600
    assert optimal_interval(60, 86400, work=32000) == 3200
    assert optimal_interval(60, 86400, work=10) == 10
    assert optimal_interval(60, math.inf, work=10) == 10
    assert optimal_interval(60, 86400, work=0) == best
    assert optimal_interval(0, 86400, work=10) == 0


@pytest.mark.parametrize("formula", [optimal_interval, young_interval, daly_interval])
@pytest.mark.parametrize(
    ("cost", "mean_time", "name"),
    [
        (-1, 1, "record_cost"),
        (math.nan, 1, "record_cost"),
        (math.inf, 1, "record_cost"),
        (1, 0, "mean_time"),
        (1, -1, "mean_time"),
        (1, math.nan, "mean_time"),
    ],
)
def test_impossible_numbers_are_refused(formula: object, cost: float, mean_time: float, name: str) -> None:
    """Each formula names the argument that is wrong."""
    assert callable(formula)
    with pytest.raises(ValueError, match=name):
        formula(cost, mean_time)


def test_impossible_restart_and_work_are_refused() -> None:
    """An argument that does not matter for the result is checked all the same."""
    with pytest.raises(ValueError, match="restart_cost"):
        optimal_interval(1, 1, -1)
    with pytest.raises(ValueError, match="work"):
        optimal_interval(1, 1, work=math.nan)


def test_the_explanations_table_is_what_the_formulas_say() -> None:
    """Each row of docs/explanation/granularity.md, recomputed."""
    page = Path(__file__).parents[2] / "docs" / "explanation" / "granularity.md"
    lines = [line for line in page.read_text("utf-8").splitlines() if re.match(r"\| [\d.]+ s ", line)]
    assert len(lines) >= 6
    for line in lines:
        cost, mean_time = (float(number) for number in re.findall(r"[\d.]+", line)[:2])
        best = optimal_interval(cost, mean_time)
        cells = [f"{cost:g} s", f"{mean_time:g} s", f"{best:.4g} s"]
        for other in (young_interval(cost, mean_time), daly_interval(cost, mean_time)):
            more = overhead(other, cost, mean_time) / overhead(best, cost, mean_time) - 1
            cells += [f"{other:.4g} s", f"{100 * more:.2f} %"]
        assert line == f"| {' | '.join(cells)} |"
