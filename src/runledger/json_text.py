"""Where the values of a JSON text begin and end: strict, linear in time, never recursive."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

__all__ = ["DEEPEST", "DocumentDamaged", "decode", "members", "skip", "space"]

DEEPEST = 200
"""Objects and arrays inside each other; more than that is damage, not data."""

_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = rf'\\(?:["\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{{4}}|{_PAIR})'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"

_space = re.compile(r"[ \t\n\r]*+")


@cache
def _patterns(ascii_only: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:  # noqa: FBT001  # what ``isascii`` said
    """A member's name with its colon, and a scalar.

    Made when they are first needed. A class that names the surrogates takes a millisecond to compile, which is spared
    where the text can hold none.
    """
    plain = r'[^"\\\x00-\x1f]*+' if ascii_only else r'[^"\\\x00-\x1f\ud800-\udfff]*+'
    string = rf'"{plain}(?:{_ESCAPE}{plain})*+"'
    key = re.compile(rf"({string})([ \t\n\r]*+:[ \t\n\r]*+)")
    return key, re.compile(rf"{string}|{_NUMBER}|true|false|null")


class DocumentDamaged(ValueError):
    """The text is not a JSON document that can be trusted.

    Attributes:
        reason: what is wrong; offset: the character it is wrong at, from 0.
    """

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason, offset)
        self.reason = reason
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.reason} (at character {self.offset})"


def space(text: str, at: int) -> int:
    """The first position from ``at`` on that is no white space."""
    return _space.match(text, at).end()  # type: ignore[union-attr]  # the pattern matches the empty string


def skip(text: str, at: int, depth: int = 0) -> int:
    """The end of the value that begins at ``at``, which lies ``depth`` levels deep.

    Raises:
        DocumentDamaged: it is not JSON, or nests deeper than ``DEEPEST``.
    """
    closers: list[str] = []
    while True:
        bracket = text[at : at + 1]
        if bracket in ("{", "["):
            if depth + len(closers) >= DEEPEST:
                raise DocumentDamaged(f"it nests deeper than {DEEPEST} levels", at)
            closers.append("}" if bracket == "{" else "]")
            at = space(text, at + 1)
            if text[at : at + 1] != closers[-1]:
                at = _after_key(text, at) if bracket == "{" else at
                continue
            closers.pop()
        else:
            at = _after_scalar(text, at) - 1
        # ``at`` is the last character of a value here.
        at += 1
        while closers:
            at = space(text, at)
            mark = text[at : at + 1]
            if mark == ",":
                at = space(text, at + 1)
                at = _after_key(text, at) if closers[-1] == "}" else at
                break
            if mark != closers[-1]:
                raise DocumentDamaged(f"a comma or {closers[-1]} is missing", at)
            closers.pop()
            at += 1
        else:
            return at


def members(text: str, depth: int) -> tuple[list[tuple[str, str, str, str, str]], str]:
    """Take the object or array ``text`` apart by one level.

    Returns:
        for each member the white space before it, its key, its colon with the white space around it, its
        value and the white space before the comma (key and colon are empty in an array); and the white
        space before the end.
    """
    parts: list[tuple[str, str, str, str, str]] = []
    named = text[0] == "{"
    pattern, _ = _patterns(text.isascii())
    at = space(text, 1)
    if at == len(text) - 1:
        return parts, text[1:at]
    begin = 1
    while True:
        lead, key, colon = text[begin:at], "", ""
        if named:
            found = pattern.match(text, at)
            if found is None:
                raise DocumentDamaged("a member's name is missing", at)
            key, colon, at = found[1], found[2], found.end()
        end = skip(text, at, depth + 1)
        after = space(text, end)
        last = text[after] != ","
        parts.append((lead, key, colon, text[at:end], "" if last else text[end:after]))
        if last:
            return parts, text[end:after]
        begin = after + 1
        at = space(text, begin)


def _after_key(text: str, at: int) -> int:
    found = _patterns(text.isascii())[0].match(text, at)
    if found is None:
        raise DocumentDamaged("a member's name, or the colon after it, is missing", at)
    return found.end()


def _after_scalar(text: str, at: int) -> int:
    found = _patterns(text.isascii())[1].match(text, at)
    if found is not None:
        return found.end()
    if at >= len(text):
        raise DocumentDamaged("it ends too early", at)
    if text[at] == '"':
        raise DocumentDamaged(
            "a string has no end, a control character, a bad escape or half a surrogate pair", at
        )
    raise DocumentDamaged("this is no JSON value", at)


def decode(raw: str) -> Any:
    """The value of a JSON text that ``skip`` accepted; a number too large for a float is infinite."""
    first = raw[0]
    if first == '"':
        return raw[1:-1] if "\\" not in raw else msgspec.json.decode(raw)
    if first in "{[":
        import json

        return json.loads(raw, parse_int=_number, parse_float=float)
    return {"true": True, "false": False, "null": None}[raw] if first in "tfn" else _number(raw)


def _number(raw: str) -> int | float:
    return int(raw) if len(raw) < 4000 and not any(mark in raw for mark in ".eE") else float(raw)
