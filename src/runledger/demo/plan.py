"""The plan: what a state file asks for, sprint by sprint, and so what the outside must hold in the end."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

__all__ = ["STATE_FILE", "Page", "Plan", "Sprint", "shipped_state_file"]

STATE_FILE = Path(".run", "sprint-plan-state.json")
NOTES_PER_SPRINT = 12


@dataclass(frozen=True)
class Page:
    """What is published: one page for each sprint."""

    slug: str
    title: str
    body: str


@dataclass(frozen=True)
class Sprint:
    """One sprint: some notes in the working tree, then a branch, a page and a mail."""

    id: str
    label: str

    @property
    def slug(self) -> str:
        """The name of its page and its folder; the id keeps it unique where labels are not."""
        words = re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")
        return f"{self.id}-{words}" if words and words != self.id.lower() else self.id

    @property
    def branch(self) -> str:
        """The branch that the sprint pushes."""
        return f"release/{self.id}"

    @property
    def subject(self) -> str:
        """Of its mail, and of its commit."""
        return f"{self.id} is out: {self.label}"

    @property
    def news(self) -> str:
        """The text of its mail."""
        return f"{self.label} is done; the branch is {self.branch}.\n"

    @property
    def page(self) -> Page:
        """The page that the sprint publishes."""
        return Page(self.slug, self.label, f"What {self.id} changed, in {NOTES_PER_SPRINT} notes.\n")

    @property
    def notes(self) -> dict[str, str]:
        """Path to text, both relative to the working tree."""
        return {
            f"site/{self.slug}/note-{number:02}.md": f"# {self.label}\n\nNote {number} of {self.id}.\n"
            for number in range(1, NOTES_PER_SPRINT + 1)
        }


@dataclass(frozen=True)
class Plan:
    """The sprints that a state file leaves to do, in its order."""

    id: str
    branch: str
    sprints: tuple[Sprint, ...]

    @classmethod
    def of(cls, text: str) -> Plan:
        """Read a state file's text; sprints that it lists as completed are not part of the plan."""
        document = json.loads(text)
        return cls(
            id=document["plan_id"],
            branch=document.get("branch", "main"),
            sprints=tuple(
                Sprint(entry["id"], entry.get("label", entry["id"]))
                for entry in document["sprints"]["list"]
                if entry["status"] != "completed"
            ),
        )

    @classmethod
    def at(cls, root: Path) -> Plan:
        """What the state file under ``root`` leaves to do now."""
        return cls.of((root / STATE_FILE).read_text(encoding="utf-8"))


def shipped_state_file() -> str:
    """A state file as an agent left it: RUNNING, four sprints to do, nothing of runledger in it."""
    return (files("runledger.demo") / "data" / "sprint-plan-state.json").read_text(encoding="utf-8")
