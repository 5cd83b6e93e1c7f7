"""Faults from outside: patched calls, refused system calls, read-only mounts, permissions that bind root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.support.children import ran

__all__ = [
    "no_override",
    "nth",
    "patched",
    "read_only",
    "refusing",
    "requires_no_override",
    "requires_read_only",
    "requires_strace",
    "traced",
]

CALLS = "pwrite64,fdatasync,fsync,renameat,renameat2,ftruncate,unlinkat,write"


@cache
def _works(*words: str) -> bool:
    """Whether a tool is there and may do what it is asked to."""
    if shutil.which(words[0]) is None:
        return False
    return subprocess.run([*words, "true"], check=False, capture_output=True, timeout=30).returncode == 0


requires_strace = pytest.mark.skipif(
    not _works("strace", "-qq", "-o", os.devnull), reason="strace is missing or may not trace"
)
requires_read_only = pytest.mark.skipif(
    not _works("unshare", "--mount"), reason="a mount namespace needs root and `unshare`"
)


def patched(folder: Path, text: str) -> dict[str, str]:
    """The environment of a child whose Python runs ``text`` first, as its sitecustomize."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(textwrap.dedent(text), "utf-8")
    return {"PYTHONPATH": str(folder)}


def traced(log: Path, *expressions: str, calls: str = CALLS) -> list[str]:
    """What to put before a command so that its calls are written to ``log``.

    Expressions bring faults, such as ``inject=fdatasync:error=EIO:when=3``.
    """
    more = [word for expression in expressions for word in ("-e", expression)]
    return ["strace", "-f", "-qq", "-s", "400", "-o", str(log), "-e", f"trace={calls}", *more]


def nth(program: str, root: Path, log: Path, call: str, pattern: str) -> int:
    """The number, from 1, of the call that matches ``pattern`` when the program runs undisturbed.

    Run it on a root of its own: it leaves its records there.
    """
    ran(program, root, wrap=traced(log, calls=call))
    calls = [line for line in log.read_text("utf-8", "replace").splitlines() if f" {call}(" in line]
    found = [number for number, line in enumerate(calls, 1) if re.search(pattern, line)]
    assert found, calls
    return found[0]


def refusing(log: Path, call: str, number: str, error: str = "EIO") -> list[str]:
    """Trace, and refuse the call of that number; ``2+`` refuses all from the second on."""
    return traced(log, f"inject={call}:error={error}:when={number}")


def read_only(folder: Path) -> list[str]:
    """What to put before a command that sees ``folder`` on a read-only bind mount, which ends with it."""
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, str(folder)]


def no_override() -> Sequence[str]:
    """What to put before a command for which permissions hold; for root as it is, a mode proves nothing."""
    if os.geteuid() != 0:
        return ()
    capabilities = "-dac_override,-dac_read_search,-fowner"
    return ("setpriv", f"--bounding-set={capabilities}", f"--inh-caps={capabilities}")


requires_no_override = pytest.mark.skipif(
    os.geteuid() == 0 and not _works(*no_override()), reason="root without `setpriv` passes every permission"
)
