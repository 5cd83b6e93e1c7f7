"""The plain form of ``step``, read without argparse: to load it and to build a parser costs as much as an interpreter.

What is told here is what argparse tells of the same words. Whatever is not plain goes to argparse, which alone knows
the errors and the help: a word that begins with a dash and is none of ours, a value that is empty or begins with one,
more or fewer names than one, no command.
"""

from __future__ import annotations

__all__ = ["PlainStep", "read"]

_VALUES = {
    "--key": "key",
    "--inputs": "inputs",
    "--probe": "probe",
    "--aborts-on": "aborts_on",
    "--timeout": "timeout",
}
_FLAGS = {"--idempotent": "idempotent", "--json": "json"}


class PlainStep:
    """The arguments of ``step``, by the names that argparse gives them."""

    def __init__(self, command: list[str], *, as_json: bool) -> None:
        self.json = as_json
        self.name = ""
        self.key: str | None = None
        self.inputs: str | None = None
        self.idempotent = False
        self.probe: str | None = None
        self.aborts_on: str | None = None
        self.timeout: str | None = None
        self.command = command


def read(words: list[str], *, as_json: bool) -> PlainStep | None:
    """The arguments that the words after ``step`` say; None where argparse is to read them."""
    if "--" not in words:
        return None
    at = words.index("--")
    plain = PlainStep(words[at + 1 :], as_json=as_json)
    own = iter(words[:at])
    names = 0
    for word in own:
        if word in _FLAGS:
            setattr(plain, _FLAGS[word], True)
        elif word[:1] == "-":
            option, said, value = word.partition("=")
            value = value if said else next(own, "")
            if option not in _VALUES or not _is_plain(value):
                return None
            setattr(plain, _VALUES[option], value)
        else:
            names += 1
            plain.name = word
            if not _is_plain(word):
                return None
    return plain if names == 1 and plain.command else None


def _is_plain(word: str) -> bool:
    """Whether argparse takes it for a value whatever the option, and it is UTF-8."""
    if not word or word[0] == "-":
        return False
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True
