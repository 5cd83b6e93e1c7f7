"""The API reference, from what the package exports."""

from __future__ import annotations

import inspect

import runledger
from runledger.errors import LedgerError

__all__ = ["markdown"]


def markdown() -> str:
    """Every public name with its signature and docstring; the errors have a page of their own."""
    return "\n\n".join(_entry(name) for name in runledger.__all__ if not _is_error(getattr(runledger, name)))


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, LedgerError)


def _entry(name: str) -> str:
    value = getattr(runledger, name)
    if inspect.isclass(value):
        directive = f".. autoclass:: runledger.{name}\n   :members:"
    elif callable(value):
        directive = f".. autofunction:: runledger.{name}"
    else:
        directive = f".. autodata:: runledger.{name}"
    return f"## {name}\n\n```{{eval-rst}}\n{directive}\n```"
