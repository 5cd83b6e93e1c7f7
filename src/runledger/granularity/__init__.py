"""How fine to checkpoint: the arithmetic, its statistics, a controller that learns, a simulator.

All times are seconds, and nothing here reads a clock, a file or a journal. Each name is loaded when first
asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runledger.granularity.adaptive import Life, Pacer
    from runledger.granularity.estimate import (
        Estimate,
        FailureRate,
        Spread,
        bootstrap_interval,
        failure_rate,
        mean_interval,
        spread,
    )
    from runledger.granularity.model import (
        Costs,
        expected_costs,
        expected_redo,
        expected_total,
        segments_costs,
    )
    from runledger.granularity.optimum import daly_interval, optimal_interval, young_interval
    from runledger.granularity.policies import Adaptive, Clairvoyant, Fixed
    from runledger.granularity.simulation import Outcome, simulate
    from runledger.granularity.workload import (
        Failures,
        exponential_units,
        fixed_units,
        heavy_tailed_units,
    )

__all__ = [
    "Adaptive",
    "Clairvoyant",
    "Costs",
    "Estimate",
    "FailureRate",
    "Failures",
    "Fixed",
    "Life",
    "Outcome",
    "Pacer",
    "Spread",
    "bootstrap_interval",
    "daly_interval",
    "expected_costs",
    "expected_redo",
    "expected_total",
    "exponential_units",
    "failure_rate",
    "fixed_units",
    "heavy_tailed_units",
    "mean_interval",
    "optimal_interval",
    "segments_costs",
    "simulate",
    "spread",
    "young_interval",
]

_HOMES = {
    "adaptive": "Life Pacer",
    "estimate": "Estimate FailureRate Spread bootstrap_interval failure_rate mean_interval spread",
    "model": "Costs expected_costs expected_redo expected_total segments_costs",
    "optimum": "daly_interval optimal_interval young_interval",
    "policies": "Adaptive Clairvoyant Fixed",
    "simulation": "Outcome simulate",
    "workload": "Failures exponential_units fixed_units heavy_tailed_units",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
