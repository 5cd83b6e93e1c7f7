"""Killing a compaction inside its work: seen from the files it leaves, as a stranger would see it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runledger.demo.processes import Crew

__all__ = ["SIGHTS", "Files", "kill_compaction_at"]


@dataclass(frozen=True)
class Files:
    """The ledger's folder at one instant: the names, and what tells that a file was written or replaced."""

    segments: frozenset[str]
    history: tuple[tuple[str, int, int], ...]
    checkpoint: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, folder: Path) -> Files:
        """The files of a ledger as they are now."""
        seen: dict[str, tuple[str, int, int]] = {}
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat()
                except FileNotFoundError:
                    continue
                seen[entry.name] = (entry.name, status.st_ino, status.st_mtime_ns)
        return cls(
            segments=frozenset(name for name in seen if name.endswith(".jsonl")),
            history=tuple(sorted(seen[name] for name in seen if "history" in name)),
            checkpoint=tuple(sorted(seen[name] for name in seen if "checkpoint" in name)),
        )


SIGHTS: dict[str, Callable[[Files, Files], bool]] = {
    "segment sealed": lambda before, now: bool(now.segments - before.segments),
    "history growing": lambda before, now: now.history != before.history,
    "checkpoint replaced": lambda before, now: now.checkpoint != before.checkpoint,
    "segment dropped": lambda before, now: bool(before.segments - now.segments),
}


def kill_compaction_at(sight: str, crew: Crew, tree: Path) -> bool:
    """Start ``runledger compact`` and kill it when ``sight`` is seen; False if it was over before."""
    folder = tree / ".run" / "ledger"
    seen, before = SIGHTS[sight], Files.of(folder)
    process = crew.start("runledger", "compact", at=tree)
    while process.poll() is None:
        crew.left(1)
        if seen(before, Files.of(folder)):
            return crew.kill(process) == -9
    return False
