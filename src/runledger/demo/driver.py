"""The demo from its scratch directory to its verdict, which is counted in the outside world."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from runledger.demo.acts import traps
from runledger.demo.plan import STATE_FILE, Plan, shipped_state_file
from runledger.demo.processes import Crew, DemoError
from runledger.demo.stage import Stage
from runledger.demo.story import Story
from runledger.demo.with_ledger import play_with_ledger
from runledger.demo.without_ledger import play_without_ledger
from runledger.demo.witness import Witness
from runledger.demo.world import World

__all__ = ["play"]

SECONDS = 60.0  # the whole demo, on a slow machine


def play(*, without_ledger: bool, as_json: bool, keep: bool, out: TextIO) -> int:
    """See `runledger.demo.main`."""
    if os.name != "posix" or shutil.which("git") is None:
        print("runledger demo: needs git, and SIGKILL as POSIX has it", file=sys.stderr)
        return 1
    story = Story(out, silent=as_json)
    scratch = Path(tempfile.mkdtemp(prefix="runledger-demo-"))
    began = time.monotonic()
    try:
        with until_terminated():
            report = perform(scratch, story, without_ledger=without_ledger)
    except DemoError as failure:
        print(f"runledger demo: {failure}", file=sys.stderr)
        return 1
    finally:
        if keep:
            print(f"runledger demo: everything is in {scratch}", file=sys.stderr)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    report["seconds"] = round(time.monotonic() - began, 1)
    if as_json:
        print(json.dumps(report | {"scratch": str(scratch) if keep else None}, indent=2), file=out)
    else:
        conclude(story, report)
    return 0 if without_ledger or good(report) else 1


def perform(scratch: Path, story: Story, *, without_ledger: bool) -> dict[str, Any]:
    """Play one form in ``scratch``; every process and port of it is gone when this returns."""
    text = shipped_state_file()
    plan = Plan.of(text)
    with Crew(SECONDS) as crew, closing(Witness(traps(plan))) as witness:
        world = World(scratch, crew, state_file=text, witness=witness.port)
        form = "naive" if without_ledger else "worker"
        stage = Stage(crew, witness, world, plan, story, f"runledger.demo.{form}")
        story.title(f"runledger demo{' --without-ledger' if without_ledger else ''} · {plan.id}")
        story.tell(
            "plan",
            f"{len(plan.sprints)} sprints, each to write notes, push a branch, publish a page, send a mail",
        )
        story.tell(
            "outside", f"a web server on port {world.services.pages}, a git remote, a maildir, a working tree"
        )
        counts = play_without_ledger(stage) if without_ledger else play_with_ledger(stage)
        tally = world.count()
    return {
        "schema": "runledger.demo/1",
        "ledger": not without_ledger,
        "plan_id": plan.id,
        **counts,
        "effects": {
            kind: {"planned": len(asked), "there": sum(there.values())}
            for kind, (asked, there) in tally.effects(plan).items()
        },
        "duplicates": tally.duplicates(plan),
        "lost": tally.lost(plan),
        "state": None if without_ledger else json.loads((world.tree / STATE_FILE).read_bytes())["state"],
    }


def good(report: dict[str, Any]) -> bool:
    """Whether the outside holds each effect once and the state file says that the run is over."""
    return (report["duplicates"], report["lost"], report["state"]) == (0, 0, "JACKED_OUT")


def conclude(story: Story, report: dict[str, Any]) -> None:
    """The count of the outside world, and the verdict."""
    counted = " · ".join(
        f"{kind} {count['there']}/{count['planned']}" for kind, count in report["effects"].items()
    )
    story.tell("counted", f"outside, there/planned: {counted} · {report['seconds']} s")
    word = report["state"] or "no ledger"
    story.verdict(f"duplicates {report['duplicates']} · lost {report['lost']} · {word}", good=good(report))


@contextmanager
def until_terminated() -> Iterator[None]:
    """Make SIGTERM leave through the same cleaning up as Ctrl-C; outside the main thread nothing changes."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
