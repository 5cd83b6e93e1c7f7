"""The digest of what a step works on: the same key must not mean two things."""

from __future__ import annotations

from collections.abc import Mapping
from types import EllipsisType
from typing import Any

from runledger.errors import InputsNotEncodable, UsageError
from runledger.values import Unstorable, fingerprint

__all__ = ["call_inputs", "value_inputs"]


def value_inputs(value: Any) -> str:
    """The digest of ``inputs=`` of a ``with`` block.

    Raises:
        InputsNotEncodable: it has a part of a type that is not supported.
    """
    try:
        return fingerprint(value, "inputs")
    except Unstorable as error:
        raise InputsNotEncodable(
            f"the inputs cannot be fingerprinted: {error}",
            hint="Give a part that can, such as an id or a version.",
        ) from None


def call_inputs(arguments: Mapping[str, Any], inputs: Any) -> tuple[str | None, list[str]]:
    """The digest of a call's arguments, defaults among them, and the names of those that it does not cover.

    ``inputs`` is ``...`` for all arguments that can be encoded, None for none, or the names of some
    parameters, each perhaps with attributes: ``("slug", "page.version")``.

    Raises:
        InputsNotEncodable: an argument asked for by name cannot be encoded.
        UsageError: ``inputs`` names what is no parameter.
    """
    if inputs is None or not arguments:
        return None, []
    if isinstance(inputs, EllipsisType):
        return _all(dict(arguments))
    return _named(arguments, inputs), []


def _all(arguments: dict[str, Any]) -> tuple[str | None, list[str]]:
    try:
        return fingerprint(arguments), []
    except Unstorable:
        left_out = [name for name, value in arguments.items() if not _encodable(value)]
    covered = {name: value for name, value in arguments.items() if name not in left_out}
    return (fingerprint(covered) if covered else None), left_out


def _encodable(value: Any) -> bool:
    try:
        fingerprint([value])
    except Unstorable:
        return False
    return True


def _named(arguments: Mapping[str, Any], inputs: Any) -> str | None:
    paths = (inputs,) if isinstance(inputs, str) else inputs
    if not isinstance(paths, tuple | list) or not all(isinstance(path, str) for path in paths):
        raise UsageError(
            "inputs= of a decorator names parameters, as in inputs=('slug', 'page.version')",
            hint="inputs=None leaves the arguments out.",
        )
    found = {path: _value(arguments, path) for path in paths}
    try:
        return fingerprint(found, "inputs") if found else None
    except Unstorable as error:
        raise InputsNotEncodable(
            f"the inputs cannot be fingerprinted: {error}",
            hint="Name an attribute that can, such as 'page.version'.",
        ) from None


def _value(arguments: Mapping[str, Any], path: str) -> Any:
    root, *attributes = path.split(".")
    if root not in arguments:
        raise UsageError(f"inputs= names {path!a}, and the function has no parameter {root!a}")
    value = arguments[root]
    for attribute in attributes:
        try:
            value = getattr(value, attribute)
        except Exception as error:
            raise InputsNotEncodable(
                f"inputs= names {path!a}: {type(error).__name__} at {attribute!a}"
            ) from error
    return value
