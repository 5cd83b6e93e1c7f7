"""One run of the experiment: a child is started, killed at random moments, and started again until it is done.

Run as a module it takes jobs on standard input and answers each with what was measured, one JSON object a line. It has
one thread, so that it may fork.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import tempfile
import time
from random import Random

import msgspec

from runledger.sweep.child import Seen, Shared, child
from runledger.sweep.plan import Job

__all__ = ["Run", "main", "run"]


class Run(msgspec.Struct, frozen=True):
    """Where the seconds of one run went, from the first unit of work to its last record.

    ``recoveries`` are the times from a death to the next child at work, of those that no death cut short;
    ``recovery`` is all of it.
    """

    interval: float | None
    total: float
    work: float
    records: float
    redone: float
    recovery: float
    recoveries: list[float]
    recorded: int
    deaths: int
    finished: bool


class _Account:
    """What adds up over the lives of a run."""

    def __init__(self, lengths: list[float]) -> None:
        self._lengths = lengths
        self._done = 0
        self.redone = self.recovery = self.overhead = 0.0
        self.recoveries: list[float] = []
        self.records = self.deaths = 0
        self.began = self.ended = 0.0
        self.died = 0.0

    def life(self, seen: Seen, killed: float | None) -> None:
        """One child's life, ended by a kill or by itself."""
        if killed is not None:
            # A busy machine may let it work on for a moment after the kill was due: until its last sign of life.
            killed = max(killed, seen.ready, seen.kept)
        if seen.ready:
            # What was written when a kill came is kept, though its writer could not say so any more.
            self.redone -= sum(self._lengths[self._done : seen.resumed])
            self._done = max(seen.done, seen.resumed)
            if self.died:
                self.recoveries.append(seen.ready - self.died)
                self.recovery += self.recoveries[-1]
            self.began = self.began or seen.ready
            self.overhead += seen.overhead
            self.records += seen.records
            self.ended = seen.kept or self.ended
            if killed is not None:
                self.redone += killed - max(seen.kept, seen.ready)
        elif killed is not None and self.died:
            self.recovery += killed - self.died
        if killed is not None:
            self.died = killed
            self.deaths += 1


def run(job: Job) -> Run:
    """One run on a new ledger below ``job.directory``, which is removed afterwards."""
    account, shared = _Account(job.lengths), Shared()
    kills = _Kills(job.mean_time, job.seed)
    finished = False
    with tempfile.TemporaryDirectory(prefix=".sweep-", dir=job.directory) as root:
        while not finished and not (account.began and time.monotonic() > account.began + job.limit):
            shared.clear()
            killed = _life(job, root, shared, kills)
            seen = shared.seen()
            finished = max(seen.done, seen.resumed) == len(job.lengths)
            account.life(seen, None if finished else killed)
    shared.close()
    return Run(
        interval=job.interval,
        total=(account.ended if finished else account.died) - account.began,
        work=sum(job.lengths),
        records=account.overhead,
        redone=account.redone,
        recovery=account.recovery,
        recoveries=account.recoveries,
        recorded=account.records,
        deaths=account.deaths,
        finished=finished,
    )


class _Kills:
    """A Poisson process in real time, from the first unit of work on: it strikes whatever is going on."""

    def __init__(self, mean_time: float, seed: int) -> None:
        self._draw = Random(seed).expovariate  # noqa: S311 - a run that can be repeated, no secret
        self._rate = 1 / mean_time
        self.next: float | None = None

    def begin(self, now: float) -> None:
        if self.next is None:
            self.next = now + self._draw(self._rate)

    def struck(self) -> None:
        assert self.next is not None
        self.next += self._draw(self._rate)

    def wait(self) -> float | None:
        return None if self.next is None else max(0.0, self.next - time.monotonic())


def _life(job: Job, root: str, shared: Shared, kills: _Kills) -> float | None:
    """One child from its start to its end; the moment of its kill, None where it ended by itself."""
    heard, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(job, root, shared, heard, tell)
    os.close(tell)
    killed: float | None = None
    try:
        while True:
            if not select.select([heard], [], [], kills.wait())[0]:
                killed = time.monotonic()
                kills.struck()
                break
            if not os.read(heard, 1):
                break
            kills.begin(shared.seen().ready)
    finally:
        os.close(heard)
        if killed is not None or sys.exc_info()[0] is not None:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    if killed is None and status:
        raise RuntimeError(f"the work failed with status {os.waitstatus_to_exitcode(status)}")
    return killed


def _be_child(job: Job, root: str, shared: Shared, heard: int, tell: int) -> None:
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(heard)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1):
            os.dup2(nowhere, standard)
        # What the engine logs of each death is no news here; a failure is told by its exit code.
        if not os.environ.get("RUNLEDGER_SWEEP_LOG"):
            os.dup2(nowhere, 2)
        child(root, job.lengths, every=job.every, shared=shared, tell=tell)
        code = 0
    except BaseException:  # noqa: BLE001 - a forked child must not go on in its parent's code
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _warm(directory: str) -> None:
    """Everything is imported before the first fork, so that a restart costs a restart and no import."""
    import structlog

    structlog.get_logger().bind()
    with tempfile.TemporaryDirectory(prefix=".sweep-", dir=directory) as root:
        shared = Shared()
        heard, tell = os.pipe()
        child(root, [1e-4, 1e-4], every=True, shared=shared, tell=tell)
        for fd in (heard, tell):
            os.close(fd)
        shared.close()
    gc.collect()
    gc.freeze()


def main() -> None:
    """Answer jobs until there are no more."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warm = False
    for line in sys.stdin:
        job = msgspec.json.decode(line, type=Job)
        if not warm:
            _warm(job.directory)
            warm = True
        sys.stdout.write(msgspec.json.encode(run(job)).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
