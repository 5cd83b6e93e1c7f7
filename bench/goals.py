"""Measures every goal and prints a Markdown table: what was wanted, what came out, its spread, the verdict.

    python bench/goals.py [ROW…] [--quick] [--directory DIR] [--journal] [--peers PYTHON]

It wants a quiet machine. Goals of steps come from one interleaved run, others are interleaved each among
themselves. Start-up is measured with the interpreter that runs this, which should have runledger and nothing
else; ``--peers`` is one that has bench/requirements.txt too.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import start_goals, steps_goals, store_goals
from bench.filesystem import described, journaled
from bench.setting import Setting
from bench.table import Row, markdown

__all__ = ["main"]

PARTS = (steps_goals, store_goals, start_goals)
NAMES = [name for part in PARTS for name in part.GOALS]


def rows_of(setting: Setting, names: Sequence[str]) -> Iterator[Row]:
    """The rows of the goals that are named, in the order of the parts."""
    for part in PARTS:
        chosen = [name for name in names if name in part.GOALS]
        if chosen:
            began = time.monotonic()
            yield from part.measure(setting, chosen)
            print(f"{', '.join(chosen)}: {time.monotonic() - began:.0f} s", file=sys.stderr)


def main(words: Sequence[str]) -> int:
    """Returns 1 where a goal was not met."""
    parser = argparse.ArgumentParser(prog="bench/goals.py", description="Measure the goals.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"which ({', '.join(NAMES)}); else all")
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, smaller ledgers: to try it, not to tell it"
    )
    parser.add_argument("--directory", type=Path, help="on whose file system; else a temporary one")
    parser.add_argument(
        "--journal", action="store_true", help="on ext4 with a journal, on a loop device (root)"
    )
    parser.add_argument("--rounds", type=int, help="rounds of steps (24, quick 3)")
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has the peers")
    told = parser.parse_args(words)
    unknown = sorted(set(told.rows) - set(NAMES))
    if unknown:
        parser.error(f"there is no row {', '.join(unknown)}; there are {', '.join(NAMES)}")
    top = tempfile.TemporaryDirectory(prefix="runledger-goals-", dir=told.directory)
    with top as place, journaled(Path(place)) if told.journal else nullcontext(Path(place)) as scratch:
        print(f"`python bench/goals.py {' '.join(words)}`\n".replace(" `", "`"))
        print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}\n")
        for line in described(scratch):
            print(f"- {line}")
        setting = Setting(
            scratch, told.journal, told.quick, told.rounds or (3 if told.quick else 24), told.peers
        )
        rows = list(rows_of(setting, told.rows or NAMES))
    print(f"\n{markdown(rows)}")
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
