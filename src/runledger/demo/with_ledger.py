"""The story with the ledger: a crash, the word, what is in doubt, what settles it, and on."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import Any

from runledger.demo.acts import ACTS, Kill, KillCompaction
from runledger.demo.commandline import CommandLine
from runledger.demo.compaction import kill_compaction_at
from runledger.demo.processes import DemoError
from runledger.demo.stage import Stage

__all__ = ["play_with_ledger"]

PROBED = {"push-branch": "git ls-remote", "publish-page": "GET"}  # and what each probe asks


@dataclass
class Counts:
    """What was counted on the way."""

    kills: dict[str, int] = field(default_factory=lambda: {"worker": 0, "compaction": 0})
    doubts: int = 0
    settled: dict[str, int] = field(default_factory=lambda: {"probe": 0, "resolve": 0})
    compaction_sights: list[str] = field(default_factory=list)


def play_with_ledger(stage: Stage) -> dict[str, Any]:
    """Play every act and finish the run; returns what was counted on the way."""
    tale = Tale(stage)
    tale.adopt()
    for number, act in enumerate(ACTS, start=1):
        if isinstance(act, Kill):
            tale.kill_worker(number, act)
        else:
            tale.kill_compaction(number, act)
    tale.finish()
    return vars(tale.counts) | {"workers": stage.started, "committed": tale.committed()}


class Tale:
    """One telling. ``unsettled`` is what the next worker's probes are to settle."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.story = stage.story
        self.counts = Counts()
        self.cli = CommandLine(stage.crew, stage.tree, stage.tree.parent / "bin")
        self.unsettled: list[dict[str, Any]] = []

    # --- the acts -------------------------------------------------------------------------------------------

    def adopt(self) -> None:
        code, out = self.cli.run("wake", expect=(78,))
        self.story.tell(
            "wake", f"{out.split()[0]}, exit {code}: a state file that nobody's journal stands behind"
        )
        self.cli.run("adopt")
        self.story.tell("adopt", f"{len(self.stage.plan.sprints)} sprints are ours now; a worker starts")

    def kill_worker(self, number: int, act: Kill) -> None:
        killed = self.stage.kill_at(act)
        self.counts.kills["worker"] += 1
        self.report_probes()
        self.story.title(f"{number} · {self.stage.plan.sprints[act.sprint].id} · {act.title}")
        self.story.tell("SIGKILL", f"worker {killed.pid}: {act.place}")
        if self.stage.workers:
            self.leave_it_to_the_other(act, killed)
        else:
            self.wake_and_settle()

    def kill_compaction(self, number: int, act: KillCompaction) -> None:
        before = self.committed()
        for sight in act.sights:
            for _ in range(
                3
            ):  # it may be over before it can be killed: then again, with something new to fold
                if kill_compaction_at(sight, self.stage.crew, self.stage.tree):
                    self.counts.compaction_sights.append(sight)
                    break
                self.cli.run("heartbeat")
        self.counts.kills["compaction"] = len(self.counts.compaction_sights)
        if not self.counts.compaction_sights:
            raise DemoError("every compaction was over before it could be killed")
        self.story.title(f"{number} · between two workers · inside a compaction")
        seen = ", ".join(self.counts.compaction_sights)
        self.story.tell("SIGKILL", f"{len(self.counts.compaction_sights)} compactions, at: {seen}")
        self.cli.run("verify")
        self.cli.run("compact")
        after = self.committed()
        if before != after:
            raise DemoError(f"{before} steps were committed before the compactions, {after} after")
        self.story.tell("settled", f"one more runs to its end; verify is clean, {after} committed as before")

    def finish(self) -> None:
        code = self.stage.play_out()
        if code != 0:
            raise DemoError(f"the last worker exited {code}: {self.stage.last_words()}")
        self.report_probes()
        self.cli.run("verify")
        code, out = self.cli.run("wake", expect=(77,))
        self.story.title(f"the end · {self.stage.started} workers, one run")
        self.story.tell("wake", " · ".join(out.splitlines()[:2]))

    # --- after a crash --------------------------------------------------------------------------------------

    def wake_and_settle(self) -> None:
        code, out = self.cli.run("wake", expect=(76,))
        report = self.cli.read("replay", expect=(1,))
        doubts = report["in_doubt"]
        self.counts.doubts += len(doubts)
        listed = ", ".join(f"{doubt['name']} {doubt['key']}, attempt {doubt['attempt']}" for doubt in doubts)
        self.story.tell("wake", f"{out.split()[0]}, exit {code} · replay: in doubt: {listed}")
        for doubt in doubts:
            if doubt["name"] in PROBED:
                self.unsettled.append(doubt)
            else:
                self.look_and_resolve(doubt, report["resolve"])

    def look_and_resolve(self, doubt: dict[str, Any], lines: list[str]) -> None:
        """What a person does: look outside, then run the printed line that fits."""
        sprint = next(sprint for sprint in self.stage.plan.sprints if sprint.id == doubt["key"])
        there = self.stage.world.count().mails.get(sprint.subject, 0)
        flag = "--happened" if there else "--not-happened"
        line = next(line for line in lines if f" {flag}" in line and doubt["key"] in line)
        self.story.tell("look", f"{there} message(s) in the maildir with this subject, so:")
        self.cli.paste(line)
        self.counts.settled["resolve"] += 1
        self.story.tell("settled", f"$ {line}")

    def leave_it_to_the_other(self, act: Kill, killed: subprocess.Popen[str]) -> None:
        other = self.stage.workers[0]
        waits = self.stage.last_words().count("waiting:")
        self.story.tell(
            "rival",
            f"worker {other.pid} was refused the held step {waits} times; now it finds {killed.pid} dead",
        )
        sprint = self.stage.plan.sprints[act.sprint]
        self.counts.doubts += 1
        self.unsettled.append({"name": "publish-page", "key": sprint.slug})

    def report_probes(self) -> None:
        """Say what became of the steps that were left to a probe, once a later worker has passed them."""
        for doubt in self.unsettled:
            known = self.cli.read("show", doubt["name"], doubt["key"])
            if known["status"] != "committed":
                raise DemoError(f"{doubt['name']} {doubt['key']} is {known['status']} after its probe")
            self.counts.settled["probe"] += 1
            again = (
                "it was there: recorded, not repeated" if known["attempt"] == 1 else "it was not: done once"
            )
            self.story.tell("settled", f"by the probe on re-entry ({PROBED[doubt['name']]}): {again}")
        self.unsettled.clear()

    def committed(self) -> int:
        return int(self.cli.read("status")["committed"])
