"""Work that is handed back instead of done: committing it now would commit what has not begun."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from runledger.errors import UsageError

__all__ = ["called", "refuse_deferred", "refuse_deferring"]

_MANAGERS = {
    contextlib.contextmanager(lambda: iter(())).__code__,
    contextlib.asynccontextmanager(lambda: aiter(())).__code__,  # type: ignore[arg-type]  # never called
}
"""What the two decorators make of whatever function."""

_DONE = frozenset({type(None), bool, int, float, str, bytes, list, dict, tuple, set})

_LATER = (
    GeneratorType,
    AsyncGeneratorType,
    CoroutineType,
    map,
    filter,
    contextlib._GeneratorContextManagerBase,  # noqa: SLF001  # what both kinds of it are
)


def called(function: Any) -> Any:
    """What a call of it runs: of an object that can be called, its class's method."""
    plain = (
        inspect.isroutine(function) or inspect.isclass(function) or isinstance(function, functools.partial)
    )
    return function if plain else type(function).__call__


def refuse_deferring(function: Any) -> None:
    """Refuse what is known to do nothing when it is called. Raises UsageError."""
    runs = called(function)
    if inspect.isgeneratorfunction(runs) or inspect.isasyncgenfunction(runs):
        raise UsageError("a generator cannot be a step: its body runs later, while it is iterated")
    if getattr(function, "__code__", None) in _MANAGERS:
        raise UsageError("a context manager cannot be a step: its body runs later, where it is entered")


def refuse_deferred(result: Any) -> None:
    """Refuse what a body returned that may be all of its work, still to be done. Raises UsageError."""
    if type(result) in _DONE:
        return
    futures = sys.modules.get("concurrent.futures")
    is_future = futures is not None and isinstance(result, futures.Future)
    if not is_future and not isinstance(result, _LATER) and not inspect.isawaitable(result):
        return
    if isinstance(result, CoroutineType):
        result.close()
    what = type(result).__name__
    raise UsageError(
        f"the step returned a {what}: what that does is done later or elsewhere, and nobody knows yet",
        hint="Let the function return when the work is done: decorate the async function itself, wait for the future, "
        "go through the generator.",
    )
