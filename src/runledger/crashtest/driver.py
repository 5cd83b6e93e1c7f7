"""The runs: once uninterrupted, then once for each boundary, killed there and restarted until it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from runledger.crashtest.boundaries import KILLED, OPENED, OUTSIDE, Boundary, Hit, read
from runledger.crashtest.counting import Tally, count
from runledger.crashtest.inject import ENVIRONMENT, SITECUSTOMIZE, Plan
from runledger.crashtest.scratch import Source
from runledger.crashtest.sessions import end_session, members
from runledger.doubt import StepReport
from runledger.errors import LedgerError, UsageError
from runledger.replay_report import replay
from runledger.run_state import JACKED_OUT

__all__ = ["DONE", "IN_DOUBT", "NOT_REACHED", "STUCK", "Bench", "Trial"]

DONE = "done"
IN_DOUBT = "in doubt"
STUCK = "stuck"
NOT_REACHED = "not reached"

RESTARTS = 3
"""A program that did not end well after so many restarts is stuck."""

TIMED_OUT = 128 + signal.SIGKILL
TAIL = 2000
SWEEP_S = 10.0


class Trial(msgspec.Struct, frozen=True):
    """One run and its restarts: ``boundary`` is where it was killed, None for the uninterrupted run.

    ``effects`` is what ``--count`` found, None without it; ``said`` the end of the last start's output.
    """

    boundary: Boundary | None
    ended: str
    code: int
    starts: int
    hits: list[Hit]
    open: list[StepReport]
    effects: Counter[str] | None
    said: str


class Bench:
    """Runs ``command`` in copies of ``source`` below ``scratch``; ``timeout`` in seconds for each start."""

    def __init__(
        self,
        source: Source,
        command: Sequence[str],
        scratch: Path,
        *,
        timeout: float,
        count_line: str | None = None,
        own: Mapping[str, str] | None = None,
    ) -> None:
        self.source = source
        self.words = command
        self.scratch = scratch.resolve()
        self.timeout = timeout
        self.count_line = count_line
        self.own = dict(os.environ if own is None else own)
        self._number = 0
        site = self.scratch / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(SITECUSTOMIZE, encoding="utf-8")

    def trial(self, boundary: Boundary | None = None) -> Trial:
        """One run in a fresh copy.

        Raises:
            UsageError: the program cannot be started, or opened a ledger outside of its copy.
        """
        place = self.scratch / f"{self._number:03}"
        self._number += 1
        place.mkdir()
        run = _Run(self, place, boundary)
        before = run.count()
        ended = self._starts(run, boundary)
        hits = read(run.hits)
        effects = None
        if self.count_line is not None:
            after = run.count()
            assert before is not None
            assert after is not None
            effects = after.since(before)
        return Trial(boundary, ended, run.code, run.starts, hits, _open_steps(hits)[0], effects, run.said())

    def _starts(self, run: _Run, boundary: Boundary | None) -> str:
        run.start()
        killed = any(hit.place == KILLED for hit in read(run.hits))
        if boundary is None or not killed:
            ended = DONE if run.code == 0 else STUCK
            return ended if boundary is None or ended == STUCK else NOT_REACHED
        for _ in range(RESTARTS):
            run.start()
            doubtful, finished = _open_steps(read(run.hits))
            if any(not step.idempotent or step.owner.lease for step in doubtful):
                return IN_DOUBT
            if run.code == 0 or finished:
                return DONE
        return STUCK


class _Run:
    """The starts of one trial, in its own copy at ``place``."""

    def __init__(self, bench: Bench, place: Path, boundary: Boundary | None) -> None:
        source = bench.source
        self._bench = bench
        self._copy = place / "copy"
        source.copy_to(self._copy)
        self._at = self._copy / source.working
        self.hits = place / "hits.jsonl"
        self.hits.touch()
        self._output = place / "output.txt"
        self.environment = source.environment(self._copy, bench.own)
        plan = Plan(str(self.hits), str(self._copy), boundary)
        paths = [str(bench.scratch / "site"), self.environment.get("PYTHONPATH", "")]
        self._watched = {
            **self.environment,
            ENVIRONMENT: msgspec.json.encode(plan).decode(),
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        self._words = source.command(self._copy, bench.words)
        self.starts = 0
        self.code = 0

    def count(self) -> Tally | None:
        """What ``--count`` says now."""
        line = self._bench.count_line
        return None if line is None else count(line, self._at, self.environment)

    def start(self) -> None:
        """Run the program until it ends, is killed, or takes too long; nothing of it is left."""
        self.starts += 1
        with self._output.open("wb") as output:
            try:
                process = subprocess.Popen(
                    self._words,
                    cwd=self._at,
                    env=self._watched,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise UsageError(f"{self._words[0]} cannot be started: {error.strerror}") from error
            try:
                self.code = process.wait(self._bench.timeout)
            except subprocess.TimeoutExpired:
                self.code = TIMED_OUT
            finally:
                _sweep(process.pid)
                process.wait()
        for hit in read(self.hits):
            if hit.place == OUTSIDE:
                raise UsageError(
                    f"the program opens a ledger outside of its copy, {hit.root}: nothing was done there",
                    hint="Have it find the ledger from its working directory, or copy a larger folder: --dir DIR",
                )

    def said(self) -> str:
        """The end of what the last start printed."""
        return self._output.read_bytes()[-TAIL:].decode("utf-8", "replace")


def _sweep(session: int) -> None:
    """Leave nothing of a session; a process that stands in the kernel is waited for only so long."""
    ends = time.monotonic() + SWEEP_S
    with suppress(ProcessLookupError):
        end_session(session)
    while any(True for _ in members(session)) and time.monotonic() < ends:
        end_session(session)
        time.sleep(0.01)


def _open_steps(hits: list[Hit]) -> tuple[list[StepReport], bool]:
    """The steps that the program's ledgers hold in doubt, or by nothing but a lease; and whether a run is over."""
    found: list[StepReport] = []
    finished = False
    for root in dict.fromkeys(hit.root for hit in hits if hit.place == OPENED):
        try:
            report = replay(root)
        except LedgerError:
            continue  # killed before there was anything to read, or the program's own doing: its restart tells
        found += report.in_doubt
        found += [step for step in report.in_flight if step.owner.lease]
        finished = finished or report.state == JACKED_OUT
    return found, finished
