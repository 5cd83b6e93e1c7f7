"""A bug is planted in a copy of the package, and the tests that are there to find it are run against the copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import runledger

__all__ = ["PROJECT", "Change", "Mutant", "Said", "plant", "run"]

PACKAGE = Path(runledger.__file__).parent
PROJECT = Path(__file__).parents[2]

_RUN = """
import signal, sys

import pytest
import runledger

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs have it ignored
assert runledger.__file__.startswith(sys.argv[1]), f"{runledger.__file__} is tested"
sys.exit(pytest.main(sys.argv[2:]))
"""


class Change(NamedTuple):
    """In the file ``where``, what ``was`` there, once and only once, is ``now`` something else."""

    where: str
    was: str
    now: str


class Mutant(NamedTuple):
    """A bug in one sentence, where it is, and which tests turn ``red``."""

    bug: str
    changes: tuple[Change, ...]
    red: tuple[str, ...]


class Said(NamedTuple):
    """pytest's exit code (1: a test failed) and what it printed."""

    code: int
    text: str


def plant(mutant: Mutant | None, to: Path) -> Path:
    """A copy of the package below ``to`` with the bug in it; without a mutant, as it is.

    Raises:
        AssertionError: the code that the mutant changes has changed; the mutant has to follow.
    """
    source = to / "src"
    shutil.copytree(PACKAGE, source / "runledger", ignore=shutil.ignore_patterns("__pycache__"))
    for where, was, now in mutant.changes if mutant is not None else ():
        path = source / "runledger" / where
        text = path.read_text("utf-8")
        assert text.count(was) == 1, f"{where} has {text.count(was)} times, not once:\n{was}"
        changed = text.replace(was, now)
        compile(changed, str(path), "exec")
        path.write_text(changed, "utf-8")
    return source


def run(source: Path, tests: tuple[str, ...]) -> Said:
    """Run tests on the package in ``source``, up to the first failure; always the same histories."""
    words = [
        "-q",
        "-x",
        "-n",
        "0",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
        "--seed",
        "1",
        "--as-found",
    ]
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(source), *words, *tests],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Said(done.returncode, done.stdout + done.stderr)
