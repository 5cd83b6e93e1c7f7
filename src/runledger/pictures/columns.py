"""A table as lines of a terminal, in as many columns as its width has room for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

__all__ = ["lines_of", "packed"]

GAP = "  "

NARROWEST = 24
"""Characters to which a column of text may be broken."""


def lines_of(rows: Sequence[Sequence[str]], rights: Sequence[bool], width: int) -> Iterator[str]:
    """``rows``, the head first, with the columns that are numbers (``rights``) at the right.

    Where ``width`` is too little, the widest text is broken into lines; where that is not enough, the columns come in
    blocks below each other, each with the first column, which names the rows.
    """
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for place in sorted(range(1, len(widths)), key=lambda place: widths[place], reverse=True):
        over = _total(widths) - width
        if over > 0 and not rights[place] and widths[place] > NARROWEST:
            widths[place] = max(NARROWEST, widths[place] - over)
    for number, block in enumerate(_blocks(widths, width)):
        if number:
            yield ""
        if len(block) == 2 and not rights[block[1]]:
            widths[block[1]] = max(1, min(widths[block[1]], width - widths[0] - len(GAP)))
        for row in rows:
            yield from _row([row[place] for place in block], [(widths[p], rights[p]) for p in block])


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _blocks(widths: Sequence[int], width: int) -> Iterator[list[int]]:
    """Columns that fit beside each other, the first in each."""
    block = [0]
    for place in range(1, len(widths)):
        if len(block) > 1 and _total([widths[p] for p in (*block, place)]) > width:
            yield block
            block = [0]
        block.append(place)
    yield block


def _row(texts: Sequence[str], columns: Sequence[tuple[int, bool]]) -> Iterator[str]:
    broken = [
        [text] if len(text) <= width else textwrap.wrap(text, width) or [""]
        for text, (width, _) in zip(texts, columns, strict=True)
    ]
    for line in range(max(map(len, broken))):
        shown = [lines[line] if line < len(lines) else "" for lines in broken]
        yield GAP.join(
            text.rjust(width) if right else text.ljust(width)
            for text, (width, right) in zip(shown, columns, strict=True)
        ).rstrip()


def packed(parts: Sequence[str], width: int, indent: int) -> list[str]:
    """The parts of a legend, as many in a line as fit, behind ``indent`` spaces."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width:
            lines[-1] += "   " + part
        else:
            lines.append(" " * indent + part)
    return lines
