"""A digest of a function's code: a record tells which version made a result. Nothing is decided by it."""

from __future__ import annotations

from functools import partial
from types import CodeType
from typing import Any

__all__ = ["code_fingerprint"]

_WRAPPERS = 50


def code_fingerprint(function: Any) -> str:
    """16 hex digits: the same for the same code under the same Python, wherever its file lies.

    Of a wrapped function or a ``partial`` the innermost counts, of an object with ``__call__`` that method,
    of what has no Python code its name.
    """
    from hashlib import sha256

    inner = _innermost(function)
    code = getattr(inner, "__code__", None)
    told = _told(code) if isinstance(code, CodeType) else _name(inner)
    return sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _innermost(function: Any) -> Any:
    """The function below decorators, partials, bound methods and callable objects."""
    for _ in range(_WRAPPERS):
        inner = _below(function)
        if inner is None:
            break
        function = inner
    return function


def _below(function: Any) -> Any:
    if isinstance(function, partial):
        return function.func
    for attribute in ("__wrapped__", "__func__"):
        inner = getattr(function, attribute, None)
        if callable(inner):
            return inner
    method = type(function).__dict__.get("__call__")
    return method if hasattr(method, "__code__") and not hasattr(function, "__code__") else None


def _name(function: Any) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{getattr(named, '__module__', '')}:{getattr(named, '__qualname__', '')}"


def _told(constant: Any) -> str:
    """A constant of compiled code as text without addresses, places of files or the order of hashes."""
    if isinstance(constant, CodeType):
        return _told_code(constant)
    if isinstance(constant, tuple):
        return f"({','.join(map(_told, constant))})"
    if isinstance(constant, frozenset):
        return f"{{{','.join(sorted(map(_told, constant)))}}}"
    shown = hex(constant) if type(constant) is int else ascii(constant)  # digits of large numbers are limited
    return f"{type(constant).__name__}:{shown}"


def _told_code(code: CodeType) -> str:
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return f"code{_told((code.co_code, code.co_consts, shape, names))}"
