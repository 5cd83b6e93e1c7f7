"""How new values are written into a JSON text: like what is written around them."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Style", "encode", "line_of"]


class Style:
    """How new text is written: ``line`` is the line break and indentation there, None for one line."""

    __slots__ = ("colon", "gap", "line", "pad", "step")

    def __init__(self, line: str | None, step: str = "  ", colon: str = ": ", pad: str = "") -> None:
        self.line, self.step, self.colon, self.pad = line, step, colon, pad
        self.gap = " " if colon.endswith(" ") else ""

    @property
    def outer(self) -> str:
        """What the line of the closing bracket begins with, one step further out."""
        return "" if self.line is None else self.line.removesuffix(self.step)

    def like(self, colon: str, tail: str) -> Style:
        """This style with the colon of an object nearby and the white space before that object's end."""
        return Style(
            self.line, self.step, self.colon if "\n" in colon else colon, "" if "\n" in tail else tail
        )

    def render(self, value: Any, *, item: bool = False) -> str:
        """The text of a plain value; ``item``: in a list, where an object of plain values takes one line."""
        if not isinstance(value, dict | list) or not value:
            return encode(value)
        named = isinstance(value, dict)
        inner = value.values() if isinstance(value, dict) else value
        flat = (item or not named) and not any(isinstance(one, dict | list) for one in inner)
        line = None if flat or self.line is None else self.line + self.step
        within = Style(line, self.step, self.colon, self.pad)
        parts = [within.render(one, item=not named) for one in inner]
        if isinstance(value, dict):
            parts = [f"{encode(name)}{self.colon}{part}" for name, part in zip(value, parts, strict=True)]
        opening, closing = "{}" if named else "[]"
        if line is None:
            pad = self.pad if named else ""
            return f"{opening}{pad}{f',{self.gap}'.join(parts)}{pad}{closing}"
        return f"{opening}{line}{f',{line}'.join(parts)}{self.line}{closing}"


def line_of(lead: str) -> str | None:
    """The last line break of some white space with the indentation after it, None where there is none."""
    at = lead.rfind("\n")
    return None if at < 0 else lead[at - (lead[at - 1 : at] == "\r") :]


def encode(value: Any) -> str:
    """A plain value as JSON text on one line, without white space."""
    return msgspec.json.encode(value).decode()
