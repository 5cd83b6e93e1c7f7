"""What is compared: each a small class that does durable steps its own way.

A step is: know whether the key was done, put the intent on the disk where the product has one, do the effect,
put its result on the disk. To add one: subclass, name it, list it in CONTENDERS or in ``peers.PEERS``.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.limits import BareFile

__all__ = ["CONTENDERS", "Contender", "effect"]

RESULT = {"ok": True, "id": "ch_0123456789"}
INPUTS = '{"amount":1000,"customer":"cus_123"}'

done: list[int] = [0]


def effect() -> dict[str, Any]:
    """What a step does to the world: next to nothing, so that only the recording is measured."""
    done[0] += 1
    return RESULT


class Contender:
    """One way to make steps durable.

    Attributes:
        name: what it is called on the command line of a worker.
        effects: whether each step calls ``effect`` once; the bare disk has none.
    """

    name: ClassVar[str]
    effects: ClassVar[bool] = True

    def open(self, directory: Path) -> None:
        """Begin in an empty directory, or beside other processes of this contender that did."""
        raise NotImplementedError

    def step(self, key: str) -> object:
        """One step; on any thread."""
        raise NotImplementedError

    async def task_step(self, key: str) -> object:
        """One step of an asyncio task."""
        raise NotImplementedError

    def steps(self, keys: Sequence[str]) -> None:
        """Steps one after the other."""
        for key in keys:
            self.step(key)

    def close(self) -> None:
        """Leave in good order."""

    def in_threads(self, keys: Sequence[str], threads: int) -> int:
        """The same steps, shared out to threads that begin together; how many were done."""
        running = [threading.Thread(target=self.steps, args=(keys[n::threads],)) for n in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return len(keys)

    def in_tasks(self, keys: Sequence[str], tasks: int) -> int:
        """The same steps, shared out to tasks of one event loop; how many were done."""

        async def some(mine: Sequence[str]) -> None:
            for key in mine:
                await self.task_step(key)

        async def all_of_them() -> None:
            await asyncio.gather(*(some(keys[n::tasks]) for n in range(tasks)))

        asyncio.run(all_of_them())
        return len(keys)


# --- the limits -------------------------------------------------------------------------------------------


class CPrefilled(Contender):
    """A loop in C that overwrites filler: two writes a step, each with a data sync."""

    name = "c-prefilled"
    effects = False
    prefilled = True

    def open(self, directory: Path) -> None:
        self.file = BareFile(directory / "file", prefilled=self.prefilled)

    def steps(self, keys: Sequence[str]) -> None:
        self.file.durable_writes(2 * len(keys))

    def in_threads(self, keys: Sequence[str], threads: int) -> int:
        """A leader and followers, for a time: how many steps come out is not told by ``keys``."""
        del keys
        return self.file.group_commit(threads, 0.05) // 2

    def close(self) -> None:
        self.file.close()


class CAppend(CPrefilled):
    """The same on a file that grows."""

    name = "c-append"
    prefilled = False


class BareCalls(Contender):
    """The system calls of one of our steps from a bare Python loop: nothing is decided, encoded or folded. What is
    above this cannot be had with the same promises to other processes, however the code is written.

    For each record the lock is taken, the place looked at, what others appended asked for, the record written, the disk
    told to begin, the lock let go, and the record synced; before an intent the state file is looked at. Of several
    processes each writes a stretch of its own: what others appended is not read.
    """

    name = "bare-calls"
    effects = False
    synced = (True, True)
    """The intent, and the commit."""
    LINE = b"x" * 200
    STRETCH, STRETCHES = 512 << 10, 64
    PAUSE_S = 20e-6

    def open(self, directory: Path) -> None:
        ledger = directory / ".run" / "ledger"
        ledger.mkdir(parents=True, exist_ok=True)
        (directory / ".run" / "state.json").write_bytes(self.LINE)
        self._top, self._run = (os.open(at, os.O_RDONLY) for at in (directory, directory / ".run"))
        self._lock = os.open(ledger / "lock", os.O_RDWR | os.O_CREAT)
        self._file = os.open(ledger / "file", os.O_RDWR | os.O_CREAT)
        self._begin = self.STRETCH * (os.getpid() % self.STRETCHES)
        os.pwrite(self._file, b"\n" * self.STRETCH, self._begin)
        os.fsync(self._file)
        self._end = self._begin + len(self.LINE)

    def step(self, key: str) -> None:
        del key
        intent, commit = self.synced
        self._record(look=True, sync=intent)
        self._record(look=False, sync=commit)

    def _take_lock(self) -> None:
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(self.PAUSE_S)
            else:
                return

    def _record(self, *, look: bool, sync: bool) -> None:
        file, end = self._file, self._end
        self._take_lock()
        os.stat(".run/ledger", dir_fd=self._top, follow_symlinks=False)
        os.pread(file, 21, end - 20)
        if look:
            os.stat("state.json", dir_fd=self._run, follow_symlinks=False)
        os.pwrite(file, self.LINE, end)
        if sync:
            os.posix_fadvise(file, end, len(self.LINE), os.POSIX_FADV_DONTNEED)
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        if sync:
            os.fdatasync(file)
        end += len(self.LINE)
        within = end + len(self.LINE) < self._begin + self.STRETCH
        self._end = end if within else self._begin + len(self.LINE)

    def close(self) -> None:
        for fd in (self._file, self._lock, self._run, self._top):
            os.close(fd)


class BareCallsUnsynced(BareCalls):
    """The same without syncs: an idempotent step."""

    name = "bare-calls-unsynced"
    synced = (False, False)


class BareCallsRiding(BareCalls):
    """The same with one sync: a commit that rides."""

    name = "bare-calls-riding"
    synced = (True, False)


class Sqlite(Contender):
    """SQLite, WAL, synchronous FULL: two transactions; one connection, and a lock where threads share it."""

    name = "sqlite"
    SCHEMA = (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "CREATE TABLE intents (key TEXT PRIMARY KEY, run, name, at REAL, inputs) WITHOUT ROWID",
        "CREATE TABLE commits (key TEXT PRIMARY KEY, at REAL, result) WITHOUT ROWID",
    )
    LOOK = "SELECT i.key, c.result FROM intents i LEFT JOIN commits c ON c.key = i.key WHERE i.key = ?"

    def open(self, directory: Path) -> None:
        import msgspec

        self._now = time.time
        self._encode, self._decode = msgspec.json.encode, msgspec.json.decode
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            directory / "steps.db", isolation_level=None, check_same_thread=False
        )
        for statement in self.SCHEMA:
            self._database.execute(statement)

    def step(self, key: str) -> object:
        execute, lock = self._database.execute, self._lock
        with lock:
            known = execute(self.LOOK, (key,)).fetchone()
        if known is not None:
            return self._decode(known[1])
        with lock:
            execute(
                "INSERT INTO intents VALUES (?, ?, ?, ?, ?)", (key, "run-1", "charge", self._now(), INPUTS)
            )
        result = effect()
        with lock:
            execute("INSERT INTO commits VALUES (?, ?, ?)", (key, self._now(), self._encode(result)))
        return result

    def close(self) -> None:
        self._database.close()


# --- ours -------------------------------------------------------------------------------------------------


class Runledger(Contender):
    """runledger as it comes: intent and commit each durable."""

    name = "runledger"
    commit = "durable"
    idempotent = False

    def open(self, directory: Path) -> None:
        from runledger import Ledger

        self.ledger = ledger = Ledger.open(directory, commit=self.commit)

        @ledger.step("charge", key="{key}", inputs=None, idempotent=self.idempotent)
        def charge(key: str) -> dict[str, Any]:
            return effect()

        @ledger.step("charge", key="{key}", inputs=None, idempotent=self.idempotent)
        async def task_charge(key: str) -> dict[str, Any]:
            return effect()

        self._step: Callable[[str], object] = charge
        self._task_step = task_charge

    def step(self, key: str) -> object:
        return self._step(key)

    async def task_step(self, key: str) -> object:
        return await self._task_step(key)

    def close(self) -> None:
        self.ledger.close()


class RunledgerBlock(Runledger):
    """The same in its other form, ``with``."""

    name = "runledger-with"

    def step(self, key: str) -> object:
        with self.ledger.step("charge", key=key) as step:
            step.result = effect()
        return step.result


class RunledgerRiding(Runledger):
    """Commits ride on the next intent's sync."""

    name = "runledger-riding"
    commit = "riding"


class RunledgerIdempotent(Runledger):
    """Steps without a sync of their own."""

    name = "runledger-idempotent"
    idempotent = True


CONTENDERS: dict[str, type[Contender]] = {
    kind.name: kind
    for kind in (
        CPrefilled,
        CAppend,
        BareCalls,
        BareCallsRiding,
        BareCallsUnsynced,
        Sqlite,
        Runledger,
        RunledgerBlock,
        RunledgerRiding,
        RunledgerIdempotent,
    )
}
