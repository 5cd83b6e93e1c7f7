"""As it is today: the same plan, the same kills, and a loop that does what its notes do not list."""

from __future__ import annotations

from typing import Any

from runledger.demo.acts import ACTS, Kill
from runledger.demo.stage import Stage
from runledger.demo.witness import AFTER

__all__ = ["play_without_ledger"]


def play_without_ledger(stage: Stage) -> dict[str, Any]:
    """Play every act that has a worker to kill; returns what was counted on the way."""
    story, kills = stage.story, 0
    for number, act in enumerate(ACTS, start=1):
        if not isinstance(act, Kill):
            story.title(f"{number} · no compaction to kill: the notes only grow")
            continue
        story.title(f"{number} · {stage.plan.sprints[act.sprint].id} · {act.title}")
        worker = stage.catch(act, stubborn=True)
        stage.kill(worker)
        kills += 1
        story.tell("SIGKILL", f"worker {worker.pid}: {act.place}")
        luck = "once more" if act.side == AFTER else "which is right, this time"
        story.tell("notes", f"do not list the {act.thing}: the next worker does it, {luck}")
    while stage.play_out().process.returncode != 0:
        pass  # today's supervisor: start it again until it is content
    return {"kills": {"worker": kills, "compaction": 0}, "workers": stage.started}
