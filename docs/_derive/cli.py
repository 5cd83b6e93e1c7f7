"""The command-line reference, from the parser that reads the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from _derive.table import table
from runledger.cli.parser import build_parser

__all__ = ["commands", "markdown"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def commands(
    parser: argparse.ArgumentParser | None = None, said: str | None = None
) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Each command with its one-line help; one that only groups others comes as those others."""
    parser = build_parser() if parser is None else parser
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for group in groups:
        helps = {choice.dest: choice.help for choice in group._choices_actions}
        for name, child in group.choices.items():
            if helps.get(name) != argparse.SUPPRESS:
                yield from commands(child, helps.get(name))
    if not groups:
        yield parser, said or ""


def markdown() -> str:
    """One section for each command: what it does, how it is called, what it takes."""
    return "\n\n".join(_section(parser, said) for parser, said in commands())


def _section(parser: argparse.ArgumentParser, said: str) -> str:
    usage = " ".join(_COLOUR.sub("", parser.format_usage()).removeprefix("usage: ").split())
    parts = [f"## {parser.prog}", parser.description or said, f"```text\n{usage}\n```"]
    rows = [_row(a) for a in parser._actions if a.help != argparse.SUPPRESS and a.dest != "help"]
    if rows:
        parts.append(table(["Argument", "What it says"], rows))
    if parser.epilog:
        parts.append(parser.epilog)
    return "\n\n".join(parts)


def _row(action: argparse.Action) -> tuple[str, str]:
    said = action.metavar or "|".join(map(str, action.choices or ())) or action.dest.upper()
    value = " ".join(said) if isinstance(said, tuple) else said
    if action.option_strings:
        name = ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {value}")
    else:
        name = value
    return f"`{name}`", (action.help or "").replace("%%", "%")
