"""Real child processes: what they say is read line by line, and they can be killed at any of them."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.support.warm import WarmProcess

__all__ = ["Child", "Ended", "command", "ran", "stopped"]

TOP = Path(__file__).resolve().parents[2]
"""Of the checkout: from here a child imports ``tests.support``."""

PRELUDE = "from tests.support.inside import *\n"
COMMAND = "import sys\nfrom runledger.cli import main\nsys.exit(main(sys.argv[1:]))\n"

SECONDS = 60.0
"""How long a child may take to say or do anything."""


class Ended(NamedTuple):
    """A process that is over: its exit code (negative: the signal), its lines, and its standard error."""

    code: int
    lines: list[str]
    err: str


def environment(root: Path, env: Mapping[str, str] | None) -> dict[str, str]:
    """The environment of a child at work on ``root``; PYTHONPATH of ``env`` goes before its own."""
    told = {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1", **(env or {})}
    merged = {**os.environ, **told, "RUNLEDGER_DIR": str(root)}
    paths = [(env or {}).get("PYTHONPATH", ""), str(TOP), os.environ.get("PYTHONPATH", "")]
    merged["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return merged


class Child:
    """A Python program at work on ``root``; ``wrap`` is put before its command, such as strace.

    It is forked from a process that has everything imported, unless it has an environment or a wrap of its own,
    or is asked to be ``cold``.
    """

    def __init__(
        self,
        program: str,
        root: Path,
        *arguments: object,
        env: Mapping[str, str] | None = None,
        wrap: Sequence[str] = (),
        prelude: str = PRELUDE,
        cold: bool = False,
    ) -> None:
        text = prelude + textwrap.dedent(program)
        words = [str(argument) for argument in arguments]
        whole = environment(root, env)
        self.process: subprocess.Popen[str] | WarmProcess
        if env or wrap or cold:
            self.process = subprocess.Popen(
                [*wrap, sys.executable, "-c", text, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=whole,
                cwd=root,
                text=True,
            )
        else:
            self.process = WarmProcess(text, ["-c", *words], whole, root)
        self.lines: list[str] = []
        self._err: list[str] = []
        self._said: queue.Queue[str | None] = queue.Queue()
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._read_err)]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self._said.put(line.rstrip("\n"))
        self._said.put(None)

    def _read_err(self) -> None:
        self._err.extend(self.process.stderr or ())

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self, seconds: float = SECONDS) -> str:
        """The next line that it says; fails with its standard error if it ends before."""
        try:
            line = self._said.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"nothing was said for {seconds:g} s after {self.lines[-3:]}") from None
        if line is None:
            self._said.put(None)
            raise AssertionError(f"the child ended without another line: {self.end()}")
        self.lines.append(line)
        return line

    def until(self, line: str) -> None:
        """Read on until it says ``line``."""
        while self.line() != line:
            pass

    def tell(self, line: str) -> None:
        """Give it a line on its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> Ended:
        """SIGKILL, and what it managed to say."""
        self.process.kill()
        return self.end()

    def end(self, seconds: float = SECONDS) -> Ended:
        """Wait for its end; a child that does not end is killed and fails the test."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the child did not end within {seconds:g} s: {self.lines[-3:]}") from None
        for reader in self._readers:
            reader.join(SECONDS)
        while not self._said.empty():
            line = self._said.get()
            if line is not None:
                self.lines.append(line)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return Ended(code, self.lines, "".join(self._err))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.stdout is not None and not self.process.stdout.closed:
            self.kill()


def ran(
    program: str,
    root: Path,
    *arguments: object,
    env: Mapping[str, str] | None = None,
    wrap: Sequence[str] = (),
    code: int | None = 0,
    cold: bool = False,
    seconds: float = SECONDS,
) -> Ended:
    """Run a program to its end, which must be ``code``; None takes any."""
    with Child(program, root, *arguments, env=env, wrap=wrap, cold=cold) as child:
        ended = child.end(seconds)
    assert code is None or ended.code == code, f"code {ended.code}, said {ended.lines[-5:]}\n{ended.err}"
    return ended


def command(root: Path, *words: str, env: Mapping[str, str] | None = None, wrap: Sequence[str] = ()) -> Ended:
    """Run ``runledger`` with these words to its end."""
    with Child(COMMAND, root, *words, env=env, wrap=wrap, prelude="") as child:
        return child.end()


@contextmanager
def stopped(child: Child) -> Iterator[None]:
    """The child stands still, as in a suspended machine."""
    child.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        child.signal(signal.SIGCONT)
