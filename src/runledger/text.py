"""Text of others on its way to a terminal or a shell: nothing in it is obeyed."""

from __future__ import annotations

__all__ = ["escape", "escape_json", "shell_quote"]

# C0, DEL, C1; marks and controls of writing direction; separators of lines; halves of surrogate pairs
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"


def escape(text: str) -> str:
    r"""The text on one line; what a terminal would act on is written as ``\xNN`` or ``\uNNNN``."""
    if text.isprintable():
        return text
    import re

    return re.sub(f"[{_UNSAFE}]", lambda found: _escaped(ord(found[0])), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def escape_json(text: bytes) -> bytes:
    r"""The same JSON, on one line; what a terminal would act on is written as ``\uNNNN``."""
    told = text.decode("utf-8", "surrogatepass")
    if told.isprintable():
        return text
    import re

    # JSON allows the first 32 only between values, and all others only in strings.
    return re.sub(f"[{_UNSAFE}]", lambda found: _in_json(ord(found[0])), told).encode()


def _in_json(code: int) -> str:
    return " " if code < 0x20 else f"\\u{code:04x}"


def shell_quote(text: str) -> str:
    """The text as one word of a shell's command line, which has nothing in it that ``escape`` would change.

    Only such text needs ``$'…'``, which bash, zsh, ksh and the newer sh read. A word that begins with ``-``
    is still an option to the command that gets it: write ``--`` before it. No argument can hold NUL.
    """
    from shlex import quote

    if escape(text) == text:
        return quote(text)
    return f"$'{''.join(map(_in_ansi_c, text))}'"


def _in_ansi_c(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if escape(character) == character:
        return character
    # Bytes: a shell reads \u in its own locale. Python holds a byte that is no UTF-8 as a lone surrogate.
    stray = "\udc80" <= character <= "\udcff"
    data = character.encode("utf-8", "surrogateescape" if stray else "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)
