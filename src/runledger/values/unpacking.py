"""From JSON with tags back to the value."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from typing import Any

from runledger.values.classes import find, member_of, rebuild
from runledger.values.leaves import READERS
from runledger.values.refusals import LIMIT, Unresolvable

__all__ = ["unpack"]

_SEQUENCES: dict[str, Any] = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}
_PAIRS: dict[str, Any] = {"$dict": dict, "$ordereddict": OrderedDict, "$counter": Counter}
_CLASSES = ("$dataclass", "$struct", "$namedtuple")


def unpack(tree: Any, depth: int = 0) -> Any:
    """The value that was packed as ``tree``.

    Raises:
        Unresolvable: it cannot be brought back here.
        Exception: the tree was made by nobody's packing.
    """
    if type(tree) is list:
        return _items(tree, depth)
    if type(tree) is not dict:
        return tree
    for name in tree:
        if name[:1] == "$":
            if len(tree) != 1:
                raise Unresolvable("a tag stands among other names")
            return _tagged(name, tree[name], depth)
    return _named(tree, depth)


def _below(depth: int) -> int:
    if depth >= LIMIT:
        raise Unresolvable(f"it is nested more than {LIMIT} deep")
    return depth + 1


def _items(tree: Any, depth: int) -> list[Any]:
    if type(tree) is not list:
        raise TypeError("a list is expected")
    depth = _below(depth)
    items = []
    for item in tree:
        items.append(unpack(item, depth))  # noqa: PERF401 - a comprehension is one more frame a level
    return items


def _named(tree: Any, depth: int) -> dict[str, Any]:
    if type(tree) is not dict:
        raise TypeError("an object is expected")
    depth = _below(depth)
    named = {}
    for name, item in tree.items():
        named[name] = unpack(item, depth)
    return named


def _tagged(tag: str, body: Any, depth: int) -> Any:
    if tag in READERS:
        return READERS[tag](body)
    if tag in _SEQUENCES:
        return _whole(_SEQUENCES[tag](_items(body, depth)), len(body))
    if tag in _PAIRS:
        depth = _below(depth)
        mapping = _PAIRS[tag]()
        for key, item in body:
            mapping[unpack(key, depth)] = unpack(item, depth)
        return _whole(mapping, len(body))
    if tag == "$deque":
        items, maxlen = body
        return _whole(deque(_items(items, depth), maxlen), len(items))
    if tag == "$enum":
        name, member = body
        return member_of(find(name, tag), unpack(member, depth))
    if tag in _CLASSES:
        name, fields, *unset = body
        return rebuild(find(name, tag), tag, _named(fields, depth), *(unset or [[]]))
    raise Unresolvable(f"the tag {tag[:40]!a} is not known to this version")


def _whole(value: Any, count: int) -> Any:
    if len(value) != count:
        raise Unresolvable("two of its keys or elements are one by now")
    return value
