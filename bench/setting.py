"""Where and how the goals are measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from bench.interleave import TOP

__all__ = ["Setting"]


class Setting(NamedTuple):
    """``scratch`` is on the file system that is measured; ``peers`` is the interpreter that has the peers."""

    scratch: Path
    journal: bool
    quick: bool
    rounds: int
    peers: str

    @property
    def large(self) -> int:
        """Steps of a large history."""
        return 50_000 if self.quick else 1_000_000

    def probe(self, name: str, directory: Path, argument: object = "") -> dict[str, float]:
        """What a probe finds in a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "bench.probe", name, str(directory), str(argument)],
            check=False,
            capture_output=True,
            cwd=TOP,
            env={**os.environ, "PYTHONPATH": f"{TOP}{os.pathsep}{TOP / 'src'}"},
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"probe {name} of {directory}: {done.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def installed(self) -> list[str]:
        """The peers that the interpreter for peers can import."""
        code = "import json, bench.peers; print(json.dumps(bench.peers.installed()))"
        done = subprocess.run(
            [self.peers, "-c", code],
            check=True,
            capture_output=True,
            cwd=TOP,
            env={**os.environ, "PYTHONPATH": f"{TOP}{os.pathsep}{TOP / 'src'}"},
            text=True,
        )
        found: list[str] = json.loads(done.stdout)
        return found
