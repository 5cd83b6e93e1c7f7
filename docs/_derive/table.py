"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["table"]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose cells may hold any text of one line."""
    head = list(head)
    return "\n".join(_line(cells) for cells in [head, ["---"] * len(head), *rows])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
