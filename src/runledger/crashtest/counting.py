"""The user's own count of outside effects: a command whose output is a number, or one line for each effect."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from runledger.errors import UsageError

__all__ = ["Tally", "count"]

SECONDS = 60.0


class Tally:
    """What a count said: ``lines``, and ``number`` where it said nothing but one."""

    def __init__(self, text: str) -> None:
        self.lines = Counter(line for line in text.splitlines() if line.strip())
        only = next(iter(self.lines)).strip() if self.lines.total() == 1 else ""
        self.number = int(only) if only.isascii() and only.isdigit() else None if self.lines else 0

    def since(self, before: Tally) -> Counter[str]:
        """The effects between two counts, each with how often it is there; counted ones have no name."""
        if self.number is not None and before.number is not None:
            return Counter({"": self.number - before.number})
        return self.lines - before.lines


def count(line: str, at: Path, environment: Mapping[str, str]) -> Tally:
    """Run the user's line for ``sh``. Its exit code says nothing: `grep -c` has 1 for none.

    Raises:
        UsageError: it cannot be run, or takes too long.
    """
    try:
        done = subprocess.run(
            ["sh", "-c", line],
            check=False,
            cwd=at,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"--count did not end within {SECONDS:g} s") from error
    if done.returncode >= 126:
        raise UsageError(f"--count cannot be run: sh exited {done.returncode}")
    return Tally(done.stdout.decode("utf-8", "backslashreplace"))
