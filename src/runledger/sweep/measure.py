"""What a sweep found at each interval, beside what the model says of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from runledger.granularity import (
    Costs,
    Estimate,
    expected_total,
    mean_interval,
    optimal_interval,
    segments_costs,
    young_interval,
)
from runledger.sweep.driver import Run
from runledger.sweep.plan import Plan, segments

__all__ = ["Full", "Measured", "Parts", "Point", "measured"]

FEW = 5
"""Restarts below which an interval's own do not tell what one costs; those of all intervals do then."""


class Parts(msgspec.Struct, frozen=True):
    """Seconds beyond the work for each second of work, by what they went to."""

    records: float
    redone: float
    restarts: float


class Point(msgspec.Struct, frozen=True):
    """One interval. ``total`` is the time taken over the work, ``model`` what it is expected to be.

    ``agrees``: the model lies within the interval of the measurement; None where there is no model, or some run was
    given up. ``interval`` is None for ``ledger.every``.
    """

    interval: float | None
    runs: int
    unfinished: int
    deaths: float
    record_cost: float
    restart_cost: float
    total: Estimate
    model: float | None
    measured_parts: Parts
    model_parts: Parts | None
    agrees: bool | None


class Full(msgspec.Struct, frozen=True):
    """What this means for a run that is not compressed: the same record cost, and real times between deaths."""

    mean_time: float
    best: float
    overhead: float
    young: float


class Measured(msgspec.Struct, frozen=True):
    """A sweep. Times are real seconds; ``best_*`` are intervals, ``lowest`` is what the best measured one costs."""

    plan: Plan
    points: list[Point]
    every: Point | None
    record_cost: float
    restart_cost: float
    best_model: float
    best_measured: float
    full: Full
    runs: int
    kills: int
    took: float

    @property
    def fewest(self) -> int:
        """Runs at the point with the fewest."""
        return min(point.runs for point in self.points)

    @property
    def disagreeing(self) -> list[Point]:
        """Where the model is beyond the measurement's interval."""
        return [point for point in self.points if point.agrees is False]


def measured(plan: Plan, runs: Sequence[Run], took: float) -> Measured:
    """What the runs come to."""
    restart = _mean(seconds for run in runs for seconds in run.recoveries)
    record = _ratio(sum(run.records for run in runs), sum(run.recorded for run in runs))
    by_interval: dict[float | None, list[Run]] = {}
    for run in runs:
        by_interval.setdefault(run.interval, []).append(run)
    points = [_point(plan, of, by_interval[of], restart) for of in plan.intervals if of in by_interval]
    every = _point(plan, None, by_interval[None], restart) if None in by_interval else None
    best = min(points, key=lambda point: point.total.value)
    assert best.interval is not None
    near = [p for p in points if p.interval is not None and 0.2 < p.interval / best.interval < 5]
    cost = _mean(point.record_cost for point in near)
    mean_time = plan.mean_time * plan.compress
    full = optimal_interval(cost, mean_time)
    overhead = expected_total(1000 * full, full, record_cost=cost, mean_time_between_failures=mean_time)
    return Measured(
        plan=plan,
        points=points,
        every=every,
        record_cost=record,
        restart_cost=restart,
        best_model=optimal_interval(cost, plan.mean_time),
        best_measured=best.interval,
        full=Full(mean_time, full, overhead / (1000 * full) - 1, young_interval(cost, mean_time)),
        runs=len(runs),
        kills=sum(run.deaths for run in runs),
        took=took,
    )


def _point(plan: Plan, interval: float | None, runs: list[Run], restart: float) -> Point:
    # All intervals together hold with the plan's confidence, whatever the dependence between them.
    alone = 1 - (1 - plan.confidence) / len(plan.intervals)
    total = mean_interval([run.total / run.work for run in runs], confidence=alone)
    # Nothing takes less than its work, whatever a symmetric interval would allow.
    total = msgspec.structs.replace(total, low=max(1.0, total.low))
    recoveries = [seconds for run in runs for seconds in run.recoveries]
    own_restart = _mean(recoveries) if len(recoveries) >= FEW else restart
    record = _ratio(sum(run.records for run in runs), sum(run.recorded for run in runs))
    unfinished = sum(not run.finished for run in runs)
    model = None if interval is None else _model(plan, interval, record, own_restart)
    return Point(
        interval=interval,
        runs=len(runs),
        unfinished=unfinished,
        deaths=_mean(run.deaths for run in runs),
        record_cost=record,
        restart_cost=own_restart,
        total=total,
        model=None if model is None else model.total / model.work,
        measured_parts=Parts(
            *(
                _mean(getattr(run, part) / run.work for run in runs)
                for part in ("records", "redone", "recovery")
            )
        ),
        model_parts=None
        if model is None
        else Parts(model.records / model.work, model.redone / model.work, model.restarts / model.work),
        agrees=None if model is None or unfinished else total.contains(model.total / model.work),
    )


def _model(plan: Plan, interval: float, record: float, restart: float) -> Costs:
    return segments_costs(
        segments(plan.units, interval),
        record_cost=record,
        mean_time_between_failures=plan.mean_time,
        restart_cost=restart,
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found) if found else 0.0


def _ratio(total: float, count: int) -> float:
    return total / count if count else 0.0
