"""Why a value cannot be stored or brought back, said without the value itself: it may be a secret."""

from __future__ import annotations

from typing import Any

__all__ = ["LIMIT", "Field", "Refused", "Unresolvable", "Unstorable", "type_name", "where"]

LIMIT = 200
"""How deep lists, dicts and the like may be nested: well within what the interpreter's stack allows."""

_SHOWN = 8


class Unstorable(ValueError):
    """The value would not come back equal in value and type. The text has types and places, never values."""


class Unresolvable(ValueError):
    """The value cannot be brought back here: a class is not loaded or has changed, or the JSON is odd."""


class Refused(Exception):
    """A reason without its place, which only the walk over the value knows."""


class Field(str):
    """The name of a field as a step of a path."""

    __slots__ = ()


def where(root: str, trail: list[Any]) -> str:
    """The place, such as ``result["a"][3].slug``; a key that is no plain name shows only its type."""
    steps = "".join(_shown(step) for step in trail[:_SHOWN])
    return f"{root}{steps}{'…' if len(trail) > _SHOWN else ''}"


def _shown(step: Any) -> str:
    if type(step) is Field:
        return f".{step}"
    if type(step) is int:
        return f"[{step}]"
    if type(step) is str and step.isascii() and step.isidentifier() and len(step) <= 32:
        return f'["{step}"]'
    return f"[<{type_name(step if isinstance(step, type) else type(step))}>]"


def type_name(kind: type) -> str:
    """A type as a person would name it."""
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"
