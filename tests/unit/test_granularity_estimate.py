"""Intervals from few observations: against published tables, and honest where there is nothing to count."""

from __future__ import annotations

import math
from random import Random
from statistics import median

import pytest

from runledger.granularity import bootstrap_interval, failure_rate, mean_interval, spread
from runledger.granularity.distributions import poisson_at_most, student


@pytest.mark.parametrize(
    ("deaths", "low", "high"),
    [(1, 0.0253, 5.572), (2, 0.2422, 7.225), (5, 1.623, 11.668), (10, 4.795, 18.390), (100, 81.364, 121.627)],
)
def test_the_exact_interval_is_that_of_the_tables(deaths: int, low: float, high: float) -> None:
    """Garwood's 95 % limits for a Poisson count, over ten seconds."""
    rate = failure_rate(deaths, 10)
    assert rate.rate == deaths / 10
    assert rate.low * 10 == pytest.approx(low, abs=6e-4 if deaths > 1 else 6e-5)
    assert rate.high * 10 == pytest.approx(high, abs=6e-4)
    assert rate.mean_time == pytest.approx(10 / deaths)
    assert (rate.shortest_mean_time, rate.longest_mean_time) == (1 / rate.high, 1 / rate.low)


def test_without_deaths_there_is_no_rate_only_a_bound() -> None:
    """The rule of three: at 95 % fewer than three over the exposure, and no number for the rate itself."""
    rate = failure_rate(0, 1000)
    assert rate.rate is None
    assert rate.mean_time is None
    assert rate.low == 0
    assert rate.high == pytest.approx(2.9957 / 1000, rel=1e-4)
    assert rate.shortest_mean_time == pytest.approx(333.8, rel=1e-3)
    assert rate.longest_mean_time == math.inf


def test_nothing_seen_is_nothing_known() -> None:
    """No exposure bounds nothing."""
    rate = failure_rate(0, 0)
    assert (rate.rate, rate.low, rate.high) == (None, 0, math.inf)
    assert rate.shortest_mean_time == 0


def test_many_deaths_approach_the_normal_interval() -> None:
    """A million deaths are known to two thousandths either way."""
    rate = failure_rate(1_000_000, 1.0)
    assert rate.low == pytest.approx(1e6 - 1960, abs=5)
    assert rate.high == pytest.approx(1e6 + 1960, abs=5)


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Summed over all counts, the chance that the interval holds the true mean is at least 95 %."""
    for mean in (0.7, 2.0, 6.3, 20.0):
        inside = 0.0
        for count in range(80):
            rate = failure_rate(count, 1.0)
            if rate.low <= mean <= rate.high:
                inside += math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
        assert 0.95 <= inside < 0.995


@pytest.mark.parametrize(
    ("deaths", "exposure", "confidence"),
    [(-1, 1, 0.95), (1, 0, 0.95), (1, -1, 0.95), (1, math.nan, 0.95), (1.5, 1, 0.95), (1, 1, 1), (1, 1, 0)],
)
def test_impossible_counts_are_refused(deaths: int, exposure: float, confidence: float) -> None:
    """A negative or broken count, deaths in no time, and certainty are refused."""
    with pytest.raises(ValueError, match=r"deaths|exposure|confidence"):
        failure_rate(deaths, exposure, confidence=confidence)


@pytest.mark.parametrize(
    ("freedom", "t"),
    [
        (1, 12.7062),
        (2, 4.30265),
        (3, 3.18245),
        (4, 2.77645),
        (5, 2.57058),
        (10, 2.22814),
        (30, 2.04227),
        (101, 1.98373),
        (2000, 1.961151),
        (2001, 1.961150),
        (100_000, 1.959988),
    ],
)
def test_students_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    """The 97.5 % points, odd and even degrees of freedom, up to where the normal takes over."""
    assert student(freedom, 0.95) == pytest.approx(t, abs=6e-5 if freedom < 3 else 6e-6)


def test_poisson_sums_keep_both_tails() -> None:
    """Far above and far below its mean the sum is neither lost nor rounded to the wrong side."""
    assert poisson_at_most(-1, 5) == 0
    assert poisson_at_most(0, 5) == pytest.approx(math.exp(-5))
    assert poisson_at_most(3, 0) == 1
    assert poisson_at_most(1000, 1) == 1
    assert 0 < poisson_at_most(1, 500) < 1e-200


def test_the_mean_of_one_is_known_to_nothing() -> None:
    """A single sample has no spread to tell its error by."""
    found = mean_interval([3.0])
    assert (found.value, found.low, found.high, found.count) == (3, -math.inf, math.inf, 1)


def test_the_mean_interval_is_students() -> None:
    """Five samples, by hand: 3 plus or minus 2.776 standard errors."""
    found = mean_interval([1, 2, 3, 4, 5])
    assert found.value == 3
    assert found.high - 3 == pytest.approx(2.776445 * math.sqrt(2.5 / 5), rel=1e-6)
    assert found.contains(3)
    assert not found.contains(5)


def test_the_bootstrap_is_repeatable_and_near_students_for_tame_samples() -> None:
    """The same seed, the same interval; for a hundred normal samples about the one of Student."""
    random = Random(5)
    samples = [random.gauss(10, 2) for _ in range(100)]
    found = bootstrap_interval(samples, seed=1)
    assert found == bootstrap_interval(samples, seed=1)
    exact = mean_interval(samples)
    assert found.value == pytest.approx(exact.value)
    assert found.low == pytest.approx(exact.low, abs=0.1)
    assert found.high == pytest.approx(exact.high, abs=0.1)


def test_the_bootstrap_takes_any_statistic() -> None:
    """A median's interval lies among the samples."""
    found = bootstrap_interval([1, 1, 2, 3, 50], median, rounds=200)
    assert found.value == 2
    assert 1 <= found.low <= found.high <= 50
    with pytest.raises(ValueError, match="rounds"):
        bootstrap_interval([1], rounds=0)


def test_one_wild_sample_does_not_move_the_robust_numbers() -> None:
    """The mean follows the outlier, median and deviation do not."""
    found = spread([1, 2, 3, 4, 1000])
    assert (found.count, found.total, found.mean, found.median, found.longest) == (5, 1010, 202, 3, 1000)
    assert found.deviation == pytest.approx(1.4826)
    assert found.p10 == pytest.approx(1.4)
    assert spread([7]).p90 == 7


@pytest.mark.parametrize("samples", [[], [1, math.nan], [math.inf]], ids=str)
def test_no_samples_and_broken_ones_are_refused(samples: list[float]) -> None:
    """Nothing is said of nothing."""
    for statistic in (mean_interval, bootstrap_interval, spread):
        with pytest.raises(ValueError, match="sample"):
            statistic(samples)
