"""The test's end of ``zygote``: a process that looks like one of ``subprocess.Popen`` and costs a fork."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from tests.support.zygote import BYTES, Over, Request, Started

__all__ = ["WarmProcess"]

TOP = Path(__file__).resolve().parents[2]
BOOT = """
from tests.support.zygote import end, next_program
try:
    exec(next_program())
except BaseException as error:
    end(error)
else:
    end(None)
"""


class _Zygote:
    """The one of this test process, started with the first request and ended with it."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join(part for part in (str(TOP), os.environ.get("PYTHONPATH", "")) if part)
        self._process = subprocess.Popen(
            [sys.executable, "-c", BOOT, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
        )
        theirs.close()
        self._ends: dict[int, int] = {}
        self._numbers = 0
        atexit.register(self._end)

    def number(self) -> int:
        """A number for the next child."""
        self._numbers += 1
        return self._numbers

    def start(self, request: Request, streams: Sequence[int]) -> int:
        """The pid of a new child."""
        socket.send_fds(self._ours, [msgspec.json.encode(request)], list(streams))
        while True:
            told = self._told(None)
            if isinstance(told, Started):
                return told.pid

    def code(self, number: int, seconds: float | None) -> int | None:
        """How the child ended, waiting so long; None while it runs."""
        ends = None if seconds is None else time.monotonic() + seconds
        while number not in self._ends:
            left = None if ends is None else max(0.0, ends - time.monotonic())
            if self._told(left) is None:
                return None
        return self._ends.pop(number)

    def _told(self, seconds: float | None) -> Started | Over | None:
        self._ours.settimeout(60.0 if seconds is None else seconds)
        try:
            data = self._ours.recv(BYTES)
        except (BlockingIOError, TimeoutError):
            if seconds is None:
                raise
            return None
        told = msgspec.json.decode(data, type=Started | Over)
        if isinstance(told, Over):
            self._ends[told.number] = told.code
        return told

    def _end(self) -> None:
        self._ours.close()
        self._process.wait()


_zygotes: list[_Zygote] = []


class WarmProcess:
    """What the tests use of ``subprocess.Popen``; it has no parent here, so only its zygote knows how it ended."""

    def __init__(self, program: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        if not _zygotes:
            _zygotes.append(_Zygote())
        reads, writes = zip(*(os.pipe() for _ in range(3)), strict=True)
        theirs = [reads[0], writes[1], writes[2]]
        try:
            self._number = _zygotes[0].number()
            self.pid = _zygotes[0].start(Request(self._number, program, argv, env, str(cwd)), theirs)
        finally:
            for end in theirs:
                os.close(end)
        self.stdin: IO[str] = os.fdopen(writes[0], "w", encoding="utf-8")
        self.stdout: IO[str] = os.fdopen(reads[1], encoding="utf-8", newline="\n")
        self.stderr: IO[str] = os.fdopen(reads[2], encoding="utf-8", newline="\n", errors="replace")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = _zygotes[0].code(self._number, 0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        if self.returncode is None:
            self.returncode = _zygotes[0].code(self._number, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a forked child", timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Signal it, unless it is over: another process reaps it, perhaps between our look and our signal."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(9)
