"""Small disks of their own, to be filled: a tmpfs, and an ext4 on a loop device."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Disk", "mounted", "why_not"]


def why_not(kind: str) -> str | None:
    """Why such a disk cannot be had here; None where it can."""
    if os.geteuid() != 0:
        return "mounting needs root"
    if kind == "tmpfs":
        probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    else:
        probe = ["sh", "-c", "command -v mkfs.ext4 && losetup -f"]
    try:
        done = subprocess.run(probe, check=False, capture_output=True, timeout=30)
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else f"no {kind} can be mounted: {done.stderr.decode().strip()}"


class Disk:
    """A mounted disk at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self, *, leave: int = 0) -> None:
        """Take all the room there is, but so many bytes."""
        fd = os.open(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in (1 << 16, 1 << 12, 512, 1):
                try:
                    while True:
                        os.write(fd, b"x" * size)
                        os.fsync(fd)
                except OSError:
                    continue
            if leave:
                os.ftruncate(fd, max(0, os.fstat(fd).st_size - leave))
                os.fsync(fd)
        finally:
            os.close(fd)

    def make_room(self) -> None:
        """Give back what was taken."""
        self._filler.unlink()


@contextmanager
def mounted(kind: str, folder: Path) -> Iterator[Disk]:
    """A disk of some megabytes, gone at the end."""
    place = folder / kind
    place.mkdir()
    if kind == "tmpfs":
        _run("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place))
    else:
        image = folder / "image"
        with image.open("wb") as file:
            file.truncate(8 << 20)
        _run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", str(image))
        _run("mount", "-o", "loop", str(image), str(place))
    try:
        yield Disk(place)
    finally:
        _run("umount", "--lazy", str(place))


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=60)
