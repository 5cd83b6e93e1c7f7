"""Whether two values are the same in value and type at every level, the order of dicts included.

Equality alone would not do: ``1 == True == 1.0``, dicts ignore their order, a class defines it as it likes.
"""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from types import NoneType
from typing import Any

from runledger.values.classes import attributes, shape_of
from runledger.values.leaves import leaf_of

__all__ = ["same"]

_BY_VALUE = frozenset({int, str, bytes, bytearray})
_BY_REPR = frozenset({NoneType, bool, float})
_MAPPINGS = frozenset({dict, OrderedDict, Counter})


def same(one: Any, other: Any) -> bool:
    """Whether ``other`` could stand in for ``one``; both are of types that can be stored."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in _BY_VALUE:
        return bool(one == other)
    if kind in _BY_REPR or leaf_of(kind) is not None:
        # Unlike ==, it tells -0.0 from 0.0, Decimal("1.0") from Decimal("1.00"), and zone and fold of a time.
        return repr(one) == repr(other)
    if kind in _MAPPINGS:
        return _same_items(one, other) and _same_items(one.values(), other.values())
    if kind is set or kind is frozenset:
        theirs = {member: member for member in other}
        return len(one) == len(theirs) and _same_items(one, [theirs.get(member) for member in one])
    if kind is list or kind is tuple:
        return _same_items(one, other)
    return _same_objects(one, other)


def _same_items(one: Iterable[Any], other: Iterable[Any]) -> bool:
    for mine, theirs in zip(one, other, strict=True):  # noqa: SIM110 - a generator is one more frame a level
        if not same(mine, theirs):
            return False
    return True


def _same_objects(one: Any, other: Any) -> bool:
    if type(one) is deque:
        return one.maxlen == other.maxlen and _same_items(one, other)
    if isinstance(one, enum.Enum):
        return one is other or (isinstance(one, enum.Flag) and same(one._value_, other._value_))
    tag = shape_of(type(one))
    return tag is not None and same(attributes(one, tag), attributes(other, tag))
