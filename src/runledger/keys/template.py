"""A key's text with fields in braces: read as by ``str.format``, but only where they name a parameter."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

from runledger.errors import KeyInvalid

__all__ = ["Field", "fields_in"]

_FIELD = re.compile(
    r"\{([^\W\d]\w*)((?:\.\w+|\[[^\[\]{}]+\])*)(?:!([rsa]))?(?::((?:[^{}]|\{[^{}]*\})*))?\}",
)
_STEP = re.compile(r"\.(\w+)|\[([^\]]+)\]")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


class Field(NamedTuple):
    """One field: a parameter, the way from there, and how the value is shown. ``is_plain``: the parameter itself, as
    it is."""

    text: str
    root: str
    path: tuple[tuple[str, str], ...]
    conversion: str | None
    spec: str
    is_plain: bool

    def render(self, arguments: Mapping[str, Any]) -> str:
        """The text of the value.

        Raises:
            KeyInvalid: it is missing (None), or its text would be another in the next process.
            Exception: what the value's own code raised.
        """
        value = arguments[self.root]
        if self.is_plain and type(value) is str:
            return value
        for attribute, item in self.path:
            value = getattr(value, attribute) if attribute else value[int(item) if item.isdecimal() else item]
        if value is None:
            raise KeyInvalid(f"{self.text} in the key is None: a key is not made of a missing value")
        if isinstance(value, set | frozenset):
            raise KeyInvalid(f"{self.text} in the key is a set, whose order changes from process to process")
        shown = value if self.conversion is None else _CONVERSIONS[self.conversion](value)
        text = format(shown, self.spec.format_map(arguments) if "{" in self.spec else self.spec)
        if not isinstance(value, str) and _ADDRESS.search(text):
            raise KeyInvalid(f"{self.text} in the key shows an address in memory, another in each process")
        return text


def fields_in(template: str, parameters: Container[str]) -> list[str | Field]:
    """The literal parts and the fields; ``{{name}}`` among fields stands for the text ``{name}``."""
    pieces: list[str | Field] = []
    done = at = 0
    while found := _FIELD.search(template, at):
        start, end = found.span()
        if found[1] not in parameters:
            at = start + 1  # what is inside may still be a field
        elif template[max(start - 1, 0) : end + 1] == f"{{{found[0]}}}":
            pieces += [template[done : start - 1], found[0]]
            done = at = end + 1
        else:
            path = tuple((step[1] or "", step[2] or "") for step in _STEP.finditer(found[2]))
            plain = not (path or found[3] or found[4])
            field = Field(found[0], found[1], path, found[3], found[4] or "", is_plain=plain)
            pieces += [template[done:start], field]
            done = at = end
    return [*pieces, template[done:]]
