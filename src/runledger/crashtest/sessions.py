"""A program with all that it started: a session, since the effect of ``runledger step`` is in a group of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["end_session"]

PROC = Path("/proc")
"""Where it is missing, the session's first group has to do."""


def end_session(session: int) -> None:
    """SIGKILL to every process of a session, the calling one last: who waits for it must not go on before.

    Raises:
        ProcessLookupError: on a system without /proc, nothing of it is left.
    """
    if not PROC.is_dir():
        os.killpg(session, signal.SIGKILL)
        return
    me = os.getpid()
    mine = os.getsid(0) == session
    others = [pid for pid in members(session) if pid != me]
    for pid in others:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    if mine:
        os.kill(me, signal.SIGKILL)


def members(session: int) -> Iterator[int]:
    """The processes of a session, zombies left out."""
    for entry in PROC.iterdir() if PROC.is_dir() else ():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                state, _, _, its = (entry / "stat").read_text("latin-1").rpartition(")")[2].split()[:4]
                if int(its) == session and state not in {"Z", "X"}:
                    yield int(entry.name)
