"""Events of the library, through structlog; each is documented in docs/reference/log-events.md.

structlog is imported with the first event, since most runs have none worth a line. An application that configured
structlog gets the events its own way; where nobody did, warnings go to standard error, never to standard output, which
belongs to results. Values of results and inputs are never among the facts.
"""

from __future__ import annotations

from typing import Any

__all__ = ["event"]


def event(level: str, name: str, **facts: Any) -> None:
    """Log ``name`` with its facts at ``level`` ("debug", "info", "warning", "error")."""
    import structlog

    if structlog.is_configured():
        getattr(structlog.get_logger("runledger"), level)(name, **facts)
    elif level in ("warning", "error"):
        getattr(_to_stderr(structlog), level)(name, **facts)


def _to_stderr(structlog: Any) -> Any:
    import sys

    processors = [
        structlog.processors.add_log_level,
        structlog.processors.KeyValueRenderer(key_order=["level", "event"]),
    ]
    return structlog.wrap_logger(structlog.PrintLogger(file=sys.stderr), processors=processors)
