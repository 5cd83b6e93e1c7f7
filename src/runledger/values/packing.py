"""From a value to what JSON can say. What JSON lacks becomes an object with one name, a tag.

A tag begins with ``$``. A dict with a name that does too, or with other keys than texts, is written as
``{"$dict": [[key, value], …]}``: no dict is ever taken for a tag.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from runledger.values.classes import attributes, fields_of, name_of_member, reference, shape_of
from runledger.values.leaves import ATOMS, atom, leaf_of, text
from runledger.values.refusals import LIMIT, Field, Refused, type_name

__all__ = ["PAIRS", "SEQUENCES", "Packer", "in_order"]

SEQUENCES: dict[type, str] = {tuple: "$tuple", set: "$set", frozenset: "$frozenset"}
PAIRS: dict[type, str] = {dict: "$dict", OrderedDict: "$ordereddict", Counter: "$counter"}
_UNORDERED = (set, frozenset)
_BUILTINS = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)

in_order = msgspec.json.Encoder(order="deterministic").encode
"""JSON whose bytes do not depend on the order of dicts."""


class Packer:
    """One value on its way to JSON. ``trail`` is where the walk stands: the place of a refusal.

    ``canonical`` is for a digest: a dict gives the same JSON in whatever order it was filled, and a class
    goes by its qualified name alone, whether or not it can be found again.
    """

    def __init__(self, *, canonical: bool = False) -> None:
        self.trail: list[Any] = []
        self._canonical = canonical

    def pack(self, value: Any) -> Any:
        """What JSON can say of the value.

        Raises:
            Refused: it could not come back as it is.
        """
        kind = type(value)
        if kind in ATOMS:
            return atom(value)
        if len(self.trail) >= LIMIT:
            raise Refused(f"it is nested more than {LIMIT} deep, or is part of itself")
        if kind is list:
            return self._items(value)
        if kind is dict and all(type(name) is str and name[:1] != "$" for name in value):
            return self._named(value, str)
        if kind in SEQUENCES:
            items = self._items(value)
            return {SEQUENCES[kind]: sorted(items, key=in_order) if kind in _UNORDERED else items}
        if kind in PAIRS:
            pairs = self._pairs(value)
            unordered = self._canonical and kind is not OrderedDict
            return {PAIRS[kind]: sorted(pairs, key=in_order) if unordered else pairs}
        return self._tagged(value)

    def _items(self, value: Iterable[Any]) -> list[Any]:
        ordered = type(value) not in _UNORDERED
        packed = []
        for at, item in enumerate(value):
            self.trail.append(at if ordered else type(item))
            packed.append(self.pack(item))
            self.trail.pop()
        return packed

    def _named(self, value: Mapping[str, Any], step: type[str]) -> dict[str, Any]:
        packed = {}
        for name, item in value.items():
            self.trail.append(step(name))
            packed[text(name)] = self.pack(item)
            self.trail.pop()
        return packed

    def _pairs(self, value: Mapping[Any, Any]) -> list[list[Any]]:
        packed = []
        for key, item in value.items():
            self.trail.append(key if type(key) is str or type(key) is int else type(key))
            packed.append([self.pack(key), self.pack(item)])
            self.trail.pop()
        return packed

    def _tagged(self, value: Any) -> dict[str, Any]:
        cls = type(value)
        leaf = leaf_of(cls)
        if leaf is not None:
            return {leaf.tag: leaf.write(value)}
        if cls is deque:
            return {"$deque": [self._items(value), value.maxlen]}
        tag = shape_of(cls)
        if tag is None:
            raise Refused(_unsupported(cls))
        name = cls.__qualname__ if self._canonical else reference(cls)
        if tag == "$enum":
            return {tag: [name, self.pack(name_of_member(value))]}
        fields = attributes(value, tag)
        packed = self._named(fields, Field)
        unset = [field for field in fields_of(cls, tag) if field not in fields]
        return {tag: [name, packed, unset] if unset else [name, packed]}


def _unsupported(cls: type) -> str:
    base = next((base.__name__ for base in cls.__mro__ if base in _BUILTINS), None)
    if base is None:
        return f"the type {type_name(cls)} cannot be stored"
    return f"the type {type_name(cls)}, a kind of {base}, would not come back as itself"
