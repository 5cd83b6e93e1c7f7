"""What a child program has at hand: ``from tests.support.inside import *`` is its first line."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import runledger
from runledger import *  # noqa: F403  # a child program may name whatever a user may
from tests.support.outside import Outside

__all__ = [  # noqa: PLE0604 - the package lists its names at run time
    *runledger.__all__,
    "Outside",
    "Path",
    "arguments",
    "happen",
    "os",
    "root",
    "runledger",
    "say",
    "sys",
    "time",
]

root = Path(os.environ["RUNLEDGER_DIR"])
arguments = sys.argv[1:]
happen = Outside(root).happen


def say(*words: object) -> None:
    """One line to the test, by one write: what was said before a kill is never lost."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())
