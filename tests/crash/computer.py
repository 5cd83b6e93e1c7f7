"""A computer that can lose its power at any call: processes, locks, a clock, a disk in memory, and faults by plan."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from runledger.local.process import OwnerFacts
from tests.crash.memory_directory import Folder, MemoryDirectory, MemoryFile
from tests.crash.pages import Choice
from tests.crash.sqlite_files import SqliteFile

__all__ = ["Clock", "Computer", "Fault", "Fuse", "Killed", "PowerCut", "Process", "Stop"]

PAGE = 4096
START = 1_764_000_000.0


class PowerCut(BaseException):
    """The power is gone: no code of a process runs after this, whatever its handlers think."""


class Killed(PowerCut):
    """SIGKILL: one process is gone, what it wrote is still in the cache."""


class Clock:
    """Stands in for the module ``time``: moves when it is read, jumps when told."""

    def __init__(self) -> None:
        self.wall = START
        self.ran = 0.0

    def time(self) -> float:
        self.pass_by(2e-6)
        return self.wall

    def time_ns(self) -> int:
        return int(self.time() * 1e9)

    def monotonic(self) -> float:
        self.pass_by(2e-6)
        return self.ran

    def sleep(self, seconds: float) -> None:
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.ran += seconds

    def __getattr__(self, name: str) -> object:
        import time

        return getattr(time, name)


@dataclass(eq=False)
class Process:
    """One process; ``dead`` whatever ended it. Its pid may come again, its start does not. ``due`` does what waits."""

    pid: int
    start: int
    boot: str
    dead: bool = False
    closers: list[Callable[[], None]] = field(default_factory=list)
    due: Callable[[], bool] = lambda: False

    @property
    def facts(self) -> OwnerFacts:
        return OwnerFacts(self.pid, self.start, self.boot, "4026531836", "crash")


@dataclass
class Fuse:
    """Cuts at the call number ``left`` from now on (1: the next), of a ``kind`` and on a ``path`` if
    told. ``done``: that call still takes place; of a write a kill leaves the pages before ``torn``."""

    left: int
    kill: bool = False
    done: bool = True
    torn: int | None = None
    process: Process | None = None
    kind: str = ""
    path: str = ""


@dataclass
class Fault:
    """The calls of a kind fail, after ``skip`` of them, ``times`` times; a write stops after ``done`` bytes."""

    kind: str
    errno: int = errno.EIO
    skip: int = 0
    times: int = 1
    done: int = 0
    path: str = ""


class Stop(NamedTuple):
    """How a call ends early: how many bytes of it are done (of other calls: whether it is), and what it raises."""

    done: int
    error: BaseException


class Computer:
    """``root`` is the real folder that SQLite works in, and the name of the ledger's root to everybody.

    ``calls`` counts the calls that change something; ``log`` has them, for people. ``room`` is how many bytes files may
    still grow by.
    """

    def __init__(self, root: Path, seed: int = 0) -> None:
        self.root = str(root)
        (root / ".run" / "ledger").mkdir(parents=True, exist_ok=True)
        self.clock = Clock()
        self.random = random.Random(seed)
        self.top = Folder()
        self.files: dict[int, MemoryFile] = {}
        self.processes: list[Process] = []
        self.current: Process | None = None
        self.off = False
        self.boots = 0
        self.calls = 0
        self.log: list[str] = []
        self.fuse: Fuse | None = None
        self.faults: list[Fault] = []
        self.room: int | None = None
        self.interlude: Callable[[], None] | None = None
        self._inos = 100
        self._fds = 1 << 20
        self._pids = 1000

    # --- processes ------------------------------------------------------------------------------------------------

    @property
    def boot(self) -> str:
        return f"boot-{self.boots}"

    def process(self, pid: int | None = None) -> Process:
        """A new process, perhaps with the pid of a dead one."""
        self._pids += 1
        process = Process(pid or self._pids, 50_000 + self._pids, self.boot)
        self.processes.append(process)
        return process

    def free_pid(self) -> int | None:
        """The pid of the last process that died, if no other has it."""
        living = {p.pid for p in self.processes if not p.dead}
        return next((p.pid for p in reversed(self.processes) if p.pid not in living), None)

    @contextmanager
    def running(self, process: Process) -> Iterator[None]:
        """What is done in the block is done by ``process``."""
        before, self.current = self.current, process
        try:
            yield
        finally:
            self.current = before

    def end(self, process: Process) -> None:
        """The process is gone: its descriptors are closed, its locks are free."""
        process.dead = True
        for file in [f for f in self.files.values() if f.process is process]:
            file.close()
        for close in process.closers:
            close()
        process.closers.clear()

    def ended(self, pid: int, start: int) -> str | None:
        """As ``process.ended`` tells of the processes of this computer."""
        here = [p for p in self.processes if p.pid == pid and not p.dead]
        if not here:
            return f"pid {pid} is gone"
        return None if not start or here[0].start == start else f"pid {pid} is another process by now"

    # --- calls ----------------------------------------------------------------------------------------------------

    def directory_at(self, path: str) -> MemoryDirectory | None:
        """``Directory.at``."""
        process = self.current
        assert process is not None, "who calls?"
        self.reach(process)
        folder = self.top
        for part in path.removeprefix(self.root).split("/"):
            if part:
                found = folder.names.get(part)
                if not isinstance(found, Folder):
                    return None
                folder = found
        return MemoryDirectory(self, process, folder, path)

    def reach(self, process: Process) -> None:
        """Every call passes here: the dead make none."""
        if self.off:
            raise PowerCut
        if process.dead:
            raise Killed

    def call(
        self, process: Process, kind: str, path: str, *, growth: int = 0, at: int = 0, size: int = 1
    ) -> Stop | None:
        """Count a call that changes something; None where it takes place as it should."""
        self.reach(process)
        self.calls += 1
        self.log.append(f"{kind} {path.removeprefix(self.root)}" + (f" {at}+{size}" if size > 1 else ""))
        return self._cut(process, kind, path, at, size) or self._fault(kind, path, growth, size)

    def _cut(self, process: Process, kind: str, path: str, at: int, size: int) -> Stop | None:
        fuse = self.fuse
        if fuse is None or fuse.process not in {None, process} or fuse.kind not in {"", kind}:
            return None
        if fuse.path not in path:
            return None
        fuse.left -= 1
        if fuse.left > 0:
            return None
        self.fuse = None
        self.log.append("killed" if fuse.kill else "power cut")
        if not fuse.kill:
            self.off = True
            return Stop(size if fuse.done else 0, PowerCut())
        self.end(process)
        done = size if fuse.done else 0
        if kind == "write" and fuse.torn is not None:
            done = min(size, max(0, (at // PAGE + fuse.torn) * PAGE - at))
        return Stop(done, Killed())

    def _fault(self, kind: str, path: str, growth: int, size: int) -> Stop | None:
        for fault in self.faults:
            if fault.kind == kind and fault.path in path:
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if fault.times <= 0:
                    self.faults.remove(fault)
                self.log.append(f"refused ({errno.errorcode[fault.errno]})")
                done = min(fault.done, size) if kind == "write" else 0
                return Stop(done, OSError(fault.errno, os.strerror(fault.errno)))
        if self.room is None or (not growth and kind not in {"create", "mkdir"}):
            return None
        if growth <= self.room and self.room > 0:
            self.room -= growth
            return None
        done, self.room = max(0, size - growth + self.room) if kind == "write" else 0, 0
        self.log.append("refused (disk full)")
        return Stop(done, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def interlude_before(self, path: str) -> None:
        """Before a data sync that holds no lock, somebody else may act."""
        interlude = self.interlude
        if (
            interlude is None
            or self.off
            or any(f.node.locks.get(f) is False for f in self.files.values() if f.path.endswith("/lock"))
        ):
            return
        self.interlude = None
        self.log.append("interlude")
        interlude()
        self.log.append("end of interlude")

    def opened(self, file: MemoryFile) -> int:
        self._fds += 1
        self.files[self._fds] = file
        return self._fds

    def new_ino(self) -> int:
        self._inos += 1
        return self._inos

    # --- the cut --------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """The power is gone now."""
        self.off = True

    def reboot(self, choice: Choice) -> None:
        """Power is back; the disk has what ``choice`` says of what was not durable."""
        self.off = True
        for process in self.processes:
            if not process.dead:
                self.end(process)
        self.top = self.top.after_cut(choice)
        self._restore_sqlite()
        self.files.clear()
        self.fuse, self.interlude, self.current = None, None, None
        self.faults.clear()
        self.boots += 1
        self.clock.pass_by(60.0)
        self.off = False

    def _restore_sqlite(self) -> None:
        real = Path(self.root, ".run", "ledger")
        for path in real.glob("history.*"):
            path.unlink()
        run = self.top.names.get(".run")
        ledger = run.names.get("ledger") if isinstance(run, Folder) else None
        if isinstance(ledger, Folder):
            for name, node in ledger.names.items():
                if isinstance(node, SqliteFile):
                    node.restore(str(real / name), int(1e9) * (1000 + self.boots))

    def evict(self, choice: Choice) -> None:
        """The cache drops the pages that a failed sync marked clean."""
        for file in self._nodes(self.top):
            if file.pages.lost:
                file.pages.evict(choice)
                file.mtime_ns = self.clock.time_ns()

    def _nodes(self, folder: Folder) -> Iterator[object]:
        for node in folder.names.values():
            if isinstance(node, Folder):
                yield from self._nodes(node)
            elif not isinstance(node, SqliteFile):
                yield node
