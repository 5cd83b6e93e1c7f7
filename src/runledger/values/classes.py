"""Values of the caller's own classes: a name to find the class by, and its fields.

No class is imported for it, and rebuilding a dataclass, an enum's member or a NamedTuple calls none of its
methods. Only its constructor makes a Struct, so a ``__post_init__`` runs, as in msgspec's own decoders;
the fields are then set to what was recorded.
"""

from __future__ import annotations

import enum
import sys
from functools import cached_property
from types import ModuleType
from typing import Any

import msgspec

from runledger.values.refusals import Refused, Unresolvable, type_name

__all__ = [
    "attributes",
    "fields_of",
    "find",
    "member_of",
    "name_of_member",
    "rebuild",
    "reference",
    "shape_of",
]


def shape_of(cls: Any) -> str | None:
    """The tag of the values of a class, None where it is of no kind that can be rebuilt."""
    if isinstance(cls, enum.EnumType):
        return "$enum"
    if issubclass(cls, msgspec.Struct):
        return "$struct"
    if issubclass(cls, tuple):
        return "$namedtuple" if isinstance(getattr(cls, "_fields", None), tuple) else None
    return "$dataclass" if hasattr(cls, "__dataclass_fields__") else None


def reference(cls: type) -> str:
    """``module:qualified name``.

    Raises:
        Refused: the class cannot be found by it.
    """
    name = f"{cls.__module__}:{cls.__qualname__}"
    if _found(name) is not cls:
        raise Refused(f"its class {type_name(cls)} cannot be found by that name, as at the top of a module")
    return name


def find(name: Any, tag: str) -> Any:
    """The class of that name among what is loaded.

    Raises:
        Unresolvable: it is not loaded here, or is no longer the kind of class that it was.
    """
    if type(name) is not str:
        raise TypeError("the name of a class is expected")
    cls = _found(name)
    if not isinstance(cls, type):
        raise Unresolvable(f"its class {name[:200]!a} is not loaded here")
    if shape_of(cls) != tag:
        raise Unresolvable(f"its class {name[:200]!a} is no longer a {tag.removeprefix('$')}")
    return cls


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        # By __dict__ alone: the __getattr__ of a module or a metaclass may do anything, imports included.
        if not isinstance(found, ModuleType | type):
            return None
        found = found.__dict__.get(part)
    return found


def fields_of(cls: Any, tag: str) -> tuple[str, ...]:
    """The names of the declared fields."""
    if tag == "$namedtuple":
        return tuple(cls._fields)
    if tag == "$struct":
        return tuple(cls.__struct_fields__)
    from dataclasses import fields

    return tuple(field.name for field in fields(cls))


def attributes(value: Any, tag: str) -> dict[str, Any]:
    """The fields that are set, in the order of their declaration.

    Raises:
        Refused: the value holds more than its fields, which would be lost.
    """
    names = fields_of(type(value), tag)
    # The default one of object: it runs no code of the class and knows __dict__ and the slots of all bases.
    state: Any = object.__getstate__(value)
    held, slots = state if type(state) is tuple else (state, None)
    held = {**(held or {}), **(slots or {})}
    extra = [name for name in held if tag == "$namedtuple" or name not in names]
    if any(not _cached(type(value), name) for name in extra):
        raise Refused(f"a {type_name(type(value))} with attributes beyond its fields would lose them")
    if tag == "$namedtuple":
        return dict(zip(names, tuple.__iter__(value), strict=True))
    return {name: held[name] for name in names if name in held}


def _cached(cls: type, name: str) -> bool:
    """Whether the attribute is computed when it is first asked for, and so may be left out."""
    return any(type(base.__dict__.get(name)) is cached_property for base in cls.__mro__)


def rebuild(cls: Any, tag: str, fields: dict[str, Any], unset: list[str]) -> Any:
    """A value of the class with these fields, and those of ``unset`` left to the class.

    Raises:
        Unresolvable: the class has other fields by now.
    """
    names = fields_of(cls, tag)
    if sorted([*fields, *unset]) != sorted(names):
        raise Unresolvable(f"the fields of {type_name(cls)} are no longer those of the recorded value")
    if tag == "$namedtuple":
        return tuple.__new__(cls, [fields[name] for name in names])
    if tag == "$struct":
        value = cls(**fields)
        for name, field in fields.items():
            msgspec.structs.force_setattr(value, name, field)
        return value
    value = object.__new__(cls)
    for name, field in fields.items():
        object.__setattr__(value, name, field)
    return value


def name_of_member(member: enum.Enum) -> str | int:
    """The name of an enum's member, or the number of a combination of flags that has none.

    Raises:
        Refused: neither leads back to it.
    """
    cls = type(member)
    if cls.__members__.get(member._name_ or "") is member:
        return member._name_
    if isinstance(member, enum.Flag) and not any("_missing_" in base.__dict__ for base in _own(cls)):
        number: int = member._value_
        return number
    raise Refused(f"this {type_name(cls)} is no member that can be found by its name")


def _own(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__ != "enum"]


def member_of(cls: Any, name: Any) -> enum.Enum:
    """The member of that name, or the combination of flags of that number.

    Raises:
        Unresolvable: the enum has none.
    """
    if type(name) is int and issubclass(cls, enum.Flag):
        combined: enum.Enum = cls(name)
        return combined
    member: enum.Enum | None = cls.__members__.get(name)
    if member is None:
        raise Unresolvable(f"{type_name(cls)} no longer has the recorded member")
    return member
