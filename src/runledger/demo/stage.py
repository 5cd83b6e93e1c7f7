"""The stage on which both forms of the demo play: workers in the world, killed where an act says so."""

from __future__ import annotations

import queue
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from runledger.demo.acts import Kill
from runledger.demo.plan import Plan
from runledger.demo.processes import Crew, DemoError
from runledger.demo.story import Story
from runledger.demo.witness import Moment, Witness
from runledger.demo.world import World

__all__ = ["Stage"]

STARTS = 40  # of workers, in one demo: a worker that cannot work is not started for ever


@dataclass
class Stage:
    """Everything that is on it; ``module`` is the worker's."""

    crew: Crew
    witness: Witness
    world: World
    plan: Plan
    story: Story
    module: str
    workers: list[subprocess.Popen[str]] = field(default_factory=list)
    started: int = 0

    @property
    def tree(self) -> Path:
        return self.world.tree

    def log(self, number: int) -> Path:
        """What the worker with this number, counted from 1, had to say."""
        return self.tree.parent / f"worker-{number}.log"

    def start_worker(self) -> None:
        self.started += 1
        if self.started > STARTS:
            raise DemoError(f"{STARTS} workers and no end; the last one said: {self.last_words()}")
        with self.log(self.started).open("w", encoding="utf-8") as log:
            worker = self.crew.start(self.module, str(self.tree), at=self.tree, stdout=log, stderr=log)
        self.workers.append(worker)

    def last_words(self) -> str:
        """The end of the last worker's log."""
        return self.log(self.started).read_text(encoding="utf-8").strip()[-600:] or "nothing"

    def kill_at(self, act: Kill, *, stubborn: bool = False) -> subprocess.Popen[str]:
        """Have ``act.workers`` at work until the moment of the act, kill who caused it, release the outside.

        A worker that ends before is a failure, unless ``stubborn``: then another one is started.
        """
        moment = act.moment(self.plan)
        while len(self.workers) < act.workers:
            self.start_worker()
        killed = self._await(moment, stubborn=stubborn)
        if self.crew.kill(killed) != -9:
            raise DemoError(f"the worker {killed.pid} ended before it could be killed at {moment}")
        self.workers.remove(killed)
        self.witness.release()
        return killed

    def play_out(self) -> int:
        """Have a worker work to its own end; returns its exit code."""
        if not self.workers:
            self.start_worker()
        worker = self.workers.pop()
        try:
            return worker.wait(self.crew.left(20))
        except subprocess.TimeoutExpired:
            raise DemoError(f"the last worker does not end; it said: {self.last_words()}") from None

    def _await(self, moment: Moment, *, stubborn: bool) -> subprocess.Popen[str]:
        while True:
            try:
                caught, group = self.witness.caught.get(timeout=self.crew.left(0.2))
            except queue.Empty:
                self._bury(moment, stubborn=stubborn)
                continue
            worker = next((worker for worker in self.workers if worker.pid == group), None)
            if caught != moment or worker is None:
                raise DemoError(f"expected {moment}, caught {caught} of process {group}")
            return worker

    def _bury(self, moment: Moment, *, stubborn: bool) -> None:
        over = [worker for worker in self.workers if worker.poll() is not None]
        if over and not stubborn:
            raise DemoError(f"a worker ended ({over[0].returncode}) before {moment}: {self.last_words()}")
        self.workers = [worker for worker in self.workers if worker not in over]
        if not self.workers:
            self.start_worker()
