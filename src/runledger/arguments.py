"""What a caller may hand over: whatever is of the wrong type is refused at the call, before any of it is on record.

A record with a flag that is a number, or a text that UTF-8 cannot say, would be acknowledged and then unreadable to
every later process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from runledger.errors import UsageError

__all__ = ["directory", "flag", "maybe_text", "number", "readable", "text", "texts"]


def text(what: str, value: Any, error: type[UsageError] = UsageError) -> str:
    """The text itself, of a subclass of ``str`` (an enum's member, say) what it holds.

    Raises:
        UsageError, or ``error``, which is one: it is no text, or holds a lone surrogate.
    """
    if not isinstance(value, str):
        hint = "Say how it reads as text: str(...), or .decode() for bytes."
        raise error(f"{what} is a str, not {_kind(value)}", hint=hint)
    found = value if type(value) is str else str.__str__(value)
    if not found.isascii():
        try:
            found.encode()
        except UnicodeEncodeError:
            raise error(f"{what} holds a lone surrogate, which UTF-8 cannot say") from None
    return found


def maybe_text(what: str, value: Any, error: type[UsageError] = UsageError) -> str | None:
    """The same, or None. Raises UsageError."""
    return None if value is None else text(what, value, error)


def texts(what: str, values: Any, error: type[UsageError] = UsageError) -> tuple[str, ...]:
    """Several texts; one text alone is not taken for a list of letters. Raises UsageError."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UsageError(f"{what} are a list of texts, not {_kind(values)}")
    return tuple(text(f"each of {what}", value, error) for value in values)


def flag(what: str, value: Any) -> bool:
    """True or False. Raises UsageError: nothing else is taken for one of them."""
    if type(value) is not bool:
        raise UsageError(f"{what} is True or False, not {_kind(value)}")
    return value


def number(what: str, value: Any, least: float, *, whole: bool = True) -> None:
    """Refuse what is no number of at least ``least``. Raises UsageError."""
    kinds = (int,) if whole else (int, float)
    if type(value) not in kinds or not value >= least:
        kind = "an int" if whole else "a number"
        raise UsageError(f"{what} is {kind} of at least {least:g}, not {_shown(value)}")


def directory(value: Any) -> str | None:
    """The path of a directory as text, None for none. Raises UsageError."""
    if value is None:
        return None
    try:
        path = os.fspath(value)
    except TypeError:
        path = value
    if not isinstance(path, str):
        raise UsageError(f"a directory is named by a str or a Path, not {_kind(value)}")
    if "\0" in path:
        raise UsageError("the name of a directory cannot hold NUL")
    return path


def readable(value: str) -> str:
    """A text that nobody handed over for the record, such as an exception's: its lone surrogates are escaped."""
    exact = value if type(value) is str else str.__str__(value)
    return exact if exact.isascii() else exact.encode("utf-8", "backslashreplace").decode()


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _shown(value: object) -> str:
    return repr(value) if type(value) in {int, float} else _kind(value)
