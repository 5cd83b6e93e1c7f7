"""Values without parts: as they are where JSON has them, else as a text or a few numbers under a tag."""

from __future__ import annotations

import binascii
import math
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from types import NoneType
from typing import Any
from uuid import UUID

import msgspec

from runledger.values.refusals import Refused, type_name

__all__ = ["ATOMS", "HIGH", "LOW", "READERS", "Leaf", "atom", "leaf_of", "text"]

LOW, HIGH = -(2**63), 2**64
"""Integers that every JSON library worth the name reads exactly lie in this half-open range."""

ATOMS = frozenset({NoneType, bool, int, float, str})
"""The types that JSON has; not all of their values."""

_DECIMAL_BITS = 2000  # well below the number of digits to which Python limits such texts

_PATHS = ("PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath")


class Leaf(msgspec.Struct, frozen=True):
    """How one type is written and read."""

    tag: str
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def text(value: str) -> str:
    """The text itself.

    Raises:
        Refused: it holds half of a surrogate pair, which UTF-8 cannot say.
    """
    try:
        if not value.isascii():
            value.encode()
    except UnicodeEncodeError:
        raise Refused("the text holds a lone surrogate, which UTF-8 cannot say") from None
    return value


def atom(value: Any) -> Any:
    """A value of one of ``ATOMS`` as JSON has it.

    Raises:
        Refused: JSON cannot say it.
    """
    if type(value) is str:
        return text(value)
    if type(value) is float and not math.isfinite(value):
        raise Refused("the float is infinite or not a number, which JSON cannot say")
    if type(value) is int and not LOW <= value < HIGH:
        return {"$int": str(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)}
    return value


def _string(body: Any) -> str:
    if type(body) is not str:
        raise TypeError("a text is expected")
    return body


def _write_bytes(value: bytes | bytearray) -> str:
    return binascii.b2a_base64(value, newline=False).decode()


def _read_bytes(body: Any) -> bytes:
    return binascii.a2b_base64(_string(body), strict_mode=True)


def _write_complex(value: complex) -> list[float]:
    if not (math.isfinite(value.real) and math.isfinite(value.imag)):
        raise Refused("the complex number is infinite or not a number")
    return [value.real, value.imag]


def _read_complex(body: Any) -> complex:
    real, imaginary = body
    return complex(real, imaginary)


def _write_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise Refused("the Decimal is infinite or not a number")
    return str(value)


def _write_span(value: timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


def _read_span(body: Any) -> timedelta:
    days, seconds, microseconds = body
    return timedelta(days, seconds, microseconds)


def _write_moment(value: datetime | time) -> Any:
    """ISO 8601 where it says everything, else the local time with its zone beside it."""
    zone = value.tzinfo
    if not value.fold and (zone is None or _is_unnamed(zone)):
        return value.isoformat()
    body: dict[str, Any] = {"at": value.replace(tzinfo=None, fold=0).isoformat()}
    if value.fold:
        body["fold"] = 1
    return body if zone is None else {**body, **_write_zone(zone)}


def _is_unnamed(zone: tzinfo) -> bool:
    return type(zone) is timezone and repr(zone) == repr(timezone(zone.utcoffset(None)))


def _write_zone(zone: tzinfo) -> dict[str, Any]:
    if type(zone) is timezone:
        offset = _write_span(zone.utcoffset(None))
        return (
            {"offset": offset} if _is_unnamed(zone) else {"offset": offset, "name": text(zone.tzname(None))}
        )
    zoneinfo = sys.modules.get("zoneinfo")
    known = zoneinfo is not None and type(zone) is zoneinfo.ZoneInfo
    key = getattr(zone, "key", None) if known else None
    if type(key) is not str:
        raise Refused(f"its time zone, a {type_name(type(zone))}, cannot be stored")
    return {"zone": text(key)}


def _read_zone(body: dict[str, Any]) -> tzinfo | None:
    if "zone" in body:
        from zoneinfo import ZoneInfo

        return ZoneInfo(_string(body["zone"]))
    if "offset" not in body:
        return None
    offset = _read_span(body["offset"])
    return timezone(offset, _string(body["name"])) if "name" in body else timezone(offset)


def _moment_reader(kind: type[datetime | time]) -> Callable[[Any], Any]:
    def read(body: Any) -> datetime | time:
        if type(body) is str:
            return kind.fromisoformat(body)
        local: datetime | time = kind.fromisoformat(body["at"])
        return local.replace(tzinfo=_read_zone(body), fold=body.get("fold", 0))

    return read


def _path_reader(name: str) -> Callable[[Any], Any]:
    def read(body: Any) -> Any:
        import pathlib

        return getattr(pathlib, name)(_string(body))

    return read


def _write_path(value: Any) -> str:
    return text(str(value))


_LEAVES: dict[type, Leaf] = {
    bytes: Leaf("$bytes", _write_bytes, _read_bytes),
    bytearray: Leaf("$bytearray", _write_bytes, lambda body: bytearray(_read_bytes(body))),
    complex: Leaf("$complex", _write_complex, _read_complex),
    datetime: Leaf("$datetime", _write_moment, _moment_reader(datetime)),
    date: Leaf("$date", date.isoformat, date.fromisoformat),
    time: Leaf("$time", _write_moment, _moment_reader(time)),
    timedelta: Leaf("$timedelta", _write_span, _read_span),
    Decimal: Leaf("$decimal", _write_decimal, lambda body: Decimal(_string(body))),
    UUID: Leaf("$uuid", str, lambda body: UUID(_string(body))),
}
_PATH_LEAVES = {name: Leaf(f"${name}", _write_path, _path_reader(name)) for name in _PATHS}

READERS: dict[str, Callable[[Any], Any]] = {
    "$int": lambda body: int(_string(body), 0),
    **{leaf.tag: leaf.read for leaf in (*_LEAVES.values(), *_PATH_LEAVES.values())},
}


def leaf_of(kind: type) -> Leaf | None:
    """How a type is written, None where it is no leaf."""
    leaf = _LEAVES.get(kind)
    if leaf is None and kind.__name__ in _PATH_LEAVES:
        pathlib = sys.modules.get("pathlib")  # never imported for it: whoever has a path has loaded it
        if pathlib is not None and getattr(pathlib, kind.__name__, None) is kind:
            return _PATH_LEAVES[kind.__name__]
    return leaf
