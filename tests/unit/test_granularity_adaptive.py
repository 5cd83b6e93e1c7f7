"""The controller: what it does knowing nothing, what it learns, and how near it comes to the optimum."""

from __future__ import annotations

import math

import pytest

from runledger.granularity import (
    Adaptive,
    Clairvoyant,
    Failures,
    Fixed,
    Life,
    Outcome,
    Pacer,
    Spread,
    expected_total,
    fixed_units,
    optimal_interval,
    simulate,
    spread,
)

COST, RESTART, UNIT = 5.0, 5.0, 3.0


def of_two_halves(before: float, after: float, seed: int) -> tuple[list[float], Failures]:
    """Work and failures for a run whose rate changes after 9,000 s, with as much work again for the rest."""

    def work_in(mean_time: float) -> float:
        total = expected_total(
            1e6,
            optimal_interval(COST, mean_time),
            record_cost=COST,
            mean_time_between_failures=mean_time,
            restart_cost=RESTART,
        )
        return 9000 * 1e6 / total

    count = int((work_in(before) + work_in(after)) / UNIT)
    return fixed_units(count, UNIT), Failures(seed, (0, before), (9000, after))


def totals(before: float, after: float) -> tuple[Spread, Spread]:
    """Twelve seeds: the controller's total, and the first rate's best interval's, over the optimum's."""
    learnt, kept = [], []
    for seed in range(12):
        units, failures = of_two_halves(before, after, seed)

        def run(policy: Fixed | Adaptive, units: list[float] = units, by: Failures = failures) -> Outcome:
            return simulate(units, by, policy, record_cost=COST, restart_cost=RESTART)

        optimum = run(Clairvoyant(failures, COST)).total
        learnt.append(run(Adaptive()).total / optimum)
        kept.append(run(Fixed(optimal_interval(COST, before))).total / optimum)
    return spread(learnt), spread(kept)


def test_a_tenfold_rise_of_the_failure_rate_is_followed() -> None:
    """Within 10 % of one who knows the rates, for each seed, where keeping the old interval is not."""
    learnt, kept = totals(1000, 100)
    assert learnt.longest < 1.10
    assert learnt.mean < 1.04
    assert kept.mean > 1.10


def test_a_tenfold_fall_of_the_failure_rate_is_followed() -> None:
    """Within 10 % of one who knows the rates, for each seed, and better than keeping the old interval."""
    learnt, kept = totals(100, 1000)
    assert learnt.longest < 1.10
    assert learnt.mean < kept.mean


def test_at_a_steady_rate_it_comes_near_the_optimum() -> None:
    """Learning costs a few percent where nothing changes."""
    for seed in range(5):
        units = fixed_units(6000, UNIT)
        failures = Failures(seed, (0, 300))
        optimum = simulate(units, failures, Clairvoyant(failures, COST), record_cost=COST).total
        assert simulate(units, failures, Adaptive(), record_cost=COST).total < 1.06 * optimum


def test_a_first_guess_that_is_far_too_long_is_given_up() -> None:
    """Thirty times the best interval, nine mean times between failures: the run ends all the same."""
    units, failures = fixed_units(1500, UNIT), Failures(3, (0, 100))
    optimum = simulate(units, failures, Clairvoyant(failures, COST), record_cost=COST).total
    run = simulate(units, failures, Adaptive(first=900), record_cost=COST, limit=3 * optimum)
    assert run.total < 1.4 * optimum


def test_knowing_nothing_it_records_at_the_first_boundary() -> None:
    """The first record tells what a record costs; without work there is nothing to record."""
    pacer = Pacer()
    assert pacer.record_cost is None
    assert pacer.interval == 0
    pacer.begin(2.0)
    assert not pacer.due(2.0)
    assert pacer.due(2.5)


def test_without_deaths_the_interval_grows_with_the_time_survived() -> None:
    """No rate is assumed: the interval is that of a mean time of twice what was survived."""
    pacer = Pacer()
    pacer.recorded(1.0, 0.01)
    young = pacer.interval
    pacer.recorded(10_000.0, 0.01)
    assert young < 0.3
    assert pacer.mean_time == 20_000
    assert pacer.interval == optimal_interval(0.01, 20_000)


def test_a_run_without_deaths_spends_little_on_finding_that_out() -> None:
    """An hour of short units with records of 5 ms: under half a percent."""
    run = simulate(
        fixed_units(36000, 0.1), Failures(0, (0, math.inf)), Adaptive(), record_cost=0.005, restart_cost=0
    )
    assert run.records < 0.005 * run.work


def test_deaths_with_known_moments_give_their_rate() -> None:
    """Twenty lives of a hundred seconds, half a death for what is not known, and the life that goes on."""
    pacer = Pacer([Life(100, died=True, unseen=0)] * 20, [0.5])
    assert pacer.mean_time == pytest.approx(2000 / 20.5)
    assert pacer.interval == optimal_interval(0.5, 2000 / 20.5)


def test_unseen_ends_of_lives_are_half_of_what_they_can_be() -> None:
    """The journal's last fact is not the death: a bound adds its half, no bound half the interval."""
    bounded = Pacer([Life(100, died=True, unseen=20)] * 20, [0.5])
    assert bounded.mean_time == pytest.approx(2200 / 20.5)
    assumed = Pacer([Life(100, died=True)] * 20, [0.5])
    assert assumed.mean_time == pytest.approx((2000 + 20 * assumed.interval / 2) / 20.5, rel=0.01)


def test_old_rates_are_forgotten_when_deaths_come_faster() -> None:
    """Thirty long lives, then five that are a tenth as long: the five are believed."""
    long, short = Life(1000, died=True, unseen=0), Life(100, died=True, unseen=0)
    assert Pacer([long] * 30 + [short] * 5, [1]).mean_time == pytest.approx(500 / 5.5)


def test_old_rates_are_forgotten_when_no_death_comes() -> None:
    """Thirty short lives, then one that lasts: the short ones are left behind."""
    pacer = Pacer([Life(100, died=True, unseen=0)] * 30, [1])
    before = pacer.interval
    pacer.recorded(1000, 1)
    assert pacer.interval > 2 * before


def test_one_odd_life_forgets_nothing() -> None:
    """A life twice as short as the others is chance, not change."""
    lives = [Life(100, died=True, unseen=0)] * 10 + [Life(50, died=True, unseen=0)]
    assert Pacer(lives, [1]).mean_time == pytest.approx(1050 / 11.5)


def test_a_clean_end_is_time_survived() -> None:
    """A controller built at the next start knows what the one before it knew."""
    lives, costs = [Life(300, died=True, unseen=0)] * 3, [0.2, 0.3]
    living = Pacer(lives, costs)
    living.recorded(500, 0.4)
    rebuilt = Pacer([*lives, Life(500, died=False)], [*costs, 0.4])
    assert rebuilt.interval == living.interval
    assert rebuilt.record_cost == living.record_cost == pytest.approx(0.3)


def test_a_disk_that_becomes_slow_is_noticed() -> None:
    """The cost is an average of the latest records."""
    pacer = Pacer([Life(1000, died=True, unseen=0)] * 5, [0.001] * 1000)
    before = pacer.interval
    for record in range(60):
        pacer.recorded(record * 0.5, 0.1)
    assert pacer.record_cost == pytest.approx(0.1, rel=0.05)
    assert pacer.interval > 5 * before


def test_the_first_guess_is_the_interval_until_something_is_learnt() -> None:
    """Before the first record it is kept to; after it, it is what the cost and the guess together give."""
    pacer = Pacer(first=60)
    assert pacer.interval == 60
    assert not pacer.due(40)
    assert pacer.due(80)
    pacer.recorded(81, 0.1)
    assert pacer.interval == pytest.approx(60, rel=0.05)


def test_a_first_guess_that_a_life_did_not_survive_is_not_kept_to() -> None:
    """A life that died before its first record teaches to record at the first boundary."""
    pacer = Pacer([Life(0, died=True)], first=3600)
    assert pacer.interval == 0
    assert pacer.due(1)


def test_no_more_is_left_unrecorded_than_is_allowed() -> None:
    """The bound holds for the next boundary too: a unit that would pass it is not begun unrecorded."""
    pacer = Pacer([Life(1e6, died=False)], [1.0], at_most=10)
    assert pacer.interval == 10
    assert [pacer.due(now) for now in (3.0, 6.0, 9.0)] == [False, False, True]


def test_the_cheaper_of_two_boundaries_is_taken() -> None:
    """Units of 6 with a best interval of about 10: 12 costs less than 6, so the second boundary is it."""
    lives = [Life(50, died=True, unseen=0)] * 40
    pacer = Pacer(lives, [1.0])
    assert 9 < pacer.interval < 10
    assert [pacer.due(now) for now in (6.0, 12.0)] == [False, True]
    pacer = Pacer(lives, [1.0])
    assert [pacer.due(now) for now in (9.0, 18.0)] == [True, True]


def test_work_begins_after_the_restart() -> None:
    """The time of a restart is no work that a record would save."""
    pacer = Pacer([Life(50, died=True, unseen=0)] * 40, [1.0])
    pacer.begin(30)
    assert not pacer.due(31)


def test_a_record_too_quick_for_the_clock_is_not_free() -> None:
    """A cost of 0 does not make every boundary due."""
    pacer = Pacer([Life(1000, died=True)], [0.0])
    assert pacer.interval > 0
    assert not pacer.due(pacer.interval / 2)


def test_a_unit_beyond_all_bounds_is_recorded_at_once() -> None:
    """Where even the next boundary's cost is beyond a float's range, this one is taken."""
    pacer = Pacer([Life(0.001, died=True, unseen=0)] * 10, [0.001])
    pacer.begin(0)
    assert pacer.due(1e6)


def test_impossible_facts_are_refused() -> None:
    """Negative seconds and NaN, by name."""
    with pytest.raises(ValueError, match="seconds"):
        Pacer([Life(-1, died=False)])
    with pytest.raises(ValueError, match="unseen"):
        Pacer([Life(1, died=True, unseen=math.nan)])
    with pytest.raises(ValueError, match="record_costs"):
        Pacer(record_costs=[math.inf])
    with pytest.raises(ValueError, match="first"):
        Pacer(first=0)
    with pytest.raises(ValueError, match="at_most"):
        Pacer(at_most=-1)
    with pytest.raises(ValueError, match="cost"):
        Pacer().recorded(1, -1)
