"""The verdict on each step: too coarse, too fine, one effect that cannot be split, or well as it is."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import msgspec

from runledger.advice.cost import RecordCost, record_cost
from runledger.advice.deaths import Deaths, deaths_of
from runledger.advice.weigh import Group, groups_of
from runledger.errors import UsageError
from runledger.granularity import Costs, expected_total, optimal_interval, segments_costs
from runledger.past import Past, look

__all__ = ["Advice", "Judged", "Range", "advise", "judged"]

DAY = 86400.0

WORTH = 0.001
"""Of the running time: a saving below is not worth a change."""

HEAVY = 0.2
"""Of a step's time: where the ledger takes more, the ledger is the job."""

MANY = 10
"""Attempts from which a step's fineness is worth a word."""

FEW = 5
"""Deaths up to which the range is told before the number."""


class Range(msgspec.Struct, frozen=True):
    """A number with the interval that it is known to. ``value`` is None where only a bound is known."""

    value: float | None
    low: float
    high: float


class Judged(msgspec.Struct, frozen=True):
    """One name's verdict.

    ``verdict`` is ``too coarse``, ``too fine``, ``one effect`` (coarse, and not to be split), ``well`` or
    ``cannot tell``; ``sure``: at every rate in the interval. Costs are in the asked unit; ``per_death`` is what a death
    inside it takes on average, ``per_day`` what deaths in it take in a day of running, ``saving`` what the best
    interval would save of that, ``batch`` how many of them one step could hold.
    """

    group: Group
    verdict: str
    sure: bool
    per_death: float
    per_day: Range | None
    best: Range | None
    saving: Range | None
    batch: int | None


class Advice(msgspec.Struct, frozen=True):
    """All of it. ``unit`` is "seconds" or the column of marks that costs are taken from."""

    unit: str
    cost: RecordCost
    deaths: Deaths
    steps: list[Judged]
    past: Past


def advise(
    root: str | os.PathLike[str] | None = None,
    *,
    unit: str = "seconds",
    measure: bool = True,
    told: Callable[[float], object] | None = None,
) -> Advice:
    """Advice on the run of ``root``; reads only, but may ``measure`` on a scratch ledger beside it.

    ``told`` hears now and then what share of the journal was read.

    Raises:
        UsageError: no mark has a number under ``unit``.
        LedgerCorrupt, NewerVersion, DiskRefused: it cannot be read.
    """
    from runledger.local.files import find_root

    past = look(root, told)
    return judged(past, record_cost(past, find_root(root), measure=measure), unit)


def judged(past: Past, cost: RecordCost, unit: str = "seconds") -> Advice:
    """The advice that follows from a past."""
    column = None if unit == "seconds" else unit
    if column is not None and not any(attempt.numbers(column) for attempt in past.attempts):
        known = sorted({key for a in past.attempts for mark in a.marks for key in _columns(mark.data)})
        raise UsageError(
            f"no mark of this run has a number under {unit!r}",
            hint=f"There are numbers under: {', '.join(known)}"
            if known
            else 'Such as: step.mark("call", tokens=812)',
        )
    deaths = deaths_of(past)
    groups = groups_of(past, cost, column)
    return Advice(unit, cost, deaths, [_judge(group, cost, deaths, unit) for group in groups], past)


def _columns(data: object) -> list[str]:
    return (
        [key for key, value in data.items() if type(value) in {int, float}] if isinstance(data, dict) else []
    )


def _judge(group: Group, cost: RecordCost, deaths: Deaths, unit: str) -> Judged:
    price = 1.0 if unit == "seconds" else group.density
    per_death = price * group.at_stake / group.work if group.work else 0.0
    best = _best(cost, deaths)
    day = _per_day(group, deaths, price)
    # Shares of the running time; what one of them is worth in the unit is known for the time of this very step.
    shares = _savings(group, cost, deaths)
    saving = None if shares is None else _times(shares, DAY * price)
    verdict, sure = _verdict(group, best, shares)
    return Judged(
        group=group,
        verdict=verdict,
        sure=sure,
        per_death=per_death,
        per_day=day,
        best=best,
        saving=saving if verdict == "too coarse" else None,
        batch=_batch(group, best) if verdict == "too fine" else None,
    )


def _verdict(group: Group, best: Range | None, shares: Range | None) -> tuple[str, bool]:
    share = group.ledger_share
    if share is not None and share > HEAVY and group.seconds.count >= MANY and not group.saves:
        return "too fine", True
    if best is None or best.value is None or shares is None or shares.value is None:
        return "cannot tell", False
    if shares.value < WORTH or max(group.lengths, default=0.0) < 2 * best.value:
        return "well", shares.high < WORTH
    if group.idempotent is None:
        return "too coarse", False
    return "too coarse" if group.idempotent else "one effect", shares.low >= WORTH


def _best(cost: RecordCost, deaths: Deaths) -> Range | None:
    """The best interval; its lower end is for the highest rate."""
    if cost.durable is None:
        return None
    rate = deaths.rate
    low = optimal_interval(cost.durable, rate.shortest_mean_time) if rate.shortest_mean_time > 0 else 0.0
    if rate.mean_time is None:
        return Range(None, low, math.inf)
    return Range(
        optimal_interval(cost.durable, rate.mean_time),
        low,
        optimal_interval(cost.durable, rate.longest_mean_time),
    )


def _expected(group: Group, mean_time: float) -> Costs:
    """What its work costs as its boundaries are, with a death each ``mean_time`` seconds."""
    return segments_costs(
        group.lengths, record_cost=(group.ledger or 0.0) / 2, mean_time_between_failures=mean_time
    )


def _running(group: Group, deaths: Deaths, expected: Costs) -> float:
    """The running time that has this group's work in it, were it to take what is ``expected``.

    It is what was seen. But where deaths at a rate are expected to take more than all of that, it would have been
    longer: nothing redoes more than a day in a day, of work that is done one after the other.
    """
    at_once = max(1.0, group.work / deaths.exposure)
    return max(deaths.exposure, expected.total / at_once)


def _per_day(group: Group, deaths: Deaths, price: float) -> Range | None:
    """What deaths in this step take in a day of running."""
    rate = deaths.rate
    if not deaths.exposure or not rate.shortest_mean_time:
        return None

    def at(mean_time: float) -> float:
        expected = _expected(group, mean_time)
        share = expected.redone / _running(group, deaths, expected)
        # Beyond the range of a float all the time goes to it.
        return DAY * price * (share if math.isfinite(share) else max(1.0, group.work / deaths.exposure))

    value = None if rate.mean_time is None else at(rate.mean_time)
    return Range(value, at(rate.longest_mean_time), at(rate.shortest_mean_time))


def _savings(group: Group, cost: RecordCost, deaths: Deaths) -> Range | None:
    """The share of the running time that the best interval would save, never below 0."""
    rate = deaths.rate
    if cost.durable is None or rate.mean_time is None or not group.work:
        return None
    found = []
    for mean_time in (rate.mean_time, rate.longest_mean_time, rate.shortest_mean_time):
        best = expected_total(
            group.work,
            optimal_interval(cost.durable, mean_time, work=group.work),
            record_cost=cost.durable,
            mean_time_between_failures=mean_time,
        )
        expected = _expected(group, mean_time)
        share = max(0.0, expected.total - best) / _running(group, deaths, expected)
        found.append(share if math.isfinite(share) else max(1.0, group.work / deaths.exposure))
    value, low, high = found
    return Range(value, low, high)


def _times(shares: Range, factor: float) -> Range:
    return Range(
        None if shares.value is None else shares.value * factor, shares.low * factor, shares.high * factor
    )


def _batch(group: Group, best: Range | None) -> int | None:
    """How many of them make one step that is long enough: by the best interval, else for a ledger that takes 1 %."""
    # Where the ledger takes nearly all of the time, what is left for the body is no more than an error.
    if group.ledger is None or group.body < group.ledger / 10:
        return None
    at_least = math.ceil(99 * group.ledger / group.body)
    if best is None or best.value is None:
        return at_least
    return max(2, round(best.value / group.body))
