"""All runs of a sweep, shared out among driver processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from runledger.errors import LedgerError
from runledger.sweep.driver import Run
from runledger.sweep.plan import Job, Plan

__all__ = ["LEAST_RUNS", "SweepFailed", "sweep"]

LEAST_RUNS = 2
"""Of each interval, whatever the time: fewer say nothing of their spread."""

SOURCES = str(Path(__file__).parents[2])


class SweepFailed(LedgerError):
    """The experiment's own processes failed: its numbers would mean nothing."""

    slug = "sweep-failed"
    exit_code = 74
    default_hint = "To see what they said: RUNLEDGER_SWEEP_LOG=1 runledger bench granularity"


def sweep(plan: Plan, directory: str, progress: Callable[[float, str], None] | None = None) -> list[Run]:
    """Every run that begins within the plan's budget of seconds; the repetitions of all intervals take turns.

    ``progress`` is told what share is done, and a word on it.

    Raises:
        SweepFailed: a run did not work.
    """
    jobs = _Jobs(plan, directory)
    found: list[Run] = []
    failures: list[str] = []
    lock = threading.Lock()

    def work(driver: subprocess.Popen[str]) -> None:
        while not failures and (job := jobs.take()) is not None:
            run = _answer(driver, job)
            with lock:
                if run is None:
                    failures.append("a driver of the experiment ended before its time")
                    return
                found.append(run)
                if progress is not None:
                    progress(jobs.share, f"{len(found)} runs, {sum(run.deaths for run in found)} kills")

    drivers = [_driver() for _ in range(plan.workers)]
    threads = [threading.Thread(target=work, args=(driver,), daemon=True) for driver in drivers]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for driver in drivers:
            driver.terminate()
        for driver in drivers:
            driver.communicate()
    if failures:
        raise SweepFailed(failures[0])
    return found


def _answer(driver: subprocess.Popen[str], job: Job) -> Run | None:
    """What the driver measured; None where it is gone."""
    assert driver.stdin is not None
    assert driver.stdout is not None
    try:
        driver.stdin.write(msgspec.json.encode(job).decode() + "\n")
        driver.stdin.flush()
        answer = driver.stdout.readline()
    except BrokenPipeError:
        return None
    return msgspec.json.decode(answer, type=Run) if answer else None


def _driver() -> subprocess.Popen[str]:
    paths = [SOURCES, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return subprocess.Popen(
        [sys.executable, "-m", "runledger.sweep.driver"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )


class _Jobs:
    """What is still to be run."""

    def __init__(self, plan: Plan, directory: str) -> None:
        self._plan = plan
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._rounds = self._in_turn(directory)

    @property
    def share(self) -> float:
        return min(1.0, (time.monotonic() - self._began) / self._plan.budget)

    def _in_turn(self, directory: str) -> Iterator[Job]:
        number = 0
        while True:
            # The longest first: what is left at the end is short.
            for interval in [*reversed(self._plan.intervals), None]:
                if number >= LEAST_RUNS and self.share >= 1:
                    return
                yield self._plan.job(interval, number, directory)
            number += 1

    def take(self) -> Job | None:
        with self._lock:
            return next(self._rounds, None)
