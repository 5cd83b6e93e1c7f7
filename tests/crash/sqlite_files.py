"""The folded history's files: SQLite opens them by itself, past the seam, so they are real and only their
names are not.

A power cut keeps or drops whole transactions, which is SQLite's own promise and not proved here: everything committed
up to the last sync of the file or of its directory is there; a commit since then is there or not, as a whole.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.crash.pages import Choice, Pages

__all__ = ["SqliteFile", "is_sqlite"]

_SUFFIXES = ("", "-wal")


def is_sqlite(name: str) -> bool:
    """Whether SQLite opens the file of this name."""
    return name.startswith("history.")


class SqliteFile:
    """A real file at ``path``, and the bytes that it and its log had when they were last durable."""

    def __init__(self, ino: int, path: str) -> None:
        self.ino = ino
        self.path = path
        self.mode = 0o600
        self.mtime_ns = 0
        self.pages = Pages()
        self.locks: dict[object, bool] = {}
        self.disk: dict[str, bytes] = {"": b""}

    def create(self) -> None:
        Path(self.path).touch(mode=self.mode)

    def rename(self, path: str) -> None:
        os.replace(self.path, path)
        self.path = path

    def remove(self) -> None:
        for suffix in (*_SUFFIXES, "-shm"):
            Path(self.path + suffix).unlink(missing_ok=True)

    def settle(self) -> None:
        """What stands there now is durable."""
        self.disk = self._now()

    def _now(self) -> dict[str, bytes]:
        paths = {suffix: Path(self.path + suffix) for suffix in _SUFFIXES}
        return {suffix: path.read_bytes() for suffix, path in paths.items() if path.exists()}

    def after_cut(self, choice: Choice) -> SqliteFile:
        """The file as it is found; ``restore`` puts it there."""
        now = self._now()
        found = SqliteFile(self.ino, self.path)
        found.disk = now if now != self.disk and choice.happened(f"commit in {self.path}") else self.disk
        return found

    def restore(self, path: str, mtime_ns: int) -> None:
        """Write the durable bytes at ``path``, as old as told."""
        self.path = path
        for suffix, data in self.disk.items():
            Path(path + suffix).write_bytes(data)
            os.utime(path + suffix, ns=(mtime_ns, mtime_ns))
