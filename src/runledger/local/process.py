"""What the kernel says of processes: what tells one from a later one with its pid, and whether it is over."""

from __future__ import annotations

import os

__all__ = ["OwnerFacts", "ended", "facts", "is_stopped"]

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class OwnerFacts:
    """By what a process is known later: ``start`` in clock ticks since boot. Without /proc: 0 and empty."""

    __slots__ = ("boot", "host", "pid", "pidns", "start")

    def __init__(self, pid: int, start: int, boot: str, pidns: str, host: str) -> None:
        self.pid, self.start, self.boot, self.pidns, self.host = pid, start, boot, pidns, host


class _Process:
    """What /proc says of a pid; ``over``: it is a zombie, and none of its threads runs."""

    __slots__ = ("over", "start", "state")

    def __init__(self, start: int, state: str, *, over: bool) -> None:
        self.start, self.state, self.over = start, state, over


_facts: OwnerFacts | None = None


def facts() -> OwnerFacts:
    """The facts of this process."""
    global _facts  # noqa: PLW0603 - they change only in a forked child, which forgets them
    if _facts is None:
        process = _process("self")
        try:
            with open(_BOOT_ID, "rb") as file:  # as text it would load a codec
                boot = file.read().strip().decode("ascii")
            pidns = str(os.stat("/proc/self/ns/pid").st_ino)
        except (OSError, ValueError):
            boot = pidns = ""
        _facts = OwnerFacts(os.getpid(), process.start if process else 0, boot, pidns, os.uname().nodename)
    return _facts


def _forked() -> None:
    global _facts  # noqa: PLW0603 - a child has a pid of its own
    _facts = None


os.register_at_fork(after_in_child=_forked)


def ended(pid: int, start: int) -> str | None:
    """How it is known that the process ``pid`` of ``start`` is over; None where it may still run.

    Only for a pid of this boot and this pid namespace.
    """
    if pid <= 0:
        return None
    try:
        os.kill(pid, 0)  # and not /proc alone, which may hide the processes of others
    except (ProcessLookupError, OverflowError):
        return f"pid {pid} is gone"
    except PermissionError:
        pass
    process = _process(str(pid))
    if process is None:
        return None
    if process.over:
        return f"pid {pid} is a zombie"
    if start and process.start != start:
        return f"pid {pid} is another process by now"
    return None


def is_stopped(pid: int) -> bool:
    """Whether the process is known to be stopped, by SIGSTOP or by a debugger."""
    process = _process(str(pid))
    return process is not None and process.state in "tT"


def _process(pid: str) -> _Process | None:
    """What /proc says of a pid; None where it says nothing, or is the /proc of another pid namespace."""
    try:
        if pid != "self" and os.readlink("/proc/self") != str(os.getpid()):
            return None
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before it may hold anything
        state, threads, start = fields[0].decode("ascii"), int(fields[17]), int(fields[19])
    except (OSError, ValueError, IndexError):
        return None
    # The main thread may be over while others go on: only the last one makes the process a zombie.
    return _Process(start, state, over=state in "ZXx" and threads <= 1)
