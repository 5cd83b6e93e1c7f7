"""The child processes of the demo: none outlives it, none is waited for without a bound."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from runledger.demo.git import clean_environment

__all__ = ["Crew", "DemoError"]


class DemoError(Exception):
    """The demo could not be played to its end; says why in one or two lines."""


class Crew:
    """Starts processes, each the leader of a group of its own, and kills whole groups.

    A kill takes the worker's own children (git, the mail program) with it, as the end of a container or of a
    machine does; what runs elsewhere (the server) goes on.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._processes: list[subprocess.Popen[str]] = []
        package_home = str(Path(__file__).parents[2])
        inherited = os.environ.get("PYTHONPATH")
        path = os.pathsep.join([package_home, inherited] if inherited else [package_home])
        self.environment = clean_environment() | {"PYTHONPATH": path}

    def left(self, bound: float) -> float:
        """Seconds that may be waited now: ``bound``, or what is left of the whole."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise DemoError("the demo took too long and was stopped")
        return min(bound, left)

    def start(
        self, module: str, *arguments: str, at: Path, **streams: int | IO[Any]
    ) -> subprocess.Popen[str]:
        """Start ``python -m module`` in ``at``; streams that are not given go nowhere."""
        nowhere: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        command = (sys.executable, "-P", "-m", module, *arguments)
        return self._start(command, at, nowhere | streams)

    def run(self, command: Sequence[str], *, at: Path, bound: float = 15.0) -> tuple[int, str, str]:
        """Run to the end; returns exit code, standard output, standard error."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self._start(command, at, pipes)
        try:
            out, err = process.communicate(timeout=self.left(bound))
        except subprocess.TimeoutExpired:
            raise DemoError(f"no end in {bound:.0f} s: {' '.join(command)}") from None
        return process.returncode, out, err

    def kill(self, process: subprocess.Popen[str]) -> int:
        """SIGKILL the process and what it started; returns its exit code (its own, if it was over)."""
        if process.poll() is None:  # once reaped, its number may be somebody else's
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: not permitted on a zombie
                os.killpg(process.pid, signal.SIGKILL)
        return process.wait(timeout=10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            self.kill(process)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()

    def _start(self, command: Sequence[str], at: Path, streams: dict[str, Any]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command,
            cwd=at,
            env=self.environment,
            start_new_session=True,
            text=True,
            encoding="utf-8",
            **streams,
        )
        self._processes.append(process)
        return process
