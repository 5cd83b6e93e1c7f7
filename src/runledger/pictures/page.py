"""A report as one HTML file: nothing is fetched, nothing is run; light and dark, wide and narrow."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import msgspec

from runledger.pictures.document import Cell, Document, Section, Table
from runledger.pictures.style import CSS
from runledger.text import escape

__all__ = ["as_html"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The browser itself sees to it that the page asks for nothing."""

LONG = 24
"""Characters from which a table's text may be broken into lines."""

_CODE = re.compile(r"`([^`]+)`")


def as_html(document: Document) -> str:
    """The whole file."""
    title = _text(document.title)
    body = "\n".join(_body(document))
    data = _data(document.data if document.carried is None else document.carried)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{CSS}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{data}</script>
</body>
</html>
"""


def _body(document: Document) -> Iterator[str]:
    yield f'<header><h1>{_text(document.title)}</h1><div class="lede">'
    yield from (f"<p>{_prose(text)}</p>" for text in document.lede)
    yield '</div></header>\n<nav aria-label="Parts of this report"><ul>'
    yield from (f'<li><a href="#{s.id}">{_text(s.title)}</a></li>' for s in document.sections)
    yield "</ul></nav>\n<main>"
    for section in document.sections:
        yield from _section(section)
    yield "</main>"


def _section(section: Section) -> Iterator[str]:
    yield f'<section id="{section.id}" aria-labelledby="{section.id}-title">'
    yield f'<h2 id="{section.id}-title">{_text(section.title)}</h2>'
    yield from (f"<p>{_prose(text)}</p>" for text in section.prose)
    if section.chart is not None:
        # A picture has a stop of the tabulator for each of its parts, which can be hundreds.
        yield f'<a class="skip" href="#{section.id}-said">Skip the picture\'s parts</a>'
        yield f'<figure aria-labelledby="{section.id}-said">'
        for name, narrow in (("wide", False), ("narrow", True)):
            drawn = section.chart(narrow)
            yield f'<div class="{name}">{_prefixed(drawn, f"{section.id}-{name}-")}</div>'
        yield f'<figcaption id="{section.id}-said" tabindex="-1">{_text(section.label)}</figcaption></figure>'
    if section.table is not None and section.table.rows:
        yield from _table(section.table, beside=section.chart is not None)
    yield "</section>"


def _table(table: Table, *, beside: bool) -> Iterator[str]:
    """The numbers; folded away where a picture shows them."""
    if beside:
        yield "<details><summary>The numbers behind the picture</summary>"
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(table.caption)}"><table>'
    yield f"<caption>{_text(table.caption)}</caption>"
    rights = table.rights
    yield "<thead><tr>" + "".join(
        f'<th scope="col"{_look(Cell(name), right=right)}>{_text(name)}</th>'
        for name, right in zip(table.head, rights, strict=True)
    )
    yield "</tr></thead><tbody>"
    for row in table.rows:
        (first, _), *rest = zip(row, rights, strict=True)
        others = "".join(f"<td{_value(cell, right=right)}>{_text(cell.text)}</td>" for cell, right in rest)
        yield f'<tr><th scope="row"{_value(first, right=False)}>{_text(first.text)}</th>{others}</tr>'
    yield "</tbody></table></div>"
    if beside:
        yield "</details>"


def _value(cell: Cell, *, right: bool) -> str:
    look = _look(cell, right=right)
    if cell.value is None:
        return look
    said = cell.value if isinstance(cell.value, str) else repr(cell.value)
    return f'{look} data-value="{_text(said)}"'


def _look(cell: Cell, *, right: bool) -> str:
    if right:
        return ""
    return ' class="words long"' if len(cell.text) > LONG else ' class="words"'


def _text(text: str) -> str:
    """Text that does nothing to the page; lone surrogates have no UTF-8 and are shown as what they are."""
    return html.escape(escape(text).encode("utf-8", "backslashreplace").decode())


def _prose(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _prefixed(svg: str, prefix: str) -> str:
    """Two pictures on one page must not share an id."""
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    return re.sub(r'(href="#|url\(#)', lambda found: found[0] + prefix, svg)


def _data(data: object) -> str:
    """JSON that cannot end its element."""
    return msgspec.json.encode(data).decode().replace("<", "\\u003c")
