"""The table of errors, from the classes themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from _derive.table import table
from runledger import errors
from runledger.errors import LedgerError

__all__ = ["classes", "markdown"]


def classes() -> Iterator[type[LedgerError]]:
    """Every public error, in the order in which the module tells them."""
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, LedgerError) and value.__name__ in errors.__all__:
            yield value


def markdown() -> str:
    """One section for each exit code, one row for each error."""
    by_code: dict[int, list[type[LedgerError]]] = {}
    for error in classes():
        if error is not LedgerError:
            by_code.setdefault(error.exit_code, []).append(error)
    return "\n\n".join(_section(code, by_code[code]) for code in sorted(by_code))


def _section(code: int, members: list[type[LedgerError]]) -> str:
    rows = [(f"`{error.__name__}`", f"`{error.slug}`", _meaning(error)) for error in members]
    return f"### Exit code {code}\n\n{table(['Error', 'Slug', 'What happened'], rows)}"


def _meaning(error: type[LedgerError]) -> str:
    """The docstring's first paragraph, the parent unless that is the base of all, the usual next step."""
    said = " ".join((inspect.getdoc(error) or "").split("\n\n")[0].split()).replace("``", "`")
    (parent,) = error.__bases__
    kind = "" if parent is LedgerError else f" A kind of `{parent.__name__}`."
    hint = f" *{error.default_hint}*" if error.default_hint else ""
    return f"{said}{kind}{hint}"
