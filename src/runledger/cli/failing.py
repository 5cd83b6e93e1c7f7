"""How a command says that it failed: a message and the next step, or one JSON object, on standard error."""

from __future__ import annotations

import os

from runledger.cli.output import complain, describe
from runledger.errors import DiskRefused, LedgerError

__all__ = ["as_ledger_error", "report"]

DEFECT = 70
"""``EX_SOFTWARE``: what nobody thought of."""


def report(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong, with RUNLEDGER_DEBUG set its traceback first; the exit code for it."""
    if os.environ.get("RUNLEDGER_DEBUG"):
        import traceback

        traceback.print_exception(error)
    failed = as_ledger_error(error)
    if as_json:
        describe(
            {
                "error": {
                    "slug": failed.slug,
                    "message": failed.message,
                    "hint": failed.hint,
                    "exit_code": failed.exit_code,
                }
            }
        )
    else:
        complain(failed.message, failed.hint)
    return failed.exit_code


class Defect(LedgerError):
    """Something that nobody thought of."""

    slug = "defect"
    exit_code = DEFECT
    default_hint = "This is a defect of runledger: please report it, with what RUNLEDGER_DEBUG=1 shows."


def as_ledger_error(error: Exception) -> LedgerError:
    """Any error as one of ours."""
    if isinstance(error, LedgerError):
        return error
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else "standard output or input: "
        return DiskRefused(f"{where}{error.strerror or error}", path=error.filename, errno=error.errno)
    return Defect(f"{type(error).__name__}: {error}")
