"""What a run costs under failures that strike at random, exactly.

The convention is that of J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart
dumps", Future Generation Computer Systems 22 (2006) 303-312, its complete model: failures are a Poisson
process with mean time M between them; they strike work, records and restarts alike. A segment of work s
followed by its record d counts only if both pass without a failure. After a failure comes a restart of length
R, begun anew when a failure strikes it, then the segment from its start. With a = s + d, the expected time of
one segment is exactly

    E(a) = M * exp(R / M) * (exp(a / M) - 1)

since an attempt that needs ``a`` seconds without a failure takes M * (exp(a/M) - 1) on average, its own
failed tries included, suffers exp(a/M) - 1 failures, and each of these costs one recovery of
M * (exp(R/M) - 1). Daly multiplies by work / s; here the last segment is as long as what is left, so that the
sum is exact for any work. The last record is counted too: without it the work is not done.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from runledger.granularity.bounds import not_negative, positive

__all__ = [
    "Costs",
    "costs_of",
    "expected_costs",
    "expected_redo",
    "expected_total",
    "segments_costs",
    "stretch",
]


class Costs(msgspec.Struct, frozen=True):
    """Where the expected time of a run goes, in seconds; ``deaths`` is the expected number of failures.

    ``redone`` is the time of attempts that a failure cut short, unfinished records included; ``restarts``
    includes restarts that were cut short.
    """

    work: float
    records: float
    redone: float
    restarts: float
    deaths: float

    @property
    def total(self) -> float:
        """The expected time from start to end; ``inf`` where it is beyond what a float holds."""
        return self.work + self.records + self.redone + self.restarts


def expected_total(
    work: float,
    interval: float,
    *,
    record_cost: float,
    mean_time_between_failures: float,
    restart_cost: float = 0.0,
) -> float:
    """The exact expected seconds to finish ``work`` seconds of work, recorded after each ``interval``.

    The formula and its source head this module: Daly (2006), M * e^(R/M) * (e^((s+d)/M) - 1) for each
    segment. ``interval`` may be ``inf`` (one record, at the end) and 0 (the limit: ``inf`` unless records
    cost nothing); ``mean_time_between_failures`` may be ``inf``. A result beyond the range of a float is
    ``inf``.

    Raises:
        ValueError: for NaN, a negative number, an infinite cost or work, or a mean time that is not above 0.
    """
    return expected_costs(
        work,
        interval,
        record_cost=record_cost,
        mean_time_between_failures=mean_time_between_failures,
        restart_cost=restart_cost,
    ).total


def expected_costs(
    work: float,
    interval: float,
    *,
    record_cost: float,
    mean_time_between_failures: float,
    restart_cost: float = 0.0,
) -> Costs:
    """``expected_total`` by what the time is spent on; same arguments, bounds and errors."""
    work = not_negative("work", work)
    interval = not_negative("interval", interval, finite=False)
    cost = not_negative("record_cost", record_cost)
    mean_time = positive("mean_time_between_failures", mean_time_between_failures)
    restart = not_negative("restart_cost", restart_cost)
    count = work / interval if interval else math.inf
    if not work:
        parts = []
    elif math.isinf(count):
        # Records without end: free ones leave nothing to redo, others leave no time for the work.
        return _with_restarts(work, math.inf if cost else 0.0, 0.0, mean_time, restart)
    else:
        parts = _split(work, interval, count)
    return costs_of(parts, cost, mean_time, restart)


def segments_costs(
    segments: Iterable[float],
    *,
    record_cost: float,
    mean_time_between_failures: float,
    restart_cost: float = 0.0,
) -> Costs:
    """The expected cost of a run with given boundaries: each of ``segments`` is the work before one record.

    For a real run's own steps, however uneven. Bounds and errors are those of ``expected_total``.
    """
    parts = [(not_negative("segments", segment), 1) for segment in segments]
    return costs_of(
        parts,
        not_negative("record_cost", record_cost),
        positive("mean_time_between_failures", mean_time_between_failures),
        not_negative("restart_cost", restart_cost),
    )


def expected_redo(interval: float, *, record_cost: float, mean_time_between_failures: float) -> float:
    """The seconds of one segment that a failure in it throws away on average: M - a / (e^(a/M) - 1).

    Half of the segment where failures are rare, never more than the mean time between them.
    """
    length = not_negative("interval", interval) + not_negative("record_cost", record_cost)
    mean_time = positive("mean_time_between_failures", mean_time_between_failures)
    ratio = length / mean_time
    if math.isinf(mean_time) or ratio < 1e-12:
        return length / 2
    failures = _expm1(ratio)
    return mean_time if math.isinf(failures) else length * (stretch(ratio) / failures)


def _split(work: float, interval: float, count: float) -> list[tuple[float, int]]:
    """Lengths of segments and how many of each; a rest that is only rounding is no segment of its own."""
    whole = round(count)
    if whole and abs(count - whole) <= 1e-9 * count:
        return [(work / whole, whole)]
    whole = math.floor(count)
    return [(interval, whole), (work - whole * interval, 1)] if whole else [(work, 1)]


def costs_of(parts: list[tuple[float, int]], cost: float, mean_time: float, restart: float) -> Costs:
    """The costs of segments given as lengths and how many of each; the numbers are taken as they are."""
    work = sum(length * count for length, count in parts)
    records = cost * sum(count for _, count in parts)
    redone = sum(count * (length + cost) * stretch((length + cost) / mean_time) for length, count in parts)
    return _with_restarts(work, records, redone, mean_time, restart)


def _with_restarts(work: float, records: float, redone: float, mean_time: float, restart: float) -> Costs:
    if math.isinf(mean_time):
        return Costs(work, records, 0.0, 0.0, 0.0)
    passed = work + records + redone
    recovery = _expm1(restart / mean_time)
    restarts = passed * recovery if passed and recovery else 0.0
    # Failures are a Poisson process: the expected number of them in any such time is its expectation over M.
    return Costs(work, records, redone, restarts, (passed + restarts) / mean_time)


def stretch(ratio: float) -> float:
    """(e^ratio - 1) / ratio - 1 without cancellation: ratio/2 + ratio^2/6 + ...; may be ``inf``."""
    if ratio > 0.01:
        return _expm1(ratio) / ratio - 1 if math.isfinite(ratio) else math.inf
    return ratio / 2 * (1 + ratio / 3 * (1 + ratio / 4 * (1 + ratio / 5 * (1 + ratio / 6))))


def _expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf
