"""The stage on which both forms of the demo play: workers in the world, killed where an act says so."""

from __future__ import annotations

import queue
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from runledger.demo.acts import Kill
from runledger.demo.plan import Plan
from runledger.demo.processes import Crew, DemoError
from runledger.demo.story import Story
from runledger.demo.witness import Moment, Witness
from runledger.demo.world import World

__all__ = ["Stage", "Worker"]

STARTS = 40  # of workers, in one demo: a worker that cannot work is not started for ever


@dataclass(frozen=True)
class Worker:
    """A worker's process and where what it says is kept."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def pid(self) -> int:
        """The worker's process."""
        return self.process.pid

    def words(self) -> str:
        """What it said so far."""
        return self.log.read_text(encoding="utf-8").strip()

    def fate(self) -> str:
        """For a failure: how it ended and the end of what it said."""
        return f"worker {self.pid} (exit {self.process.poll()}) said: {self.words()[-600:] or 'nothing'}"


@dataclass
class Stage:
    """Everything that is on it; ``module`` is the worker's."""

    crew: Crew
    witness: Witness
    world: World
    plan: Plan
    story: Story
    module: str
    workers: list[Worker] = field(default_factory=list)
    started: int = 0

    @property
    def tree(self) -> Path:
        """The working tree that all of it is about."""
        return self.world.tree

    def catch(self, act: Kill, *, stubborn: bool = False) -> Worker:
        """Have ``act.workers`` at work until the act's moment; returns who caused it, held by the outside.

        A worker that ends before is a failure, unless ``stubborn``: then another one is started.
        """
        moment = act.moment(self.plan)
        while len(self.workers) < act.workers:
            self._start()
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

    def kill(self, worker: Worker) -> None:
        """SIGKILL who was caught, then let the outside go on."""
        if self.crew.kill(worker.process) != -9:
            raise DemoError(f"it ended before it could be killed: {worker.fate()}")
        self.workers.remove(worker)
        self.witness.release()

    def hear(self, word: str, worker: Worker) -> int:
        """Wait until ``worker`` has said ``word``; returns how often it has by now."""
        while not (count := worker.words().count(word)):
            self.crew.left(1)
            if worker.process.poll() is not None:
                raise DemoError(f"no {word!r} from it: {worker.fate()}")
            time.sleep(0.01)
        return count

    def play_out(self) -> Worker:
        """Have a worker work to its own end."""
        if not self.workers:
            self._start()
        worker = self.workers.pop()
        try:
            worker.process.wait(self.crew.left(20))
        except subprocess.TimeoutExpired:
            raise DemoError(f"the last worker does not end: {worker.fate()}") from None
        return worker

    def _start(self) -> None:
        self.started += 1
        if self.started > STARTS:
            raise DemoError(f"{STARTS} workers were started and none came to the end")
        path = self.tree.parent / f"worker-{self.started}.log"
        with path.open("w", encoding="utf-8") as log:
            process = self.crew.start(self.module, str(self.tree), at=self.tree, stdout=log, stderr=log)
        self.workers.append(Worker(process, path))

    def _bury(self, moment: Moment, *, stubborn: bool) -> None:
        over = [worker for worker in self.workers if worker.process.poll() is not None]
        if over and not stubborn:
            raise DemoError(f"it ended before {moment}: {over[0].fate()}")
        self.workers = [worker for worker in self.workers if worker not in over]
        if not self.workers:
            self._start()
