"""Runs a command as an effect: its output goes through and is kept, and how it ended is told exactly."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, Self

import msgspec

from runledger.cli.leash import Leash

__all__ = ["Ending", "NotStarted", "Runner"]

CHUNK = 1 << 16
TICK_MS = 50

GRACE_S = 5.0
"""Between the polite end of a command that takes too long and the certain one, in seconds."""

LINGER_S = 1.0
"""How long to read the output of a command that is over, when a process that it left behind keeps it open."""

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class NotStarted(Exception):
    """The command could not be started, so nothing of it ran. ``code`` is what a shell would exit with."""

    def __init__(self, reason: str, code: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


class Ending(msgspec.Struct, frozen=True):
    """How a command ended.

    ``status`` is its exit status, or minus the signal that ended it. ``output`` is None where there was too
    much of it to keep. ``timed_out``: it was ended for taking too long; ``cut``: somebody still held its
    output when it was over.
    """

    status: int
    output: bytes | None
    timed_out: bool
    cut: bool

    @property
    def code(self) -> int:
        """As a shell tells it."""
        return self.status if self.status >= 0 else 128 - self.status


class Runner:
    """Runs commands one after the other, in the main thread.

    Signals that ask this process to end go to the command instead; ``signalled`` is the first of them,
    whether or not a command was there to get it.
    """

    def __init__(self) -> None:
        self.signalled = 0
        self._pid = 0
        self._group = 0
        self._grouped = False
        self._late = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in FORWARDED:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._forward)
        self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._end_it)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        limit: int,
        timeout: float | None = None,
        through: Callable[[bytes], None] | None = None,
        own_input: bool = True,
    ) -> Ending:
        """Run ``command`` and return how it ended.

        Args:
            command: its words; no shell reads them.
            environment: all of it.
            limit: bytes of output to keep; of more, nothing is kept.
            timeout: seconds until its process group is ended.
            through: gets the output as it comes.
            own_input: it reads our standard input, else nothing.

        Raises:
            NotStarted: nothing ran.
        """
        # In a group of its own it would be stopped when it reads from a terminal; there it stays in ours.
        self._grouped = not (own_input and os.isatty(0))
        ours, its = os.pipe()
        leash = Leash(grouped=self._grouped)
        try:
            try:
                self._pid = self._spawn(command, environment, its, leash.group, own_input=own_input)
            finally:
                os.close(its)
            self._group = leash.group or self._pid
            leash.tell(self._pid)
            if self.signalled:
                self._kill(self.signalled)
            self._late = False
            signal.setitimer(signal.ITIMER_REAL, timeout or 0.0)
            return self._attend(ours, limit, through)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            self._pid = self._group = 0
            leash.end()
            os.close(ours)

    def _spawn(
        self, command: Sequence[str], environment: Mapping[str, str], its: int, group: int, *, own_input: bool
    ) -> int:
        actions: list[Any] = [(os.POSIX_SPAWN_DUP2, its, 1)]
        if not own_input:
            actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        options: dict[str, Any] = {"setpgroup": group} if self._grouped else {}
        # Python ignores these two; a command expects them as they are by default.
        options["setsigdef"] = [signal.SIGPIPE, signal.SIGXFSZ]
        try:
            return os.posix_spawnp(command[0], list(command), environment, file_actions=actions, **options)
        except FileNotFoundError:
            raise NotStarted("command not found", 127) from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise NotStarted(reason or type(error).__name__, 126) from None

    def _attend(self, ours: int, limit: int, through: Callable[[bytes], None] | None) -> Ending:
        kept: bytearray | None = bytearray()
        ready = select.poll()
        ready.register(ours, select.POLLIN)
        status: int | None = None
        patience = 0.0
        cut = False
        while not cut:
            if ready.poll(TICK_MS):
                data = os.read(ours, CHUNK)
                if not data:
                    break
                kept = _longer(kept, data, limit)
                if through is not None:
                    through(data)
            if status is None:
                status = self._reap(os.WNOHANG)
                patience = time.monotonic() + LINGER_S
            cut = status is not None and time.monotonic() > patience
        while status is None:
            status = self._reap(0)
        if self._late:
            self._kill(signal.SIGKILL)
        return Ending(status, None if kept is None else bytes(kept), self._late, cut)

    def _reap(self, options: int) -> int | None:
        pid, status = os.waitpid(self._pid, options)
        if pid and not self._grouped:
            self._pid = (
                0  # the number may be another's from now on; that of a group is its own as long as it lasts
            )
        return os.waitstatus_to_exitcode(status) if pid else None

    # --- signals --------------------------------------------------------------------------------------------

    def _forward(self, number: int, _: FrameType | None) -> None:
        self.signalled = self.signalled or number
        # A terminal has sent its own signals to everybody in the foreground already.
        if self._grouped or number == signal.SIGTERM:
            self._kill(number)

    def _end_it(self, _number: int, _frame: FrameType | None) -> None:
        """It takes too long: ask it to end, later end it. By a signal, since we may be stuck in writing."""
        self._kill(signal.SIGKILL if self._late else signal.SIGTERM)
        self._late = True
        signal.setitimer(signal.ITIMER_REAL, GRACE_S)

    def _kill(self, number: int) -> None:
        if self._pid:
            with suppress(ProcessLookupError, PermissionError):
                if self._grouped:
                    os.killpg(self._group, number)
                else:
                    os.kill(self._pid, number)


def _longer(kept: bytearray | None, data: bytes, limit: int) -> bytearray | None:
    if kept is None or len(kept) + len(data) > limit:
        return None
    kept += data
    return kept
