"""Exceptions that a signal's handler raised while we happened to run: they are its caller's, and prove nothing."""

from __future__ import annotations

import sys

from runledger.errors import DiskRefused

__all__ = ["is_from_outside"]


def is_from_outside(error: BaseException) -> bool:
    """Whether the error came through code that is neither ours nor Python's own: nothing that we call is, save what may
    stand for the disk."""
    if isinstance(error, DiskRefused):
        return False
    trace = error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if module == "__main__" or not (module == "runledger" or module in _KNOWN):
            return True
        trace = trace.tb_next
    return False


_KNOWN = sys.stdlib_module_names | {"msgspec", "portalocker", "structlog"}
