"""Values of any supported type as JSON that describes itself, and back, equal in value and exact type.

Plain values are plain JSON. Anything else carries type tags, is read back and compared before it is trusted,
and is refused rather than changed. No class is imported to bring a value back.
"""

from __future__ import annotations

from math import isfinite
from types import NoneType
from typing import Any, NamedTuple

import msgspec

from runledger.values.handlers import is_of_a_handler
from runledger.values.leaves import HIGH, LOW
from runledger.values.packing import Packer, in_order
from runledger.values.refusals import LIMIT, Refused, Unresolvable, Unstorable, where
from runledger.values.sameness import same
from runledger.values.unpacking import unpack

__all__ = ["Stored", "Unresolvable", "Unstorable", "decode", "encode", "fingerprint", "plain"]

_to_json = msgspec.json.Encoder().encode
_from_json = msgspec.json.Decoder().decode

_ALWAYS_PLAIN = frozenset({str, bool, NoneType})

_FAILURES = (ValueError, OverflowError, RuntimeError, MemoryError)
"""What comes of a plain value with a lone surrogate, or that changes meanwhile, or where the stack ends."""


class Stored(NamedTuple):
    """A value as JSON; ``typed`` says that the JSON carries type tags."""

    json: bytes
    typed: bool


def encode(value: Any, what: str = "result") -> Stored:
    """The value as JSON bytes. ``what`` is what the text of a refusal calls it.

    Raises:
        Unstorable: it would not come back equal in value and type.
    """
    try:
        if _is_plain(value, 0):
            return Stored(_to_json(value), typed=False)
    except _FAILURES as error:
        if is_of_a_handler(error):
            raise
        # else the walk finds the place and the reason
    json = _tagged(value, what, canonical=False)
    try:
        sound = same(value, unpack(_from_json(json)))
    except Unresolvable as error:
        raise Unstorable(f"{what}: {error}") from None
    except Exception as error:
        # A key's own __hash__ may raise anything, and the effect is done; but a signal is not the value's fault.
        if is_of_a_handler(error):
            raise
        raise Unstorable(f"{what}: {type(error).__name__} while it was read back") from None
    if not sound:
        raise Unstorable(f"{what}: a {type(value).__name__} that is not the same when it is read back")
    return Stored(json, typed=True)


def decode(json: bytes, typed: bool) -> Any:  # noqa: FBT001 - the two parts of Stored, as they are kept
    """The value that ``encode`` made ``json`` of.

    Raises:
        Unresolvable: a class of it is not loaded here or has changed, or no ``encode`` made this.
    """
    try:
        tree = _from_json(json)
        return unpack(tree) if typed else tree
    except Unresolvable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever somebody wrote there, it is refused in one way
        raise Unresolvable(f"the recorded value cannot be read: {type(error).__name__}") from None


def plain(json: bytes) -> Any:
    """The recorded value for those who lack its classes: what JSON can say, the tags as they stand.

    Raises:
        Unresolvable: it is no JSON.
    """
    return decode(json, typed=False)


def fingerprint(value: Any, what: str = "value") -> str:
    """A digest of 32 hex digits, the same for equal values in whatever order dicts and sets were filled.

    ``1``, ``"1"``, ``True`` and ``1.0`` differ. A class counts by its qualified name and its fields.

    Raises:
        Unstorable: a part of it is of a type that is not supported.
    """
    from hashlib import sha256

    return sha256(_canonical(value, what)).hexdigest()[:32]


def _canonical(value: Any, what: str) -> bytes:
    try:
        if _is_plain(value, 0):
            return b"plain " + in_order(value)
    except _FAILURES:
        pass  # the walk finds the place and the reason
    return b"typed " + _tagged(value, what, canonical=True)


def _tagged(value: Any, what: str, *, canonical: bool) -> bytes:
    packer = Packer(canonical=canonical)
    try:
        tree = packer.pack(value)
        return in_order(tree) if canonical else _to_json(tree)
    except Refused as error:
        raise Unstorable(f"{where(what, packer.trail)}: {error}") from None
    except Exception as error:
        # A foreign descriptor may raise anything, and the effect is done; but a signal is not the value's fault.
        if is_of_a_handler(error):
            raise
        raise Unstorable(f"{where(what, packer.trail)}: {type(error).__name__} on the way to JSON") from None


def _is_plain(value: Any, depth: int) -> bool:
    """Whether JSON says the value as it is. Every durable step waits for this."""
    kind = type(value)
    if kind in _ALWAYS_PLAIN or (kind is int and LOW <= value < HIGH):
        return True
    if kind is float:
        return isfinite(value)
    if kind is dict:
        for name in value:
            if type(name) is not str:
                return False
        value = value.values()
    elif kind is not list:
        return False
    if depth >= LIMIT:
        return False
    for item in value:  # noqa: SIM110 - a generator costs as much as the whole check
        if type(item) not in _ALWAYS_PLAIN and not _is_plain(item, depth + 1):
            return False
    return True
