"""The worked example of docs/explanation/granularity.md: this project's own unit tests, killed at random.

    python bench/killed_tests.py [--mean-time SECONDS] [--seed N] [--directory DIR]

One idempotent step, and in it a loop over the files of tests/unit at the pace of ``ledger.every``, each file in a
process of its own. All of it is killed as a Poisson process and started again until it is done. Prints what happened
when, what the model says of other boundaries, and what ``runledger advise`` says. Needs the group `test`; takes a few
minutes.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from runledger import Ledger
from runledger.granularity import expected_total, optimal_interval
from runledger.past import look

TESTS = Path(__file__).resolve().parents[1] / "tests" / "unit"
FIRST = 30.0
"""Seconds, what the loop is told to begin with."""


SAVE, RESTART = 0.005, 1.0
"""Seconds, what the expectations reckon with."""


def work(root: str) -> None:
    """The run: what it has saved is how long each file took."""
    files = sorted(path.name for path in TESTS.glob("test_*.py"))
    with Ledger.open(root) as ledger, ledger.step("unit-tests", key="all", idempotent=True) as step:
        pace = ledger.every(seconds=FIRST)
        took = pace.state or {}
        for file in pace.over(files, state=lambda: took):
            began = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", "-n", "0", str(TESTS / file)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=TESTS.parents[1])
            took[file] = time.monotonic() - began
        step.result = took


def drive(root: str, mean_time: float, seed: int) -> list[float]:
    """Start it, kill it, start it again; the moments of the kills, in seconds from the start."""
    draw = Random(seed).expovariate
    began = time.monotonic()
    due, kills = draw(1 / mean_time), []
    while True:
        command = [sys.executable, __file__, "--work", root]
        child = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        try:
            code = child.wait(max(0.0, began + due - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            kills.append(time.monotonic() - began)
            due += draw(1 / mean_time)
        else:
            if code:
                sys.exit("the tests fail, and no kill is to blame")
            return kills


def tell(root: str, mean_time: float, kills: list[float]) -> None:
    """What happened, from the journal."""
    past = look(root)
    start, end = past.span
    with Ledger.open(root) as ledger:
        known = ledger.lookup("unit-tests", "all")
    assert known is not None
    alone = sum(known.result.values())
    print(f"{len(known.result)} files, {alone:.0f} s of tests; {end - start:.0f} s with {len(kills)} deaths")
    moments = [(at, "killed") for at in kills]
    moments += [(at - start, "saved") for attempt in past.attempts for at in attempt.saved]
    moments += [(attempt.started - start, f"attempt {attempt.attempt} begins") for attempt in past.attempts]
    for at, what in sorted(moments):
        print(f"{at:7.1f} s  {what}")
    file = alone / len(known.result)
    costs = {"record_cost": SAVE, "mean_time_between_failures": mean_time, "restart_cost": RESTART}
    best = optimal_interval(**costs)
    print(f"With {1000 * SAVE:g} ms for a save and {RESTART:g} s for a restart,")
    for what, interval in (("no boundary inside", alone), ("each file", file), ("the best", best)):
        print(f"expected with {what} ({interval:.2f} s): {expected_total(alone, interval, **costs):.0f} s")


def main() -> None:
    """Do it in a scratch directory."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mean-time", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--directory", default=None)
    parser.add_argument("--work", metavar="ROOT", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work is not None:
        work(args.work)
        return
    with tempfile.TemporaryDirectory(dir=args.directory) as root:
        kills = drive(root, args.mean_time, args.seed)
        tell(root, args.mean_time, kills)
        sys.stdout.flush()
        subprocess.run([sys.executable, "-m", "runledger", "advise"], cwd=root, check=True)


if __name__ == "__main__":
    main()
