"""Whether a signal's handler raised an exception: it then has nothing to do with the value that was in hand."""

from __future__ import annotations

import sys

__all__ = ["is_of_a_handler"]


def is_of_a_handler(error: BaseException) -> bool:
    """Whether the code of a handler that is set now is among what the exception came through."""
    signal = sys.modules.get("signal")
    if signal is None:  # nobody has set one that is written in Python
        return False
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    codes = {getattr(handler, "__code__", None) for handler in handlers} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False
