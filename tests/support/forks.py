"""Children without a start-up: forked from a program that has everything loaded, hundreds can be killed.

To be used in a child program with one thread, before it opens a ledger of its own.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable

__all__ = ["Fork"]

Say = Callable[[object], None]


class Fork:
    """Runs ``body(say)`` in a forked child; each line that it says comes through a pipe."""

    def __init__(self, body: Callable[[Say], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            self._be(body, writing)
        os.close(writing)
        self._reading = reading
        self._buffer = b""

    @staticmethod
    def _be(body: Callable[[Say], None], writing: int) -> None:
        code = 1
        try:
            body(lambda line: os.write(writing, f"{line}\n".encode()))  # type: ignore[arg-type,return-value]
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it was, the test is told
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def line(self, seconds: float = 30.0) -> str | None:
        """The next line, None once the child is over."""
        while b"\n" not in self._buffer:
            if not select.select([self._reading], [], [], seconds)[0]:
                raise AssertionError(f"a forked child said nothing for {seconds:g} s")
            data = os.read(self._reading, 65536)
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def kill_after(self, seconds: float) -> list[str]:
        """SIGKILL in so many seconds; everything that the child said and that was not read yet."""
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGKILL)
        return self.end()[1]

    def end(self) -> tuple[int, list[str]]:
        """Wait for its end: the exit code (negative: the signal), and the lines that were not read yet."""
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
        os.close(self._reading)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), lines
