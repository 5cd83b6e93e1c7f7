"""What a directory's disk does: its file system, what a sync costs there, and whether it is one at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from runledger.bench.timing import Spread, interleaved, spread

__all__ = ["Device", "RawFile", "Syncs", "device_of", "measure_syncs"]

RECORD = 200
"""Bytes of one write: about a record."""

FILLER = 1 << 20

VOLATILE = frozenset({"tmpfs", "ramfs", "rootfs", "devtmpfs"})
"""File systems in memory: nothing on them outlives the machine, whatever a sync says."""

REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse", "fuseblk", "fuse.sshfs", "vboxsf", "drvfs"}
)
"""File systems that hand a sync on: what becomes of it is told nowhere on this machine."""

UNREAL_S = 20e-6
"""No disk takes a write through to stable storage in less, in seconds; battery-backed memory may."""

SLACK = 2.0
"""A real sync costs more than so many times a write that stays in memory."""


class Device(NamedTuple):
    """The file system of a directory: its type, what is mounted and how, and whether ext4 has a journal."""

    filesystem: str
    source: str
    options: str
    journal: bool | None


class Syncs(NamedTuple):
    """Seconds for ``RECORD`` bytes: written only, written over filler and synced, appended and synced.

    ``real`` is False where nothing speaks for a sync that reaches a disk; ``why`` is the reason.
    """

    write: Spread
    overwrite: Spread
    append: Spread
    real: bool
    why: str


def device_of(path: str) -> Device:
    """The file system of ``path``; words are "unknown" where the system does not tell."""
    wanted = f"{Path(path).resolve()}/"
    longest, found = -1, Device("unknown", "unknown", "", None)
    for place, device in _mounts():
        if wanted.startswith(place.rstrip("/") + "/") and len(place) >= longest:
            longest, found = len(place), device
    return found


def _mounts() -> Iterator[tuple[str, Device]]:
    """Each mount's place and device; one that is mounted over another comes later."""
    try:
        with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                mounted, _, device = (part.split() for part in line.partition(" - "))
                place = mounted[4].replace("\\040", " ")
                journal = _has_journal(device[1]) if device[0] == "ext4" else None
                yield place, Device(device[0], device[1], ",".join((mounted[5], *device[2:3])), journal)
    except OSError:
        return


def _has_journal(source: str) -> bool | None:
    try:
        journals = [path.name for path in Path("/proc/fs/jbd2").iterdir()]
    except OSError:
        return None
    return any(name.rpartition("-")[0] == Path(source).name for name in journals)


class RawFile:
    """One file, written by a program that does nothing else: the limit that a step is measured against."""

    def __init__(self, path: Path, *, filler: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._filler = filler
        self._at = 0
        self._data = b"x" * (RECORD - 1) + b"\n"
        if filler:
            os.pwrite(self._fd, b"\n" * filler, 0)
        os.fsync(self._fd)

    def write(self, times: int) -> int:
        """Into memory only."""
        for _ in range(times):
            self._next()
        return times

    def write_and_sync(self, times: int) -> int:
        """Each write made durable before the next."""
        for _ in range(times):
            self._next()
            datasync(self._fd)
        return times

    def _next(self) -> None:
        if self._filler and self._at + RECORD > self._filler:
            self._at = 0
        os.pwrite(self._fd, self._data, self._at)
        self._at += RECORD

    def close(self) -> None:
        """Let the file go."""
        os.close(self._fd)


def datasync(fd: int) -> None:
    """What the ledger's own sync calls."""
    if sys.platform == "darwin":
        os.fsync(fd)
    else:
        os.fdatasync(fd)


@contextmanager
def _raw_files(directory: str) -> Iterator[tuple[RawFile, RawFile, RawFile]]:
    with tempfile.TemporaryDirectory(prefix=".raw-", dir=directory) as place:
        names = {"write": FILLER, "over": FILLER, "append": 0}
        files = [RawFile(Path(place, name), filler=filler) for name, filler in names.items()]
        try:
            yield files[0], files[1], files[2]
        finally:
            for file in files:
                file.close()


def measure_syncs(directory: str, seconds: float = 1.0) -> Syncs:
    """Measure in ``directory``, and judge."""
    with _raw_files(directory) as (write, over, append):
        taken = interleaved(
            {"write": write.write, "over": over.write_and_sync, "append": append.write_and_sync},
            turn_s=0.02,
            seconds=seconds,
        )
    written, synced, appended = (spread(taken[name]) for name in ("write", "over", "append"))
    real, why = _judge(device_of(directory).filesystem, written.median, synced.median)
    return Syncs(written, synced, appended, real, why)


def _judge(filesystem: str, write_s: float, sync_s: float) -> tuple[bool, str]:
    if filesystem in VOLATILE:
        return False, f"{filesystem} is memory: nothing here outlives the machine"
    if sync_s < SLACK * write_s:
        return False, "a write with a sync costs no more than one without: the sync is swallowed"
    if sync_s < UNREAL_S:
        return False, f"a sync takes {sync_s * 1e6:.0f} µs: only memory or a trusted cache is that fast"
    if filesystem in REMOTE:
        return (
            True,
            f"a sync takes {sync_s * 1e6:.0f} µs; another machine decides what {filesystem} makes of it",
        )
    return True, f"a sync takes {sync_s * 1e6:.0f} µs, a write without one {write_s * 1e6:.1f} µs"
