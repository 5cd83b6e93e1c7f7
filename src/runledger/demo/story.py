"""How the story looks: one line for each thing that happened, colour only where a person sees it."""

from __future__ import annotations

import os
from typing import TextIO

__all__ = ["Story", "plain"]

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
TINTS = {"SIGKILL": "red", "settled": "green", "wake": "yellow"}


def plain(text: str) -> str:
    """``text`` on one line, with control characters shown instead of obeyed."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


class Story:
    """Writes to ``out``; a ``silent`` one writes nothing."""

    def __init__(self, out: TextIO, *, silent: bool = False) -> None:
        self._out = out
        self._silent = silent
        self._colour = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def title(self, text: str) -> None:
        """The heading of an act."""
        self._write(self._tint(plain(text), "bold"))

    def tell(self, label: str, text: str) -> None:
        """One line of an act: who or what, and what came of it."""
        self._write(f"  {self._tint(f'{plain(label):<9}', TINTS.get(label, 'dim'))}{plain(text)}")

    def verdict(self, text: str, *, good: bool) -> None:
        """The last line."""
        self._write(self._tint(plain(text), "green" if good else "red"))

    def _tint(self, text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._colour else text

    def _write(self, line: str) -> None:
        if not self._silent:
            print(line, file=self._out, flush=True)
