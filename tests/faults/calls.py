"""Commands in a forked child whose calls to the operating system are counted, and refused from a certain one on.

The calls are those of Python; what SQLite calls by itself is refused by strace, in `test_refused_by_the_kernel.py`.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import runledger.cli
from tests.support.forks import Fork

__all__ = ["CALLS", "Said", "fresh", "loaded", "run"]

CALLS = (
    "open",
    "pread",
    "pwrite",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "mkdir",
    "unlink",
    "stat",
    "lstat",
    "listdir",
)


class Said(NamedTuple):
    """What became of a command: its exit code, what it printed, and how many calls it made."""

    code: int
    out: str
    err: str
    calls: int


def loaded() -> None:
    """Have every module of the command line, so that no import meets the fault."""
    for module in set(runledger.cli.FAMILIES.values()):
        import_module(f"runledger.cli.{module}")
    for module in (
        "cli.parser",
        "cli.plain_step",
        "cli.failing",
        "local.compactor",
        "local.history",
        "local.worker",
        "local.group_commit",
    ):
        import_module(f"runledger.{module}")
    for module in (
        "encodings.ascii",
        "structlog",
        "portalocker",
        "sqlite3",
        "hashlib",
        "tempfile",
        "shutil",
        "difflib",
        "shlex",
        "re",
    ):
        import_module(module)


def fresh(source: Path, to: Path) -> Path:
    """A copy of a root to work on; what was there goes."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(source, to)
    return to


def run(
    root: Path,
    words: Sequence[str],
    *,
    at: int = 0,
    error: int = 0,
    on: bool = False,
    first: Callable[[], object] = lambda: None,
) -> Said:
    """Run a command; its call number ``at`` fails with ``error``, and all after it where ``on``. The child does
    ``first`` before anything else."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:

        def body(say: Any) -> None:
            first()
            os.environ["RUNLEDGER_DIR"] = str(root)
            os.chdir(root)
            for number, file in ((1, out), (2, err)):
                os.dup2(file.fileno(), number)
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "wb", closefd=False), encoding="utf-8")
            sys.stderr = io.TextIOWrapper(
                io.FileIO(2, "wb", closefd=False), encoding="utf-8", write_through=True
            )
            calls = _counting(at, error, on=on)
            code = runledger.cli.main(list(words))
            sys.stdout.flush()
            say(f"{code} {calls()}")

        code, lines = Fork(body).end()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    assert code == 0, (words, at, code, texts)
    answer, calls = map(int, lines[-1].split())
    return Said(answer, *texts, calls)


def _counting(at: int, error: int, *, on: bool) -> Any:
    made = 0

    def limit(name: str) -> None:
        whole = getattr(os, name)

        def limited(*args: Any, **kwargs: Any) -> Any:
            nonlocal made
            made += 1
            if made == at or (on and 0 < at <= made):
                raise OSError(error, os.strerror(error), args[0] if isinstance(args[0], str) else None)
            return whole(*args, **kwargs)

        setattr(os, name, limited)

    for name in CALLS:
        limit(name)
    return lambda: made
