"""The acts of the story: where workers are killed. With and without the ledger they are the same."""

from __future__ import annotations

from dataclasses import dataclass

from runledger.demo.plan import Plan
from runledger.demo.witness import AFTER, BEFORE, Moment

__all__ = ["ACTS", "Kill", "KillCompaction", "traps"]


@dataclass(frozen=True)
class Kill:
    """Kill one of ``workers`` right ``side`` its ``effect`` in the sprint with this number, from 0."""

    sprint: int
    side: str
    effect: str
    workers: int = 1

    def moment(self, plan: Plan) -> Moment:
        """Under the name that the outside knows the effect by."""
        sprint = plan.sprints[self.sprint]
        names = {"push": sprint.branch, "publish": sprint.slug, "mail": sprint.subject}
        return Moment(self.side, self.effect, names[self.effect])

    @property
    def thing(self) -> str:
        """What a person calls the effect."""
        return {"push": "branch", "publish": "page", "mail": "mail"}[self.effect]

    @property
    def title(self) -> str:
        """What makes this act different."""
        return "two workers compete" if self.workers > 1 else f"{self.side} the {self.thing}"

    @property
    def place(self) -> str:
        """Where the kill fell, for the story."""
        if self.side == AFTER:
            return f"the {self.thing} is out, nothing has recorded it"
        return f"the {self.thing} was announced, and did not go out"


@dataclass(frozen=True)
class KillCompaction:
    """Kill ``runledger compact`` inside its work, at each of these sights."""

    sights: tuple[str, ...]


ACTS: tuple[Kill | KillCompaction, ...] = (
    Kill(0, AFTER, "publish"),
    Kill(1, AFTER, "push"),
    Kill(1, AFTER, "mail"),
    KillCompaction(("segment sealed", "history growing", "checkpoint replaced", "segment dropped")),
    Kill(2, AFTER, "publish", workers=2),
    Kill(2, BEFORE, "mail"),
    Kill(3, BEFORE, "push"),
)


def traps(plan: Plan) -> list[Moment]:
    """The moments at which the witness holds the outside."""
    return [act.moment(plan) for act in ACTS if isinstance(act, Kill)]
