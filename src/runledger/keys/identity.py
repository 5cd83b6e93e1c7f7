"""What may be the name or the key of a step, and the key by which the outside may know it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from runledger.errors import EmptyKey, KeyInvalid

__all__ = ["KEY_LIMIT", "NAME_LIMIT", "check_key", "check_name", "idempotency_key"]

NAME_LIMIT = 512
KEY_LIMIT = 4096
"""In characters."""


def check_name(name: Any) -> None:
    """Refuse what cannot be the name of a step.

    Raises:
        KeyInvalid: it is no text, empty, longer than 512 characters, or holds a lone surrogate.
    """
    if type(name) is str and name.isascii() and 0 < len(name) <= NAME_LIMIT:
        return
    _check("the name of a step", name, NAME_LIMIT)
    if not name:
        raise KeyInvalid("the name of a step is empty")


def check_key(key: Any) -> None:
    """Refuse what cannot be a key. Only text can: ``1``, ``"1"``, ``True`` and ``1.0`` never become one.

    Raises:
        EmptyKey: it is empty.
        KeyInvalid: it is no text, longer than 4096 characters, or holds a lone surrogate.
    """
    if type(key) is str and key.isascii() and 0 < len(key) <= KEY_LIMIT:
        return
    _check("a key", key, KEY_LIMIT)
    if not key:
        raise EmptyKey("a key is empty")


def _check(what: str, text: Any, limit: int) -> None:
    if type(text) is not str:
        raise KeyInvalid(
            f"{what} is a str, not a {type(text).__name__}",
            hint="Say how it reads as text: str(...), or .decode() for bytes.",
        )
    if len(text) > limit:
        raise KeyInvalid(f"{what} has at most {limit} characters, this one has {len(text)}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise KeyInvalid(f"{what} holds a lone surrogate, which UTF-8 cannot say") from None


def idempotency_key(ledger: str, scope_run: str, name: str, key: str | None, lsn: int) -> str:
    """32 hex digits: the same for every attempt of one step, different for any other step.

    ``scope_run`` is the run that the key lives in, empty for a key of the whole ledger. A step without a key
    is told from others by the LSN of its intent.
    """
    # As JSON, so that the parts cannot run into each other; a number is never a key.
    identity = msgspec.json.encode([ledger, scope_run, name, lsn if key is None else key])
    said: str = _sha256()(identity).hexdigest()
    return said[:32]


@cache
def _sha256() -> Callable[[bytes], Any]:
    """Python's own, by its name since 3.12 or before, where there is one: ``hashlib`` loads OpenSSL, for a line of text
    at most, which takes a fifth of a bare interpreter."""
    for module in ("_sha2", "_sha256"):
        try:
            return import_module(module).sha256  # type: ignore[no-any-return]
        except ImportError:
            continue
    return import_module("hashlib").sha256  # type: ignore[no-any-return]
