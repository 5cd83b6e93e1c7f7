"""One contender in a process of its own: lines of JSON on standard input tell it what to do.

    python -m bench.worker CONTENDER[:threads=N|:tasks=N|:fresh=N] DIRECTORY

``fresh=N``: each turn is a new store of N steps, from open to close.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.contenders import CONTENDERS, Contender, done
from bench.peers import PEERS

__all__ = ["main"]


class Lane:
    """A contender and the way in which its steps are driven."""

    def __init__(self, spec: str, directory: Path) -> None:
        name, _, way = spec.partition(":")
        kind, _, count = way.partition("=")
        self._make: Callable[[], Contender] = {**CONTENDERS, **PEERS}[name]
        self._kind = kind
        self._count = int(count or 1)
        self._directory = directory
        self._turns = 0
        self.contender = self._make()
        self.contender.open(directory)

    def run(self, count: int) -> dict[str, Any]:
        """A turn of about ``count`` new steps: seconds, CPU seconds, and how many it did."""
        self._turns += 1
        count = self._count if self._kind == "fresh" else max(count, self._count)
        keys = [f"{os.getpid()}-{self._turns}-{n}" for n in range(count)]
        if self._kind == "fresh":
            return self._run_fresh(keys)
        return self._timed(keys)

    def _timed(self, keys: Sequence[str]) -> dict[str, Any]:
        before = done[0]
        began, cpu = time.perf_counter(), time.process_time()
        if self._kind == "threads":
            steps = self.contender.in_threads(keys, self._count)
        elif self._kind == "tasks":
            steps = self.contender.in_tasks(keys, self._count)
        else:
            self.contender.steps(keys)
            steps = len(keys)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        if self.contender.effects and done[0] - before != steps:
            raise AssertionError(f"{steps} steps had {done[0] - before} effects")
        return {"steps": steps, "seconds": seconds, "cpu": cpu}

    def _run_fresh(self, keys: Sequence[str]) -> dict[str, Any]:
        """From open to close: products differ in when they make their files."""
        place = self._directory / f"fresh-{self._turns}"
        place.mkdir()
        os.sync()
        fresh = self._make()
        began, cpu = time.perf_counter(), time.process_time()
        fresh.open(place)
        fresh.steps(keys)
        fresh.close()
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        shutil.rmtree(place)
        return {"steps": len(keys), "seconds": seconds, "cpu": cpu}

    def repeat(self, count: int) -> dict[str, Any]:
        """One committed step, asked for ``count`` times more."""
        key = f"{os.getpid()}-repeated"
        self.contender.step(key)
        before = done[0]
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            self.contender.step(key)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        if done[0] != before:
            raise AssertionError("a committed step was done again")
        return {"steps": count, "seconds": seconds, "cpu": cpu}


def main(spec: str, directory: str) -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    lane = Lane(spec, Path(directory))
    print(json.dumps({"ready": spec}), file=answers, flush=True)
    for line in sys.stdin:
        told = json.loads(line)
        answer = lane.run(told["run"]) if "run" in told else lane.repeat(told["repeat"])
        print(json.dumps(answer), file=answers, flush=True)
    lane.contender.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
