"""The world outside of the ledger: a file with one synced line for each effect that really happened."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

__all__ = ["Outside"]


class Outside:
    """Effects as a third party counts them; any number of processes and threads may cause some."""

    def __init__(self, root: Path) -> None:
        self.path = root.parent / f"{root.name}.outside"

    def happen(self, what: str) -> None:
        """Cause the effect: one line, by one write, on the disk when this returns."""
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(fd, f"{what}\n".encode())
            os.fsync(fd)
        finally:
            os.close(fd)

    def all(self) -> list[str]:
        """What happened, in order."""
        return self.path.read_text("utf-8").splitlines() if self.path.exists() else []

    def count(self, what: str) -> int:
        """How often it happened."""
        return self.all().count(what)

    def repeated(self) -> list[str]:
        """What happened more than once."""
        return [what for what, times in Counter(self.all()).items() if times > 1]
