"""The command line as its users have it: a process, its exit code, and what came on which stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import runledger
from tests.cli.zygote import Zygote

__all__ = ["Said", "Terminal"]

RUNLEDGER = (sys.executable, "-m", "runledger")
SOURCES = Path(runledger.__file__).parents[1]


def _refused(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


class Said(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        """The one object that standard output holds, on one line."""
        assert self.text.endswith("\n")
        assert self.text.count("\n") == 1
        return json.loads(self.text, parse_constant=_refused)

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return self.err.splitlines()[-1]


def _said(code: int, out: bytes, err: bytes) -> Said:
    """A traceback is never an answer."""
    text = err.decode()
    assert "Traceback" not in text, text
    return Said(code, out, text)


class Terminal:
    """Runs ``runledger …`` in a directory: called, in a child of ``zygote``, else as anybody would."""

    def __init__(self, at: Path, zygote: Zygote) -> None:
        self.at = at
        self._zygote = zygote
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("RUNLEDGER_")
        }
        self.environment["PYTHONPATH"] = str(SOURCES)

    def __call__(self, *words: str, input: bytes = b"", **environment: str) -> Said:  # noqa: A002 - as in subprocess
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(input)
            given.seek(0)
            files = (given.fileno(), out.fileno(), err.fileno())
            code = self._zygote.run(words, self.at, {**self.environment, **environment}, files)
            out.seek(0)
            err.seek(0)
            return _said(code, out.read(), err.read())

    def run(self, *command: str, input: bytes = b"", **environment: str) -> Said:  # noqa: A002 - as in subprocess
        """Run any command."""
        done = subprocess.run(
            command,
            cwd=self.at,
            env={**self.environment, **environment},
            input=input,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return _said(done.returncode, done.stdout, done.stderr)

    def sh(self, line: str, **environment: str) -> Said:
        """Run a shell line in which ``runledger`` is the command."""
        function = f'runledger() {{ "{RUNLEDGER[0]}" -m runledger "$@"; }}; '
        return self.run("sh", "-c", function + line, **environment)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """A command that is talked to while it runs."""
        return subprocess.Popen(
            (*RUNLEDGER, *words),
            cwd=self.at,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
