"""Small plans, and sweeps that were never run."""

from __future__ import annotations

from runledger.granularity import segments_costs
from runledger.sweep.driver import Run
from runledger.sweep.measure import Measured, measured
from runledger.sweep.plan import Plan, plan, segments

__all__ = ["made_up", "planned"]


def planned(points: int = 3, **other: object) -> Plan:
    """A plan with a death each quarter of a second, and intervals that need few records."""
    asked = {"mean_time": 3600.0, "compress": 14400.0, "work": None, "budget": 1.0, "workers": 2, "seed": 3}
    asked |= {"shortest": 300.0, "longest": 3600.0}
    return plan(points=points, **{**asked, **other})  # type: ignore[arg-type] # by name


def made_up(factor: float) -> Measured:
    """A sweep whose totals are ``factor`` times what the model says, but for a little noise."""
    chosen = planned(points=4)
    runs = []
    for interval in [*chosen.intervals, None]:
        parts = segments(chosen.units, interval or 0.01)
        costs = segments_costs(parts, record_cost=0.001, mean_time_between_failures=0.25, restart_cost=0.02)
        for number in range(8):
            total = costs.total * factor * (1 + 0.002 * (number - 3.5))
            runs.append(
                Run(
                    interval=interval,
                    total=total,
                    work=chosen.work,
                    records=0.001 * len(parts),
                    redone=total - chosen.work - 0.001 * len(parts),
                    recovery=0.0,
                    recoveries=[0.02],
                    recorded=len(parts),
                    deaths=3,
                    finished=True,
                )
            )
    return measured(chosen, runs, 60.0)
