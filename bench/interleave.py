"""Contenders side by side: a process for each, idle ones stopped, a new order each round.

A fixed order is a bias: each contender would always run in the state in which the same neighbour leaves the
disk. One that is not stopped disturbs the others with its background threads. Absolute numbers move with the
neighbours of a machine within minutes: only ratios of turns of the same round are told.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from runledger.bench.timing import Spread, spread

__all__ = ["Race", "Turn", "Worker"]

TOP = Path(__file__).resolve().parents[1]
CALIBRATION_S = 0.01


class Turn(NamedTuple):
    """One contender's turn in one round. ``device`` are bytes that the block device wrote meanwhile."""

    steps: int
    seconds: float
    cpu: float
    device: int

    @property
    def speed(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds


class Worker:
    """A contender in processes of its own; several serve one directory and take their turns together."""

    def __init__(
        self, spec: str, directory: Path, *, python: str = sys.executable, processes: int = 1
    ) -> None:
        self.spec = spec
        self.count = 1
        self._directory = directory
        self._log = directory.with_suffix(".log")
        directory.mkdir(parents=True)
        with self._log.open("w") as log:
            self._processes = [
                subprocess.Popen(
                    [python, "-m", "bench.worker", spec, str(directory)],
                    cwd=TOP,
                    env={**os.environ, "PYTHONPATH": f"{TOP}{os.pathsep}{TOP / 'src'}"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
                for _ in range(processes)
            ]
        self._answers()
        self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)

    def _answers(self) -> list[dict[str, Any]]:
        answers = []
        for process in self._processes:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{self.spec} ended: {self._log.read_text()[-2000:]}")
            answers.append(json.loads(line))
        return answers

    def turn(self, count: int = 0, *, ask: str = "run") -> Turn:
        """Let it go for ``count`` steps, its calibrated share if none is said, and stop it again."""
        each = max(1, (count or self.count) // len(self._processes))
        self._signal(signal.SIGCONT)
        written = _device_bytes(self._directory)
        began = time.perf_counter()
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(f'{{"{ask}": {each}}}\n')
            process.stdin.flush()
        answers = self._answers()
        seconds = time.perf_counter() - began if len(answers) > 1 else answers[0]["seconds"]
        written = _device_bytes(self._directory) - written
        self._signal(signal.SIGSTOP)
        return Turn(sum(a["steps"] for a in answers), seconds, sum(a["cpu"] for a in answers), written)

    def calibrate(self, seconds: float, *, ask: str = "run") -> None:
        """Find how many steps fill a turn; the first turns warm it up."""
        count = len(self._processes)
        self.turn(count, ask=ask)
        while True:
            turn = self.turn(count, ask=ask)
            if turn.seconds > min(seconds, CALIBRATION_S) or count > 1 << 20:
                self.count = max(1, round(turn.steps * seconds / turn.seconds))
                return
            count *= 2

    def close(self) -> None:
        """Let it end in good order, and remove what it left."""
        self._signal(signal.SIGCONT)
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()
        shutil.rmtree(self._directory, ignore_errors=True)
        self._log.unlink(missing_ok=True)


class Race:
    """Groups of contenders; each round runs the groups, and the contenders of each, in a new order.

    So what is compared ran within moments of each other.
    """

    def __init__(self, directory: Path, *, turn_s: float) -> None:
        self._directory = directory
        self._turn_s = turn_s
        self._groups: dict[str, dict[str, Worker]] = {}
        self._asked: dict[str, str] = {}
        self.turns: dict[str, dict[str, list[Turn]]] = {}
        self.left_out: list[str] = []

    def add(
        self,
        group: str,
        specs: Iterable[str],
        *,
        python: str = sys.executable,
        processes: int = 1,
        ask: str = "run",
    ) -> None:
        """Have contenders in a group; one that cannot start is told and left out.

        Several ``processes`` of one contender share a directory, and it is called ``SPEC*N``.
        """
        workers = self._groups.setdefault(group, {})
        turns = self.turns.setdefault(group, {})
        self._asked[group] = ask
        for spec in specs:
            name = spec if processes == 1 else f"{spec}*{processes}"
            place = self._directory / f"{group}-{name}".replace(":", "-").replace("*", "-")
            try:
                worker = Worker(spec, place, python=python, processes=processes)
                worker.calibrate(self._turn_s, ask=ask)
            except (RuntimeError, OSError) as error:
                self.left_out.append(f"{name}: {error}")
                continue
            workers[name] = worker
            turns[name] = []

    def run(self, rounds: int, *, seconds: float = float("inf")) -> None:
        """So many rounds, or as many as fit, but three."""
        ends = time.monotonic() + seconds
        for number in range(rounds):
            if number >= 3 and time.monotonic() > ends:
                return
            for group in shuffled(self._groups):
                for name in shuffled(self._groups[group]):
                    turn = self._groups[group][name].turn(ask=self._asked[group])
                    self.turns[group][name].append(turn)

    def ratio(self, group: str, above: str, below: str) -> Spread:
        """How many times as fast ``above`` is as ``below``."""
        turns = self.turns[group]
        return spread([a.speed / b.speed for a, b in zip(turns[above], turns[below], strict=True)])

    def step_us(self, group: str, name: str) -> Spread:
        """Microseconds a step."""
        return spread([1e6 / turn.speed for turn in self.turns[group][name]])

    def cpu_us(self, group: str, name: str) -> Spread:
        """Microseconds of CPU a step."""
        return spread([1e6 * turn.cpu / turn.steps for turn in self.turns[group][name]])

    def device_bytes(self, group: str, name: str) -> Spread:
        """Bytes a step that the block device wrote."""
        return spread([turn.device / turn.steps for turn in self.turns[group][name]])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for workers in self._groups.values():
            for worker in workers.values():
                worker.close()


def shuffled(names: Iterable[str]) -> Sequence[str]:
    """In a new random order."""
    order = list(names)
    random.shuffle(order)
    return order


def _device_bytes(directory: Path) -> int:
    """What the block device below has written so far; 0 where the system does not tell.

    The counter of a process counts whole pages of the cache instead.
    """
    number = directory.stat().st_dev
    try:
        told = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat").read_text().split()
    except OSError:
        return 0
    return int(told[6]) * 512
