"""System calls of a child between two marks, counted by strace: the same on every disk and under every load."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.support.children import ran

__all__ = ["Counted", "counted"]

_CALL = re.compile(r"^\d+ +(\w+)\((?:\d+<([^>]*)>)?.*?(?: = (\d+))?$")

PRELUDE = """
import os
import time
import runledger.local.state_keeper as state_keeper
from runledger import Ledger, Options

state_keeper.EVERY_S = 1e9  # the state file's look at each second is none of a step's costs
"""


class Counted(NamedTuple):
    """Calls by name, those on segments of the journal by name, and bytes of records and of filler written there."""

    calls: Counter[str]
    on_segments: Counter[str]
    records: int
    filler: int


def counted(root: Path, log: Path, *, setup: str, body: str, steps: int) -> Counted:
    """What the child did while ``body`` ran for each ``number`` below ``steps``; it ran a few times before."""
    lines = [
        PRELUDE,
        setup,
        "def work(number):",
        *(f"    {line}" for line in body.strip().splitlines()),
        "for number in range(-5, 0):",
        "    work(number)",
        "    time.sleep(0.02)",  # a state file that is so young is read again at each step
        "os.path.lexists('/mark')",
        f"for number in range({steps}):",
        "    work(number)",
        "os.path.lexists('/mark')",
        "ledger.close()",
    ]
    ran("\n".join(lines), root, wrap=["strace", "-f", "-qq", "-y", "-s", "8", "-o", str(log)])
    _, between, _ = log.read_text("utf-8", "replace").split('"/mark"')
    calls: Counter[str] = Counter()
    on_segments: Counter[str] = Counter()
    records = filler = 0
    for line in between.splitlines()[1:-1]:
        call = _CALL.match(line)
        if call is None:  # the second half of a call that another thread's call came between
            continue
        name, path, returned = call.groups()
        calls[name] += 1
        if path is not None and path.endswith(".jsonl"):
            on_segments[name] += 1
            if name == "pwrite64" and '"{' in line:
                records += int(returned)
            elif name == "pwrite64":
                filler += int(returned)
    return Counted(calls, on_segments, records, filler)
