"""As it is today: the same plan, the same kills, and a loop that does what its notes do not list."""

from __future__ import annotations

from typing import Any

from runledger.demo.acts import ACTS, Kill
from runledger.demo.processes import DemoError
from runledger.demo.stage import STARTS, Stage

__all__ = ["play_without_ledger"]


def play_without_ledger(stage: Stage) -> dict[str, Any]:
    """Play every act that has a worker to kill; returns what was counted on the way."""
    story = stage.story
    kills = 0
    for number, act in enumerate(ACTS, start=1):
        if not isinstance(act, Kill):
            story.title(f"{number} · no compaction to kill: the notes only grow")
            continue
        story.title(f"{number} · {stage.plan.sprints[act.sprint].id} · {act.title}")
        killed = stage.kill_at(act, stubborn=True)
        kills += 1
        story.tell("SIGKILL", f"worker {killed.pid}: {act.place}")
        story.tell("notes", f"do not list the {act.thing}: the next worker does it again")
    for _ in range(STARTS):
        if stage.play_out() == 0:
            return {"kills": {"worker": kills, "compaction": 0}, "workers": stage.started}
    raise DemoError(f"no worker came to the end; the last one said: {stage.last_words()}")
