"""A command does not outlive the process that keeps its record.

Were that process killed while the command goes on, its step would read as in doubt with a dead owner, a probe would
find that nothing has happened yet, and the effect would come twice. So a shell watches the end of a pipe that the
kernel closes at our death, and then kills the command's process group, of which it is the leader.

Refused: a parent-death signal, which only Linux has, which spares the command's own children, and which must be set
between fork and exec. A command that makes itself a session of its own is out of reach of both.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Any

__all__ = ["Leash"]

# What ends the command politely is not for its watcher; a line of input is our word that it is over.
_GROUP = "trap '' HUP INT QUIT TERM; read over && exit; kill -9 0"
_ALONE = "trap '' HUP INT QUIT TERM; read pid || exit; read over && exit; kill -9 $pid"


class Leash:
    """The watcher of one command. ``grouped``: the command joins the group ``group``; else its pid is to be told."""

    def __init__(self, *, grouped: bool) -> None:
        self.group = 0
        self._pid = 0
        theirs, self._ours = os.pipe()
        actions: list[Any] = [
            (os.POSIX_SPAWN_DUP2, theirs, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        options: dict[str, Any] = {"setpgroup": 0} if grouped else {}
        words = ["sh", "-c", _GROUP if grouped else _ALONE]
        try:
            self._pid = os.posix_spawn("/bin/sh", words, {}, file_actions=actions, **options)
        except OSError:
            return  # no shell, or no room for one more process: the command runs unwatched
        finally:
            os.close(theirs)
        if grouped:
            self.group = self._pid

    def tell(self, pid: int) -> None:
        """Which process the command is, where it has no group."""
        if not self.group:
            self._say(f"{pid}\n")

    def end(self) -> None:
        """The command is over: what it left behind is its own affair."""
        self._say("over\n")
        os.close(self._ours)
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)

    def _say(self, line: str) -> None:
        with suppress(BrokenPipeError):
            os.write(self._ours, line.encode())
