"""JSON that was given on the command line or on standard input."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from runledger.errors import UsageError
from runledger.options import Options

__all__ = ["json_value"]


def json_value(text: str, what: str) -> Any:
    """The value of one JSON text, strictly read; ``-`` reads standard input. ``what`` names the option.

    Raises:
        UsageError: it is no JSON value, or larger than a result may be.
    """
    data = _from_stdin(what) if text == "-" else text.encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{what} is not one JSON value: {error}", hint="""A text is written with its quotes: '"…"'"""
        ) from None


def _from_stdin(what: str) -> bytes:
    limit = Options().result_bytes
    data = sys.stdin.buffer.read(limit + 1)
    if len(data) > limit:
        raise UsageError(f"{what}: standard input has more than {limit} bytes")
    return data
