"""A fixed piece of work, cut at any of its calls, and again at any call of what follows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.crash.computer import Fuse
from tests.crash.installed import installed
from tests.crash.trial import Trial
from tests.crash.workload import go_on, work

__all__ = ["SHM", "Cut", "calls_of", "cut_short", "on_a_computer"]

SHM = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""The history's files are real; nothing here waits for a disk."""


class Cut(NamedTuple):
    """At which call, counted from 1, and what is left. ``kill``: the process alone, as ``Fuse`` tells."""

    call: int
    left: str | int = "nothing"
    kill: bool = False
    done: bool = True
    torn: int | None = None

    def arm(self, trial: Trial) -> None:
        """It comes so many calls from now."""
        trial.left = self.left
        trial.computer.fuse = Fuse(self.call, self.kill, self.done, self.torn)


@contextmanager
def on_a_computer(seed: int = 0) -> Iterator[Trial]:
    """A trial on a computer of its own; where it fails, its last calls are told."""
    with tempfile.TemporaryDirectory(prefix="runledger-crash-", dir=SHM) as folder:
        trial = Trial(Path(folder), seed)
        with installed(trial.computer):
            try:
                yield trial
            except BaseException as error:
                error.add_note("the last calls:\n  " + "\n  ".join(trial.computer.log[-60:]))
                raise


def cut_short(first: Cut, second: Cut | None = None, *, before: Callable[[Trial], None] = work) -> int:
    """Do the work up to the first cut, look, go on up to the second, look, and go on to the end.

    Returns how many cuts there were: the work may be over before.

    Raises:
        AssertionError, LedgerError: what is seen after one of them is not what may be.
    """
    with on_a_computer() as trial:
        try:
            first.arm(trial)
            before(trial)
            if second is not None:
                second.arm(trial)
                go_on(trial)
            trial.mend()
            trial.handles.clear()
            go_on(trial)
        except BaseException as error:
            error.add_note(f"cut: {first}, and again: {second}")
            raise
        return trial.cuts + trial.kills


def calls_of(before: Callable[[Trial], None], after: Callable[[Trial], None] | None = None) -> int:
    """How many calls the work makes, or what follows it."""
    with on_a_computer() as trial:
        before(trial)
        calls = trial.computer.calls
        if after is None:
            return calls
        trial.handles.clear()
        after(trial)
        return trial.computer.calls - calls
