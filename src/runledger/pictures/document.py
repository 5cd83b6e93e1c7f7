"""What a report is made of, whoever it is shown to; and as Markdown and as text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from runledger.pictures.columns import lines_of
from runledger.text import escape

__all__ = ["Cell", "Document", "Section", "Table", "as_markdown", "as_text", "cells"]


_NUMBER = re.compile(r"-?[\d,.]+( |$)|\d{4}-\d\d-\d\dT|(at most|more than|less than) |$|(yes|NO)$")


class Cell(NamedTuple):
    """What a table shows in one place, and the value behind it as the JSON has it."""

    text: str
    value: float | str | None = None

    @property
    def is_number(self) -> bool:
        """Whether it is read as a number, and so stands at the right."""
        return _NUMBER.match(self.text) is not None


class Table(NamedTuple):
    """Rows under a head; the first column names its row."""

    caption: str
    head: tuple[str, ...]
    rows: list[tuple[Cell, ...]]

    @property
    def rights(self) -> list[bool]:
        """Which columns are numbers, and so stand at the right; the first names its row."""
        columns = list(zip(*self.rows, strict=True))[1:]
        found = [all(c.is_number for c in column) and any(c.text for c in column) for column in columns]
        return [False, *found]


class Section(NamedTuple):
    """One part of a report: ``chart`` draws it as SVG, wide or narrow; ``plot`` as text of a width.

    ``label`` is the chart in words, for who cannot see it.
    """

    id: str
    title: str
    prose: tuple[str, ...] = ()
    table: Table | None = None
    chart: Callable[[bool], str] | None = None
    plot: Callable[[int], list[str]] | None = None
    label: str = ""


class Document(NamedTuple):
    """A report: ``lede`` is what it says in short, ``data`` all of its numbers, ``carried`` those that a page carries.

    None for ``carried`` is all of them.
    """

    title: str
    lede: tuple[str, ...]
    sections: tuple[Section, ...]
    data: Any
    carried: Any = None


def cells(*values: Cell | str) -> tuple[Cell, ...]:
    """A row, of cells and of texts."""
    return tuple(Cell(value) if isinstance(value, str) else value for value in values)


# --- Markdown -----------------------------------------------------------------------------------------------


def as_markdown(document: Document) -> str:
    """The report as Markdown, without its pictures."""
    parts = [f"# {_plain(document.title)}", *(_plain(text) for text in document.lede)]
    for section in document.sections:
        parts.append(f"## {_plain(section.title)}")
        parts.extend(_plain(text) for text in section.prose)
        if section.table is not None and section.table.rows:
            parts.append(_markdown_table(section.table))
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    rows = [[_in_table(cell.text) for cell in row] for row in table.rows]
    head = [_in_table(title) for title in table.head]
    rule = ["---:" if right else "---" for right in table.rights]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def _plain(text: str) -> str:
    """Control characters and HTML do nothing in Markdown; code spans stay."""
    return re.sub(r"[<&]", lambda found: {"<": "&lt;", "&": "&amp;"}[found[0]], escape(text))


def _in_table(text: str) -> str:
    return _plain(text).replace("|", "\\|")


# --- text ---------------------------------------------------------------------------------------------------


def as_text(document: Document, width: int = 100) -> Iterator[str]:
    """Lines for a terminal, with the plots."""
    yield escape(document.title)
    for text in document.lede:
        yield from _wrapped(text, width)
    for section in document.sections:
        yield ""
        yield escape(section.title)
        for text in section.prose:
            yield from _wrapped(text, width)
        if section.plot is not None:
            yield from section.plot(width)
        if section.table is not None and section.table.rows:
            yield from _text_table(section.table, width)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(escape(text), width, break_long_words=False, break_on_hyphens=False) or [""]


def _text_table(table: Table, width: int) -> Iterator[str]:
    rows = [table.head, *([escape(cell.text) for cell in row] for row in table.rows)]
    return lines_of(rows, table.rights, width)
