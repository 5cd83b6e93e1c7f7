"""The place of a ledger under repair: nobody else is at work in it, and the new one takes it in two renames.

Until the first rename the old ledger stands as it was; between the two there is none, which every opener says
(``Files.find``); a repair that begins then does the second one. So it may be cut off anywhere and be run again.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

from runledger.errors import CompactionBusy, DiskRefused, LedgerBusy, LedgerMissing, LockUnavailable
from runledger.local.directory import LOCKS_WANTED, Directory, File, is_misshapen
from runledger.local.layout import APPEND_LOCK, BROKEN, COMPACT_LOCK, LEDGER, OWNERS, REPAIRED, RUN
from runledger.local.repair_read import opened

__all__ = ["finish", "locked", "next_number", "put_in_place", "run_folder", "scratch"]

WAIT_S = 5.0
"""How long to wait for another writer's hold of the append lock; it is held for microseconds."""

_PREFIX, _SUFFIX = "ledger.repair-", ".tmp"


def run_folder(root: str) -> Directory:
    """``.run`` of ``root``. Raises LedgerMissing where there is no ledger in it, nor one that a repair left."""
    top = Directory.at(root)
    run = top.child(RUN) if top is not None else None
    if top is not None:
        top.close()
    if run is None or (run.stat(LEDGER) is None and run.stat(REPAIRED) is None):
        if run is not None:
            run.close()
        raise LedgerMissing(f"there is no ledger here ({root})")
    return run


def finish(run: Directory) -> bool:
    """Do the second rename of a repair that was cut off; whether there was one."""
    if run.stat(LEDGER) is not None:
        return False
    repaired = run.child(REPAIRED)
    if repaired is not None:
        repaired.close()
    run.rename(REPAIRED, LEDGER)
    run.sync()
    return True


@contextmanager
def locked(run: Directory, *, write: bool) -> Iterator[Directory]:
    """The ledger's folder, in which nobody else appends or compacts meanwhile, and no owner is alive.

    Raises:
        LedgerBusy, CompactionBusy: somebody is at work in it.
    """
    ledger, locks = _taken(run, write=write)
    try:
        _refuse_living(ledger)
        yield ledger
    finally:
        for lock in locks:
            lock.close()
        ledger.close()


def _taken(run: Directory, *, write: bool) -> tuple[Directory, list[File]]:
    """The folder and its locks; a folder that another repair moved away meanwhile is let go."""
    while True:
        ledger = run.child(LEDGER)
        if ledger is None:
            raise LedgerMissing(f"there is no ledger in {run.path}")
        locks: list[File] = []
        try:
            for name in (APPEND_LOCK, COMPACT_LOCK):
                lock = _lock(ledger, name, create=write and name == APPEND_LOCK)
                if lock is not None:
                    locks.append(lock)
            named, held = run.stat(LEDGER), ledger.stat(".")
            if named is not None and held is not None and named.ino == held.ino:
                return ledger, locks
        except BaseException:
            _close(ledger, locks)
            raise
        _close(ledger, locks)


def _close(ledger: Directory, locks: list[File]) -> None:
    for lock in locks:
        lock.close()
    ledger.close()


def _lock(ledger: Directory, name: str, *, create: bool) -> File | None:
    """The lock; None where something else stands in its place, so that nobody can have it, or where none is there: a
    compaction that begins now waits for the append lock, and finds another folder then."""
    try:
        lock = ledger.open(name, write=create, create=create)
    except DiskRefused as error:
        if is_misshapen(error):
            return None
        raise
    ends = time.monotonic() + WAIT_S
    while lock is not None and not _took(lock):
        if name == COMPACT_LOCK or time.monotonic() > ends:
            lock.close()
            if name == COMPACT_LOCK:
                raise CompactionBusy(
                    "another process is compacting this ledger", hint="Try again when it is done."
                )
            raise LedgerBusy(f"{lock.path}: another process has held the append lock for {WAIT_S:g} s")
        time.sleep(0.001)
    return lock


def _took(lock: File) -> bool:
    """Take the lock that writers take by ``File.lock``, without waiting; False where another process has it."""
    import portalocker  # not at the top: to load it costs more than most commands take

    try:
        portalocker.lock(lock.fd, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.exceptions.AlreadyLocked:
        return False
    except portalocker.exceptions.LockException as error:
        raise LockUnavailable(
            f"file locks do not work on {lock.path}: {error}",
            hint=LOCKS_WANTED,
            path=lock.path,
            errno=None,
        ) from error
    return True


def _refuse_living(ledger: Directory) -> None:
    try:
        owners = ledger.child(OWNERS)
    except DiskRefused as error:
        if is_misshapen(error):
            return
        raise
    if owners is None:
        return
    try:
        alive = [name for name in owners.names() if _is_held(owners, name)]
    finally:
        owners.close()
    if alive:
        raise LedgerBusy(
            f"{ledger.path} is in use: {len(alive)} owners are alive ({', '.join(alive[:5])})",
            hint="Which processes they are: runledger status. End them, then: runledger repair",
            owners=alive,
        )


def _is_held(owners: Directory, name: str) -> bool:
    file = opened(owners, name)
    if file is None:
        return False
    try:
        return not file.lock(shared=True)
    finally:
        file.close()


# --- the new ledger's way to its place ----------------------------------------------------------------------


@contextmanager
def scratch(run: Directory, like: Directory) -> Iterator[tuple[str, Directory]]:
    """A new folder beside the ledger, gone at the end unless it was put in place; those of earlier repairs go too."""
    for name in run.names():
        if (name.startswith(_PREFIX) and name.endswith(_SUFFIX)) or name == REPAIRED:
            _remove(run, name)
    name = f"{_PREFIX}{os.urandom(6).hex()}{_SUFFIX}"
    stat = like.stat(".")
    folder = run.child(name, create=True, mode=stat.mode if stat is not None else 0o700)
    assert folder is not None
    try:
        yield name, folder
    finally:
        folder.close()
        if run.stat(name) is not None:
            _remove(run, name)


def _remove(run: Directory, name: str) -> None:
    folder = run.child(name)  # refuses a link
    if folder is None:
        return
    folder.close()
    try:
        shutil.rmtree(f"{run.path}/{name}")
    except OSError as error:
        path = f"{run.path}/{name}"
        raise DiskRefused(f"cannot remove {path}: {error.strerror}", path=path, errno=error.errno) from error


def next_number(run: Directory) -> int:
    """The number of the next ledger that is kept aside."""
    taken = [name.removeprefix(BROKEN) for name in run.names() if name.startswith(BROKEN)]
    return max((int(number) for number in taken if number.isascii() and number.isdigit()), default=0) + 1


def put_in_place(run: Directory, name: str, number: int) -> None:
    """The folder ``name``, which is whole and synced, becomes the ledger; the old one is kept aside."""
    run.rename(name, REPAIRED)
    run.sync()
    run.rename(LEDGER, f"{BROKEN}{number}")
    run.sync()
    run.rename(REPAIRED, LEDGER)
    run.sync()
