"""The command line as its users have it: a process, its exit code, and what came on which stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Said", "Terminal"]

RUNLEDGER = (sys.executable, "-m", "runledger")
SOURCES = Path(__file__).resolve().parents[2] / "src"


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
        return json.loads(self.text, parse_constant=lambda word: 1 / 0)

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return self.err.splitlines()[-1]


class Terminal:
    """Runs ``runledger …`` in a directory."""

    def __init__(self, at: Path) -> None:
        self.at = at
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("RUNLEDGER_")
        }
        self.environment["PYTHONPATH"] = str(SOURCES)

    def __call__(self, *words: str, **options: Any) -> Said:
        return self.run(*RUNLEDGER, *words, **options)

    def run(self, *command: str, input: bytes = b"", **environment: str) -> Said:  # noqa: A002 - as subprocess has it
        """Run any command; a traceback is never an answer."""
        done = subprocess.run(
            command,
            cwd=self.at,
            env={**self.environment, **environment},
            input=input,
            capture_output=True,
            timeout=60,
            check=False,
        )
        err = done.stderr.decode()
        assert "Traceback" not in err, err
        return Said(done.returncode, done.stdout, err)

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
        )
