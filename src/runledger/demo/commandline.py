"""The command line as a person uses it after a crash: real processes, printed lines run as they are."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

from runledger.demo.processes import Crew, DemoError

__all__ = ["CommandLine"]


class CommandLine:
    """Runs ``runledger …`` in ``tree``; ``path`` becomes a folder with a ``runledger`` for the shell."""

    def __init__(self, crew: Crew, tree: Path, path: Path) -> None:
        self._crew = crew
        self._tree = tree
        self._python = (sys.executable, "-P", "-m", "runledger")
        path.mkdir()
        command = path / "runledger"
        command.write_text(f'#!/bin/sh\nexec {shlex.join(self._python)} "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        crew.environment["PATH"] = os.pathsep.join([str(path), crew.environment.get("PATH", os.defpath)])

    def run(self, *arguments: str, expect: tuple[int, ...] = (0,)) -> tuple[int, str]:
        """Run ``runledger arguments…``; returns its exit code, one of ``expect``, and its standard output."""
        code, out, err = self._crew.run((*self._python, *arguments), at=self._tree)
        if code not in expect:
            raise DemoError(f"runledger {shlex.join(arguments)} exited {code}: {err.strip() or out.strip()}")
        return code, out

    def read(self, *arguments: str, expect: tuple[int, ...] = (0,)) -> dict[str, Any]:
        """Run ``runledger arguments… --json`` and return what it printed."""
        document: dict[str, Any] = json.loads(self.run(*arguments, "--json", expect=expect)[1])
        return document

    def paste(self, line: str) -> None:
        """Run a line that runledger printed, as it stands, in a shell."""
        code, out, err = self._crew.run(("sh", "-c", line), at=self._tree)
        if code != 0:
            raise DemoError(f"the printed line {line!r} exited {code}: {err.strip() or out.strip()}")
