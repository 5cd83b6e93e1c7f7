"""The story with the ledger: a crash, the word, what is in doubt, what settles it, and on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runledger.demo.acts import ACTS, Kill, KillCompaction
from runledger.demo.commandline import CommandLine
from runledger.demo.compaction import kill_compaction_at
from runledger.demo.processes import DemoError
from runledger.demo.stage import Stage, Worker

__all__ = ["play_with_ledger"]

PROBED = {"push-branch": "git ls-remote", "publish-page": "GET"}  # and what each probe asks
TRIES = 3  # for a compaction that is over before it can be killed


@dataclass
class Counts:
    """What was counted on the way."""

    kills: dict[str, int] = field(default_factory=lambda: {"worker": 0, "compaction": 0})
    doubts: int = 0
    settled: dict[str, int] = field(default_factory=lambda: {"probe": 0, "resolve": 0})


def play_with_ledger(stage: Stage) -> dict[str, Any]:
    """Play every act and finish the run; returns what was counted on the way."""
    tale = Tale(stage)
    tale.adopt()
    for number, act in enumerate(ACTS, start=1):
        if isinstance(act, Kill):
            tale.kill_worker(number, act)
        else:
            tale.kill_compactions(number, act)
    tale.finish()
    return vars(tale.counts) | {"workers": stage.started, "committed": tale.committed()}


class Tale:
    """One telling. ``unsettled`` are the steps in doubt that the next worker's probes are to settle."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.story = stage.story
        self.counts = Counts()
        self.cli = CommandLine(stage.crew, stage.tree, stage.tree.parent / "bin")
        self.unsettled: list[tuple[str, str]] = []

    # --- the acts -------------------------------------------------------------------------------------------

    def adopt(self) -> None:
        code, out = self.cli.run("wake", expect=(78,))
        self.story.tell("wake", f"{out.split()[0]}, exit {code}: no journal stands behind this state file")
        self.cli.run("adopt")
        self.story.tell("adopt", f"{len(self.stage.plan.sprints)} sprints are ours now; a worker starts")

    def kill_worker(self, number: int, act: Kill) -> None:
        worker = self.stage.catch(act)
        self.report_probes()  # what was left to them has been passed by now
        self.story.title(f"{number} · {self.stage.plan.sprints[act.sprint].id} · {act.title}")
        rivals = [rival for rival in self.stage.workers if rival is not worker]
        for rival in rivals:
            self.refused(rival, worker)
        self.stage.kill(worker)
        self.counts.kills["worker"] += 1
        self.story.tell("SIGKILL", f"worker {worker.pid}: {act.place}")
        if rivals:
            self.leave_to_rival(act, worker)
        else:
            self.wake_and_settle()

    def kill_compactions(self, number: int, act: KillCompaction) -> None:
        before = self.committed()
        killed = [sight for sight in act.sights if self.kill_compaction(sight)]
        if not killed:
            raise DemoError("every compaction was over before it could be killed")
        self.counts.kills["compaction"] = len(killed)
        self.story.title(f"{number} · inside a compaction")
        self.story.tell("SIGKILL", f"{len(killed)} compactions, each once this is seen: {', '.join(killed)}")
        self.cli.run("verify")
        self.cli.run("compact")
        after = self.committed()
        if before != after:
            raise DemoError(f"{before} steps were committed before the compactions, {after} after")
        self.story.tell(
            "settled", f"the next one ran to its end; verify: clean; committed: {after}, as before"
        )

    def kill_compaction(self, sight: str) -> bool:
        for _ in range(TRIES):
            if kill_compaction_at(sight, self.stage.crew, self.stage.tree):
                return True
            self.cli.run("heartbeat")  # something new to fold
        return False

    def finish(self) -> None:
        worker = self.stage.play_out()
        if worker.process.returncode != 0:
            raise DemoError(worker.fate())
        self.report_probes()
        self.cli.run("verify")
        code, out = self.cli.run("wake", expect=(77,))
        self.story.title(f"the end · {self.stage.started} workers, one run")
        self.story.tell("wake", f"{out.split()[0]}, exit {code} · verify: clean")

    # --- after a crash --------------------------------------------------------------------------------------

    def wake_and_settle(self) -> None:
        code, out = self.cli.run("wake", expect=(76,))
        report = self.cli.read("replay", expect=(1,))
        doubts = report["in_doubt"]
        listed = ", ".join(f"{doubt['name']} {doubt['key']}, attempt {doubt['attempt']}" for doubt in doubts)
        self.story.tell("wake", f"{out.split()[0]}, exit {code} · replay, in doubt: {listed}")
        for doubt in doubts:
            self.counts.doubts += 1
            if doubt["name"] in PROBED:
                self.unsettled.append((doubt["name"], doubt["key"]))
            else:
                self.look_and_resolve(doubt["key"], report["resolve"])

    def look_and_resolve(self, key: str, lines: list[str]) -> None:
        """What a person does for a mail: look into the maildir, then run the printed line that fits."""
        sprint = next(sprint for sprint in self.stage.plan.sprints if sprint.id == key)
        there = self.stage.world.count().mails.get(sprint.subject, 0)
        flag = "--happened" if there else "--not-happened"
        line = next(line for line in lines if key in line and flag in line.split())
        self.story.tell("look", f"{there} such mail in the maildir, so the line that replay printed for it:")
        self.cli.paste(line)
        self.counts.settled["resolve"] += 1
        self.story.tell("settled", f"$ {line}")

    def refused(self, rival: Worker, holder: Worker) -> None:
        self.stage.hear("waiting:", rival)
        self.story.tell("rival", f"worker {rival.pid} wants the same page: refused, {holder.pid} is alive")

    def leave_to_rival(self, act: Kill, dead: Worker) -> None:
        self.counts.doubts += 1
        self.unsettled.append(("publish-page", self.stage.plan.sprints[act.sprint].slug))
        self.story.tell("rival", f"sees that {dead.pid} is gone, and asks the probe itself")

    def report_probes(self) -> None:
        for name, key in self.unsettled:
            known = self.cli.read("show", name, key)
            if known["status"] != "committed":
                raise DemoError(f"{name} {key} is {known['status']} after its probe")
            self.counts.settled["probe"] += 1
            found = (
                "it was there: recorded, not repeated" if known["attempt"] == 1 else "it was not: done now"
            )
            self.story.tell("settled", f"by the probe ({PROBED[name]}) on re-entry: {found}")
        self.unsettled.clear()

    def committed(self) -> int:
        return int(self.cli.read("status")["committed"])
