"""The file system that is measured: what it is, whether its syncs are real; one with a journal.

python bench/filesystem.py [DIRECTORY]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runledger.bench.disk import device_of, measure_syncs

__all__ = ["described", "journaled"]

MEGABYTES = 3000


def described(directory: Path) -> Iterator[str]:
    """Lines that say it."""
    device = device_of(str(directory))
    journal = {True: ", with a journal", False: ", without a journal", None: ""}[device.journal]
    yield f"{device.filesystem}{journal}, {device.source}, {device.options}"
    syncs = measure_syncs(str(directory))
    yield f"syncs: {'real' if syncs.real else 'NOT REAL'}; {syncs.why}"
    for said, seconds in (
        ("write", syncs.write),
        ("overwrite and sync", syncs.overwrite),
        ("append and sync", syncs.append),
    ):
        median, low, high = (number * 1e6 for number in seconds)
        yield f"{said}: {median:.1f} µs ({low:.1f} to {high:.1f})"


@contextmanager
def journaled(directory: Path, megabytes: int = MEGABYTES) -> Iterator[Path]:
    """A directory on ext4 with a journal, in a file below ``directory``; gone afterwards. For root on Linux.

    The file is written whole, so that the file system below has nothing to allocate, and its loop device goes
    past the page cache, so that a sync costs what it costs below.
    """
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None or shutil.which("losetup") is None:
        raise SystemExit("a loop device needs root, mkfs.ext4 and losetup")
    with tempfile.TemporaryDirectory(prefix="journaled-", dir=directory) as place:
        image, mounted = Path(place) / "ext4.img", Path(place) / "mounted"
        mounted.mkdir()
        with image.open("wb") as file:
            for _ in range(megabytes):
                file.write(bytes(1 << 20))
            os.fsync(file.fileno())
        _run("mkfs.ext4", "-q", "-F", image)
        loop = _run("losetup", "--find", "--show", "--direct-io=on", image)
        try:
            _run("mount", loop, mounted)
            try:
                yield mounted
            finally:
                _run("umount", mounted)
        finally:
            _run("losetup", "--detach", loop)


def _run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    for line in described(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()):
        print(line)
