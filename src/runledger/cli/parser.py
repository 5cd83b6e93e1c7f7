"""The parser of the command line; the reference in the docs is derived from it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NoReturn

from runledger.cli import FAMILIES
from runledger.cli.command import Command
from runledger.errors import UsageError
from runledger.version import VERSION

__all__ = ["Parser", "build_parser", "parse"]

ABOUT = "A write-ahead ledger for long runs: no effect is silently repeated, no acknowledged fact is lost."
AFTER = (
    "Results go to standard output, everything else to standard error. `runledger COMMAND --help` tells more."
)

GROUPS = {"sprint": "begin or complete a sprint", "bench": "measure this machine and this disk"}
"""What the first of two words is about."""


class Formatter(argparse.HelpFormatter):
    """Knows the width of the terminal beforehand: to find it out, argparse loads ``shutil`` for each command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class Parser(argparse.ArgumentParser):
    """An ``ArgumentParser`` whose errors are ours: 64, never 2, which agent runtimes read as "block"."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=Formatter, **options)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """``--`` as an option's own value, as in ``--key=--``: argparse of Python 3.11 drops it and gives a list."""
        if action.option_strings and action.nargs is None and arg_strings == ["--"]:
            return self._get_value(action, "--")
        return super()._get_values(action, arg_strings)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError."""
        usage = " ".join(self.format_usage().split())
        if message.endswith("expected one argument"):
            option = message.removeprefix("argument ").partition(":")[0].partition("/")[0]
            usage += f"\nA value that begins with a dash is written {option}=VALUE."
        raise UsageError(f"{self.prog}: {message}", hint=usage)


def commands() -> Iterator[Command]:
    """Every command, in the order of the table."""
    for name in FAMILIES:
        yield command_of(name)


def command_of(name: str) -> Command:
    """The command ``name``, from its module."""
    module = import_module(f"runledger.cli.{FAMILIES[name]}")
    found: Command = next(command for command in module.COMMANDS if command.name == name)
    return found


def build_parser() -> Parser:
    """The parser of every command, as a tree."""
    parser = Parser(prog="runledger", description=ABOUT, epilog=AFTER)
    parser.add_argument("--version", action="version", version=f"runledger {VERSION}", help="say the version")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object instead of text; also after COMMAND"
    )
    group = parser.add_subparsers(dest="command_name", metavar="COMMAND", required=True)
    homes: dict[str, Any] = {}
    for command in commands():
        word, _, second = command.name.partition(" ")
        if second and word not in homes:
            seconds = [name.partition(" ")[2] for name in FAMILIES if name.startswith(f"{word} ")]
            homes[word] = group.add_parser(word, help=GROUPS[word]).add_subparsers(
                dest="second_word", metavar="|".join(seconds), required=True
            )
        home = homes[word] if second else group
        child = home.add_parser(second or word, help=command.help, description=_about(command))
        _fill(child, command)
    return parser


def _about(command: Command) -> str:
    return f"{command.help[0].upper()}{command.help[1:]}. {command.more or ''}".strip()


def _fill(parser: argparse.ArgumentParser, command: Command) -> None:
    command.arguments(parser)
    if "--json" not in parser._option_string_actions:  # noqa: SLF001 - argparse tells it in no other way
        parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    if command.takes_command:
        parser.usage = parser.format_usage().removeprefix("usage: ").strip() + " -- CMD..."


def parse(words: list[str], *, as_json: bool) -> tuple[Command, argparse.Namespace]:
    """The command that ``words`` call, and its arguments.

    Raises:
        UsageError: they call none.
        SystemExit: a help text was asked for and printed.
    """
    name = _name(words)
    if name is None:
        return _no_command(words, as_json=as_json)
    command = command_of(name)
    parser = Parser(prog=f"runledger {name}", description=_about(command))
    _fill(parser, command)
    own, handed = words[len(name.split()) :], None
    if command.takes_command and "--" in own:
        at = own.index("--")
        own, handed = own[:at], own[at + 1 :]
    for word in own:
        if not word.isascii() and word.encode("utf-8", "replace") != word.encode("utf-8", "surrogatepass"):
            parser.error(f"{word!r} is no UTF-8")
    # Options between optional words, as in `resolve NAME --lsn N KEY`: argparse can do that, or ``--``.
    read = parser.parse_args if "--" in own else parser.parse_intermixed_args
    parsed = read(own, argparse.Namespace(json=as_json))
    if command.takes_command:
        if not handed:
            parser.error("the command to run is missing: it comes after --")
        parsed.command = handed
    return command, parsed


def _name(words: list[str]) -> str | None:
    for length in (2, 1):
        name = " ".join(words[:length])
        if len(words) >= length and name in FAMILIES:
            return name
    return None


def _no_command(words: list[str], *, as_json: bool) -> NoReturn:
    """Help, the version, or what is wrong."""
    if words[:1] == ["--version"] and as_json:
        print(f'{{"version":"{VERSION}"}}')
        raise SystemExit(0)
    parser = build_parser()
    if not words:
        raise UsageError("a command is missing", hint=parser.format_help().rstrip())
    if words == ["help"]:
        words = ["--help"]
    if not words[0].startswith("-") and words[0] not in GROUPS:
        from difflib import get_close_matches

        near = get_close_matches(words[0], FAMILIES)
        raise UsageError(
            f"there is no command {words[0]!r}",
            hint=f"Did you mean: {', '.join(near)}" if near else "To see them all: runledger --help",
        )
    parser.parse_args(words)
    raise UsageError("a command is missing", hint="To see them all: runledger --help")
