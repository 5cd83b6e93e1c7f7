"""What the program said up to a moment, and what a ledger may therefore say of it after a power cut at that moment."""

from __future__ import annotations

import json
from pathlib import Path

import runledger
from runledger import Ledger
from runledger.verify import verify

__all__ = ["Facts"]


class Facts:
    """``allowed``: how each step may be found, the number that its result tells, None for a step never started.
    ``words`` may be the run's state; ``marks`` must be there, and those in ``perhaps`` may."""

    def __init__(self) -> None:
        self.allowed: dict[str, set[tuple[str, int] | None]] = {}
        self.words = {"ABSENT"}
        self.marks: dict[str, list[str]] = {}
        self.perhaps: dict[str, list[str]] = {}
        self.acknowledged = 0

    def hear(self, line: str) -> None:
        """One line of the program."""
        verb, key, *more = line.split()
        if verb in {"moves", "moved"}:
            self._moved(verb, key)
            return
        allowed = self.allowed.setdefault(key, {None})
        open_, done = ("in_doubt", 0), ("committed", int(more[0]) if more and more[0].isdigit() else 0)
        if verb == "intends":
            allowed |= {open_, ("aborted", 0)} if ("in_doubt", 0) in allowed else {open_}
            self.words |= {"RUNNING"} if self.words == {"ABSENT"} else set()
            self.perhaps[key] = []
        elif verb == "marks":
            self.perhaps[key].append(more[0])
        elif verb == "marked":
            self.allowed[key] = {open_}
            self.marks[key] = list(self.perhaps[key])
            self.acknowledged += 1
        elif verb == "effect":
            self.allowed[key] = {open_}
            self.acknowledged += 1
        elif verb == "aborts":
            self.allowed[key] = {open_, ("aborted", 0)}
        elif verb in {"commits", "resolves"}:
            allowed.add(done)
        else:
            self.allowed[key] = {done if verb == "committed" else ("aborted", 0)}
            self.acknowledged += 1

    def _moved(self, verb: str, word: str) -> None:
        self.words = {word} if verb == "moved" else self.words | {word}
        self.acknowledged += verb == "moved"

    def check(self, root: Path) -> None:
        """Look, go on, and look again.

        Raises:
            AssertionError, LedgerError: what is seen is not what may be.
        """
        before = runledger.replay(root)
        assert before.corruption == [], f"a crash reads as damage: {before.corruption}"
        assert before.in_flight == [], f"somebody is at work after a power cut: {before.in_flight}"
        assert before.state in self.words, f"the run is {before.state}, and may be {self.words}"
        self._check_snapshot(root)
        assert verify(root) == [], f"verify finds {verify(root)}"
        with Ledger.open(root) as ledger:
            found = {key: _found(ledger, key) for key in self.allowed}
            self._check_steps(ledger, found)
            word = before.state
            if word == "HALTED":
                ledger.resume()
            elif word == "JACKED_OUT":
                ledger.start("the next")
            with ledger.step("pay", key="after the cut") as step:
                step.result = 1
            if word in {"RUNNING", "HALTED"}:
                assert {key: _found(ledger, key) for key in self.allowed} == found, "recovery changed a fact"
        assert verify(root) == [], f"after the recovery, verify finds {verify(root)}"
        with Ledger.open(root) as ledger:
            assert _found(ledger, "after the cut") is not None

    def _check_steps(self, ledger: Ledger, found: dict[str, tuple[str, int] | None]) -> None:
        for key, allowed in self.allowed.items():
            assert found[key] in allowed, f"{key} is {found[key]}, and may be {allowed}"
            marks = self.marks.get(key, [])
            if marks and found[key] == ("in_doubt", 0) and allowed == {("in_doubt", 0)}:
                known = ledger.lookup("pay", key)
                seen = [mark.label for mark in known.marks] if known is not None else []
                assert seen[: len(marks)] == marks, f"{key} has the marks {seen}, {marks} were acknowledged"
                assert seen == self.perhaps[key][: len(seen)]

    def _check_snapshot(self, root: Path) -> None:
        path = root / ".run" / "sprint-plan-state.json"
        if path.exists():
            text = path.read_text("utf-8")
            word = json.loads(text)["state"]
            assert text.endswith("}\n")
            assert word in self.words, f"the state file says {word}, and may say {self.words}"
        else:
            assert "ABSENT" in self.words, f"no state file, though the run is {self.words}"


def _found(ledger: Ledger, key: str) -> tuple[str, int] | None:
    known = ledger.lookup("pay", key)
    if known is None:
        return None
    times = 0
    if known.status == "committed" and isinstance(known.result, str):
        times = len(known.result) // len(key)
        assert known.result == key * times, f"the result of {key} is {known.result[:80]!r}"
    return known.status, times
