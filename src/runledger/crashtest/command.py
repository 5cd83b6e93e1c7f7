"""One whole test: the uninterrupted run, the kills, the verdict."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from runledger.crashtest.boundaries import boundaries_of, spread
from runledger.crashtest.driver import DONE, Bench, Trial
from runledger.crashtest.scratch import Source
from runledger.crashtest.verdict import Finding, judge
from runledger.errors import UsageError
from runledger.local.files import find_root

__all__ = ["Tested", "crashtest"]


class Tested(NamedTuple):
    """What a test found; ``kept`` is the folder of the copies, if they were to stay."""

    boundaries: int
    reference: Trial
    trials: list[Trial]
    findings: list[Finding]
    kept: str | None


def crashtest(
    command: Sequence[str],
    *,
    directory: str | None = None,
    count: str | None = None,
    runs: int = 100,
    timeout: float = 60.0,
    keep: bool = False,
    told: Callable[[str], None] = lambda _: None,
) -> Tested:
    """Test ``command`` as it would run in the working directory; ``told`` gets a line as the work goes on.

    Raises:
        UsageError: the program does not end well by itself, or no ledger was seen in it.
    """
    here = Path.cwd()
    source = Source(Path(directory) if directory else _home(here), here)
    source.check()
    scratch = Path(tempfile.mkdtemp(prefix="runledger-crashtest-"))
    try:
        bench = Bench(source, command, scratch, timeout=timeout, count_line=count)
        reference = bench.trial()
        boundaries = boundaries_of(reference.hits)
        _check(reference, boundaries)
        chosen = spread(boundaries, runs)
        trials = []
        for number, boundary in enumerate(chosen, 1):
            trials.append(bench.trial(boundary))
            told(f"{number}/{len(chosen)} killed {boundary}: {trials[-1].ended}")
        return Tested(
            len(boundaries), reference, trials, judge(reference, trials), str(scratch) if keep else None
        )
    finally:
        if not keep:
            shutil.rmtree(scratch, ignore_errors=True)


def _home(here: Path) -> Path:
    """The folder of the ledger that the program would find, as long as the working directory is in it."""
    found = Path(find_root(None)).resolve()
    return found if here.resolve().is_relative_to(found) and not os.environ.get("RUNLEDGER_DIR") else here


def _check(reference: Trial, boundaries: Sequence[object]) -> None:
    if reference.ended != DONE:
        raise UsageError(
            f"the program does not end well by itself, in a fresh copy and without kills: exit {reference.code}",
            hint=reference.said.rstrip() or "It printed nothing. --timeout says how long it may take.",
        )
    if not boundaries:
        raise UsageError(
            "no step was seen in the program",
            hint="It must use runledger, in a Python that heeds PYTHONPATH (not python -I, -E or -S).",
        )
