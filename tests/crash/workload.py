"""A fixed piece of work that goes through all of the engine: every kind of ending, two owners, rotation, compaction."""

from __future__ import annotations

from collections.abc import Callable

from tests.crash.trial import Trial

__all__ = ["SEGMENT", "WORK", "go_on", "work"]

SEGMENT = 1800

WORK: list[Callable[[Trial], None]] = [
    lambda t: t.open("a", segment_bytes=SEGMENT),
    lambda t: t.move("a", "start"),
    lambda t: t.step("a", "k1", marks=("half",)),
    lambda t: t.step("a", "k2", ends="raises"),
    lambda t: t.step("a", "k3", ends="large"),
    lambda t: t.open("b", segment_bytes=SEGMENT),
    lambda t: t.step("b", "k1"),
    lambda t: t.step("b", "k4", inside=lambda: t.step("a", "k4")),
    lambda t: t.step("a", "g1", scope="ledger"),
    lambda t: t.resolve("b", "k2", happened=True),
    lambda t: t.compact("a"),
    lambda t: t.step("b", "k5", ends="aborts"),
    lambda t: t.step("a", "k5", ends="unstorable"),
    lambda t: t.step("a", "k6", idempotent=True),
    lambda t: t.move("b", "halt"),
    lambda t: t.step("a", "k7"),
    lambda t: t.move("a", "resume"),
    lambda t: t.step("a", None),
    lambda t: t.step("a", "k7", ends="raises"),
    lambda t: t.step("a", "k7", probe="not happened"),
    lambda t: t.close("a"),
    lambda t: t.step("b", "k8"),
    lambda t: t.compact("b"),
    lambda t: t.move("b", "finish"),
    lambda t: t.move("b", "start"),
    lambda t: t.step("b", "k1"),
    lambda t: t.step("b", "g1", scope="ledger"),
    lambda t: t.close("b"),
]


def work(trial: Trial) -> None:
    """All of it, until the power goes or a process is killed."""
    for act in WORK:
        if trial.cuts or trial.kills:
            return
        act(trial)


def go_on(trial: Trial) -> None:
    """What a program does that is started again after a crash: it comes back to every key, and works on."""
    cuts, kills = trial.cuts, trial.kills
    acts: list[Callable[[Trial], None]] = [
        lambda t: t.open("c", segment_bytes=SEGMENT),
        lambda t: t.step("c", "k1"),
        lambda t: t.step("c", "k4", probe="not happened"),
        lambda t: t.resolve("c", "k2", happened=False),
        lambda t: t.step("c", "k9", marks=("half",)),
        lambda t: t.compact("c"),
        lambda t: t.step("c", "k3", ends="raises"),
        lambda t: t.close("c"),
    ]
    for act in acts:
        if trial.cuts > cuts or trial.kills > kills:
            return
        act(trial)
    trial.check()
