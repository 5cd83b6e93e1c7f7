"""Syncs a step, counted by strace: the difference of two runs, so that opening and closing do not count.

The state file is among them: its activity is written once a second, however many steps there are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench.interleave import TOP

__all__ = ["syncs_of"]

CALLS = "fsync,fdatasync,msync,sync_file_range,syncfs,pwritev2"
FEW, MANY = 40, 440
_CALL = re.compile(r"\b(?:fsync|fdatasync|msync|sync_file_range|syncfs|pwritev2)\(")


def syncs_of(spec: str, scratch: Path, *, python: str = sys.executable) -> float | None:
    """Of a contender; None where strace is missing."""
    if shutil.which("strace") is None:
        return None
    counts = [
        _count(spec, scratch / f"syncs-{spec}-{steps}".replace(":", "-"), steps, python)
        for steps in (FEW, MANY)
    ]
    return (counts[1] - counts[0]) / (MANY - FEW)


def _count(spec: str, place: Path, steps: int, python: str) -> int:
    place.mkdir()
    log = place / "strace.log"
    subprocess.run(
        ["strace", "-f", "-qq", "-o", log, "-e", f"trace={CALLS}", python, "-m", "bench.worker", spec, place],
        check=True,
        capture_output=True,
        cwd=TOP,
        env={**os.environ, "PYTHONPATH": f"{TOP}{os.pathsep}{TOP / 'src'}"},
        input=f'{{"run": {steps}}}\n',
        text=True,
    )
    counted = len(_CALL.findall(log.read_text("utf-8", "replace")))
    shutil.rmtree(place)
    return counted
