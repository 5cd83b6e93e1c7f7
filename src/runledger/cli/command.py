"""What a command is: a name, a line of help, its arguments, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["Command", "Text"]


class Command(NamedTuple):
    """One command.

    ``run`` gets the parsed arguments and returns the exit code; ``arguments`` adds them to a parser; ``more``
    is what the reference says beyond ``help``. ``takes_command``: the words after ``--`` are a command, which
    ``run`` finds under ``command``.
    """

    name: str
    help: str
    run: Callable[[Any], int]
    arguments: Callable[[ArgumentParser], None] = lambda _: None
    more: str | None = None
    takes_command: bool = False


class Text:
    """The help texts of arguments that several commands have."""

    REASON = "why, in words for whoever reads the log"
    RESULT = "the result to record, one JSON value; - reads it from standard input"
    NAME = "what kind of step it is"
    KEY = "the natural key: what makes doing it twice the same thing"
    INPUTS = "what the work is made from; fingerprinted, and refused if the same key comes with other inputs"
    IDEMPOTENT = "repeating it is harmless: an attempt in doubt is simply run again"
    TOKEN = "what `runledger begin` printed"  # noqa: S105 - a help text
