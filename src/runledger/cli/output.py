"""Where words go: results to standard output, all else to standard error, nothing unescaped to a terminal."""

from __future__ import annotations

import os
import select
import sys

import msgspec

from runledger.text import escape, escape_json

__all__ = ["Raw", "complain", "describe", "document", "note", "outcome_line", "paint", "raw", "result"]

_COLOURS = {"RUNNING": "32", "HALTED": "33", "JACKED_OUT": "36", "ABSENT": "2", "INVALID": "31"}


def result(text: str) -> None:
    """One or more lines of a result for a person."""
    sys.stdout.write(_encodable(text) + "\n")


def document(value: object) -> None:
    """A result for a program: one JSON object on one line."""
    sys.stdout.flush()
    sys.stdout.buffer.write(escape_json(msgspec.json.encode(value)) + b"\n")


def note(text: str) -> None:
    """A remark beside the result."""
    _to_stderr(f"runledger: {_safe(text)}")


def complain(message: str, hint: str) -> None:
    """What went wrong, then what to do about it."""
    _to_stderr(f"runledger: {_safe(message)}" + (f"\n{_safe(hint)}" if hint else ""))


def describe(value: object) -> None:
    """An object for a program on standard error."""
    _to_stderr(escape_json(msgspec.json.encode(value)).decode())


def paint(word: str) -> str:
    """A word for the state, in its colour on a terminal, unless NO_COLOR is set."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()
    return f"\x1b[{_COLOURS[word]}m{word}\x1b[0m" if wanted and word in _COLOURS else word


def _safe(text: str) -> str:
    """Lines that do nothing to a terminal."""
    return "\n".join(escape(line) for line in text.split("\n"))


def _encodable(text: str) -> str:
    """The text as standard output can show it, whatever its encoding."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _to_stderr(text: str) -> None:
    """Nobody to tell is no reason to fail."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


class Raw:
    """Standard output for bytes that pass through; ``refused`` says why it takes no more."""

    def __init__(self) -> None:
        self.refused: str | None = None

    def write(self, data: bytes) -> None:
        """Write all of it, or find out that it cannot be."""
        rest = memoryview(data)
        while rest and self.refused is None:
            try:
                rest = rest[os.write(1, rest) :]
            except BlockingIOError:
                select.select([], [1], [])
            except OSError as error:
                self.refused = error.strerror or str(error)


def raw() -> Raw:
    """Standard output for bytes, after what was printed as text."""
    sys.stdout.flush()
    return Raw()


def outcome_line(word: str) -> None:
    """The last line of ``runledger step``."""
    _to_stderr(f"runledger: outcome={word}")
