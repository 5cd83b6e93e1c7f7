"""Proof of life: a file lock that dies with its holder, and what the kernel says of a pid.

Each handle holds ``.run/ledger/owners/<owner id>`` locked for its whole life. The lock is a ``flock``: it is
the open file's, so that the kernel frees it however the process ends. A child that inherited the descriptor
can keep it held after that, which is why the pid is asked too. Silence, age and a pid alone prove nothing.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from weakref import WeakSet

import msgspec

from runledger.errors import DiskRefused, LockUnavailable
from runledger.local.directory import LOCKS_WANTED, Directory, File
from runledger.local.process import OwnerFacts, ended, facts, is_stopped
from runledger.view import Owner

__all__ = ["FIRST_LOCK_S", "Fate", "OwnerFacts", "OwnerLock", "facts", "fate", "reclaim"]

FIRST_LOCK_S = 10.0
"""How long the first lock in a directory may take: on a mount without a lock service it may never return."""

_TRIES = 100
_PAUSE_S = 0.0005


class Fate(msgspec.Struct, frozen=True):
    """Whether an owner is at work, and how that is known, in words for people; not ``proved``: it may be elsewhere."""

    alive: bool
    how: str
    proved: bool = True


_live: WeakSet[OwnerLock] = WeakSet()
_answering: set[str] = set()
_silent: set[str] = set()


class OwnerLock:
    """The lock of one handle, until ``release`` or the end of the process; no forked child has it."""

    __slots__ = ("__weakref__", "_file", "_owners", "id")

    def __init__(self, owners: Directory, owner_id: str, file: File) -> None:
        self.id = owner_id
        self._owners = owners
        self._file = file
        _live.add(self)

    @classmethod
    def take(cls, owners: Directory, owner_id: str, *, seconds: float = FIRST_LOCK_S) -> OwnerLock:
        """Create and lock the file of ``owner_id``; ``owners`` must stay open until ``release``.

        Raises:
            LockUnavailable: locks do not work on this file system, or do not answer within ``seconds``.
            DiskRefused: the file cannot be created, or is taken.
        """
        for _ in range(_TRIES):
            file = owners.open(owner_id, write=True, create=True, exclusive=True)
            assert file is not None
            lock = cls(owners, owner_id, file)
            try:
                # Between its creation and its lock somebody may ask for the file, or take it for a leftover. Until
                # he has let go and, perhaps, removed its name, that name must not come to mean a new file.
                while not _lock_in_time(owners, file, seconds=seconds):
                    time.sleep(_PAUSE_S)
                if _is_named(owners, owner_id, file):
                    _refuse_empty_promise(owners, owner_id)
                    return lock
            except BaseException:
                lock.release()
                raise
            lock._close()
        raise LockUnavailable(
            f"cannot lock {owners.path}/{owner_id}: others remove it faster than it can be locked",
            path=f"{owners.path}/{owner_id}",
            errno=errno.EAGAIN,
        )

    @property
    def held(self) -> bool:
        """Whether this process still has it."""
        return self._file.fd >= 0

    def release(self) -> None:
        """Let go; the name goes first, so that nobody finds it unlocked. Does nothing in a forked child."""
        if self._file.fd < 0:
            return
        try:
            self._owners.unlink(self.id)
        finally:
            self._close()

    def __del__(self) -> None:
        # A handle that was dropped is at work on nothing. The name is left to be reclaimed.
        file = getattr(self, "_file", None)  # there is none where its making was interrupted
        if file is not None:
            file.close()

    def _close(self) -> None:
        _live.discard(self)
        self._file.close()


def _forked() -> None:
    """In a child: let go of the parent's locks. Closing frees none of them, the parent has them open too."""
    for lock in list(_live):
        lock._close()  # noqa: SLF001 - of this module


os.register_at_fork(after_in_child=_forked)


def _is_named(owners: Directory, name: str, file: File) -> bool:
    stat = owners.stat(name)
    return stat is not None and stat.ino == file.stat().ino


def _refuse_empty_promise(owners: Directory, name: str) -> None:
    """A lock that lets a second open file in proves nothing, and is refused before anything rests on it."""
    second = owners.open(name)
    if second is None:
        return
    try:
        works = not second.lock(shared=True)
    finally:
        second.close()
    if not works:
        raise LockUnavailable(
            f"file locks do not work on {owners.path}: the same file could be locked twice",
            hint=LOCKS_WANTED,
            path=f"{owners.path}/{name}",
            errno=errno.ENOLCK,
        )


def _lock_in_time(
    owners: Directory, file: File, *, shared: bool = False, seconds: float = FIRST_LOCK_S
) -> bool:
    """``file.lock``; the first one in a directory runs on a thread that can be left behind.

    Raises:
        LockUnavailable: it fails, or does not return.
    """
    if owners.path in _answering:
        return file.lock(shared=shared)
    outcome: list[bool | Exception] = []
    # A descriptor of the thread's own, since the caller closes its one while this may still wait.
    own = File(os.dup(file.fd), file.path)

    def attempt() -> None:
        try:
            outcome.append(own.lock(shared=shared))
        except Exception as error:  # noqa: BLE001 - raised again below
            outcome.append(error)
        finally:
            own.close()

    thread = threading.Thread(target=attempt, name="runledger-first-lock", daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        _silent.add(owners.path)
        raise LockUnavailable(
            f"file locks do not answer on {file.path}: flock() did not return within {seconds:g} s",
            hint=LOCKS_WANTED,
            path=file.path,
            errno=errno.ETIMEDOUT,
        )
    first = outcome[0]
    if isinstance(first, Exception):
        raise first
    _answering.add(owners.path)
    _silent.discard(owners.path)
    return first


# --- the fate of an owner -----------------------------------------------------------------------------------


def fate(owners: Directory | None, owner: Owner, mine: set[str]) -> Fate:
    """Whether ``owner`` is at work; ``mine`` are the ids of the caller's own handles.

    Creates nothing, waits for nobody. What cannot be proved counts as not alive and says "unproven".
    """
    if owner.id in mine:
        return _alive("it is this process")
    here = facts()
    locked = _is_locked(owners, owner.id)
    who = f"pid {owner.pid} on host {owner.host}" if owner.host else f"pid {owner.pid}"
    if locked is False:
        far = here.boot != owner.boot and here.host != owner.host
        return _dead(f"its lock is free ({who}{', whose locks may not reach this host' if far else ''})")
    near = bool(owner.boot) and owner.boot == here.boot and bool(owner.pidns) and owner.pidns == here.pidns
    end = ended(owner.pid, owner.start if here.start else 0) if near else None
    if not locked:
        return _dead(end) if end else _fate_without_lock(owner, here, who, near=near)
    if end:
        return _dead(f"{end}; a child it left holds its lock")
    stopped = ", though it is stopped" if near and is_stopped(owner.pid) else ""
    return _alive(f"{who} holds its lock{stopped}{'' if near else ' from another container or host'}")


def _fate_without_lock(owner: Owner, here: OwnerFacts, who: str, *, near: bool) -> Fate:
    """Its lock is missing or cannot be asked. ``near``: its pid means the same here, and may still run."""
    if near:
        if (owner.pid, owner.start) == (here.pid, here.start) and not _has(owner.id):
            return _dead("this process closed it")
        return _alive(f"{who} runs, though its lock cannot be asked")
    if not (owner.boot and here.boot):
        return _unproven(f"nothing tells whether {who} still runs")
    if owner.boot == here.boot:
        return _unproven(f"{who} ran in another container")
    if owner.host == here.host:
        return _dead(f"this machine rebooted since ({who})")
    return _unproven(f"{who} ran on another host")


def _alive(proof: str) -> Fate:
    return Fate(alive=True, how=f"alive: {proof}")


def _dead(proof: str) -> Fate:
    return Fate(alive=False, how=f"dead: {proof}")


def _unproven(why: str) -> Fate:
    return Fate(alive=False, how=f"unproven: {why}, and its lock cannot be asked", proved=False)


def _has(owner_id: str) -> bool:
    return any(lock.id == owner_id and lock.held for lock in _live)


def _is_locked(owners: Directory | None, name: str) -> bool | None:
    """Whether somebody holds the file; None where it is missing or cannot be asked."""
    if owners is None or not name or owners.path in _silent:
        return None
    try:
        file = owners.open(name)
    except DiskRefused:
        return None
    if file is None:
        return None
    try:
        return not _lock_in_time(owners, file, shared=True)
    except LockUnavailable:
        return None
    finally:
        file.close()


# --- leftovers ----------------------------------------------------------------------------------------------


def reclaim(owners: Directory, keep: set[str]) -> list[str]:
    """Remove the files that nobody holds, whatever is in them, but ``keep``; returns their names.

    Record an owner as lost first: its free lock is the best proof there is of its death.
    """
    gone = []
    for name in owners.names():
        if name in keep:
            continue
        try:
            file = owners.open(name, write=True)
        except DiskRefused:
            continue  # a link, a directory, somebody else's
        if file is None:
            continue
        try:
            # Under its lock the name cannot come to mean the new file of a live owner unseen.
            if _lock_in_time(owners, file) and _is_named(owners, name, file):
                owners.unlink(name)
                gone.append(name)
        finally:
            file.close()
    return gone
