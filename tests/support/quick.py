"""The quick commands asked twice: from the brief, and from the ledger itself."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from runledger.cli import glance, quick

__all__ = ["ASKED", "Args", "agreed", "from_brief", "from_ledger", "kept_ready"]

ASKED = [(name, as_json) for name in ("wake", "status", "is-running") for as_json in (False, True)]


class Args:
    """What a quick command is called with."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self.json = as_json
        self.quiet = quiet


@contextmanager
def _printed(root: Path) -> Iterator[io.BytesIO]:
    """Standard output of a process at ``root``."""
    out = io.BytesIO()
    stream = io.TextIOWrapper(out, "utf-8", write_through=True)
    with mock.patch.object(sys, "stdout", stream), mock.patch.dict(os.environ, {"RUNLEDGER_DIR": str(root)}):
        yield out
        stream.detach()


def from_brief(root: Path, name: str, *, as_json: bool) -> tuple[int, bytes] | None:
    """Exit code and output; None where no brief holds."""
    with _printed(root) as out:
        code = glance.answered(name, as_json=as_json, quiet=False)
    if code is None:
        assert out.getvalue() == b""
        return None
    return code, out.getvalue()


def from_ledger(root: Path, name: str, *, as_json: bool) -> tuple[int, bytes]:
    """Exit code and output, as a process gives them that finds no brief."""
    command: Callable[[Args], int] = getattr(quick, name.replace("-", "_"))
    with _printed(root) as out:
        code = command(Args(as_json=as_json))
    return code, out.getvalue()


def agreed(root: Path, at: float) -> int:
    """Ask everything both ways at the time ``at``; how many answers were kept ready. Fails where two differ."""
    ready = 0
    with mock.patch("time.time", return_value=at):
        for name, as_json in ASKED:
            kept = from_brief(root, name, as_json=as_json)
            if kept is not None:
                assert kept == from_ledger(root, name, as_json=as_json), (name, as_json)
                ready += 1
    assert ready in {0, len(ASKED)}
    return ready


def kept_ready(root: Path) -> bool:
    """Whether a brief holds."""
    return from_brief(root, "wake", as_json=True) is not None
