"""Small ledgers of which everything is known, ways to spoil them, and what must hold of them afterwards."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runledger import Ledger, LedgerError, StepAborted, StepCommitted, StepInDoubt
from runledger.local.known import records
from runledger.options import Options
from runledger.repair import RepairReport, repair
from runledger.verify import Finding, verify
from runledger.view import Damage

__all__ = [
    "Known",
    "Made",
    "made",
    "names_the_place",
    "never_repeats",
    "quick_folder",
    "record_lines",
    "repaired",
]

Known = dict[tuple[str, str], tuple[str, Any]]
"""Of each step (key and scope): ``committed`` with its result, ``aborted``, or ``in doubt``."""


def quick_folder(otherwise: Path) -> Path:
    """Where syncs cost nothing: these tests are about bytes, not about their durability."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of this process's own is made in it
    if not os.access(memory, os.W_OK):
        return otherwise
    folder = memory / f"runledger-{os.getpid()}-{random.getrandbits(48):012x}"
    folder.mkdir(0o700)
    return folder


@dataclass(repr=False)
class Made:
    """A ledger at ``root`` that nothing is wrong with, and what it knows."""

    root: Path
    known: Known = field(default_factory=dict)

    @property
    def ledger(self) -> Path:
        return self.root / ".run" / "ledger"

    @property
    def state_file(self) -> Path:
        return self.root / ".run" / "sprint-plan-state.json"

    @property
    def segments(self) -> list[Path]:
        """The journal's files, in order."""
        return sorted(self.ledger.glob("*.jsonl"))

    def copy(self, to: Path) -> Made:
        """The same ledger elsewhere, to be spoiled; what was there goes."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.root, to)
        return Made(to, self.known)


def made(root: Path, *acts: str) -> Made:
    """A ledger that saw these acts: ``steps`` of every kind, ``compact``, ``halt``, ``resume``.

    Its segments are short. The state file covers the last step, as after any move of a run.
    """
    root.mkdir()
    result = Made(root)
    with Ledger.open(root, options=Options(segment_bytes=2500)) as ledger:
        ledger.start("p-1", sprints=["a", "b"])
        for number, act in enumerate(acts):
            if act == "steps":
                _steps(ledger, f"{number}", result.known)
            elif act == "compact":
                ledger.compact()
            elif act == "halt":
                ledger.halt("told to")
            else:
                ledger.resume()
        if "halt" not in acts or "resume" in acts:
            ledger.begin_sprint("a")
    return result


def _steps(ledger: Ledger, tag: str, known: Known) -> None:
    for key in "xyz":
        with ledger.step("pay", key=key + tag) as step:
            step.result = {"paid": key + tag}
        known[key + tag, "run"] = "committed", {"paid": key + tag}
    with ledger.step("pay", key=f"ever{tag}", scope="ledger") as step:
        step.result = tag
    known[f"ever{tag}", "ledger"] = "committed", tag
    try:
        with ledger.step("pay", key=f"not{tag}") as step:
            raise step.abort("nothing there")
    except StepAborted:
        known[f"not{tag}", "run"] = "aborted", None
    try:
        with ledger.step("pay", key=f"maybe{tag}") as step:
            step.mark("half")
            raise OSError("gone")
    except OSError:
        known[f"maybe{tag}", "run"] = "in doubt", None


def never_repeats(made: Made, *, all_known: bool = False) -> None:
    """Nothing that happened, or may have, happens again; nothing is told to be what it was not.

    ``all_known``: every step is also told to be what it was.
    """
    with Ledger.open(made.root) as ledger:
        for (key, scope), (was, result) in made.known.items():
            told = _entered(ledger, key, scope, result)
            allowed = {was} if all_known else {was, "refused", "in doubt"}
            assert told in allowed, f"{key} was {was} and is {told}"


def _entered(ledger: Ledger, key: str, scope: str, result: Any) -> str:
    try:
        with ledger.step("pay", key=key, scope=scope) as step:
            raise step.abort("this body must not do anything")
    except StepAborted:
        return "aborted"
    except StepCommitted as committed:
        return "committed" if committed.result == result else f"committed with {committed.result!r}"
    except StepInDoubt:
        return "in doubt"
    except LedgerError as error:
        return "refused" if error.exit_code in {74, 77, 78} else repr(error)


def record_lines(made: Made) -> list[bytes]:
    """The lines of the journal's records, as they are on the disk."""
    lines = [line for path in made.segments for line in path.read_bytes().split(b"\n")]
    return [line for line in lines if line.startswith(b'{"t":"') and b'"lsn":' in line[:40]]


def numbers(made: Made) -> tuple[list[int], list[Damage]]:
    """The LSNs that `log` shows, and the damage among them."""
    items = list(records(str(made.root), 0))
    return [x.lsn for x in items if not isinstance(x, Damage)], [x for x in items if isinstance(x, Damage)]


def repaired(made: Made) -> RepairReport:
    """Repair; what was known before must hold, and a second repair must find nothing to do."""
    covered = _covered(made)
    report = repair(made.root)
    for loss in report.lost:
        assert loss.first <= loss.last
    log, _ = numbers(made)
    assert log == sorted(set(log)), "the log's numbers ascend"
    assert repair(made.root).done == "nothing"
    never_repeats(made)
    fresh = [lsn for lsn in numbers(made)[0] if lsn not in log]
    assert not fresh or min(fresh) > max([covered, *log]), "a number was used again"
    return report


def _covered(made: Made) -> int:
    """The last number that the state file tells of."""
    try:
        return int(json.loads(made.state_file.read_text())["ledger"]["lsn"])
    except (OSError, ValueError, KeyError):
        return 0


def names_the_place(root: Path, path: Path, offset: int) -> Finding:
    """The finding of `verify` that names the file, and the line in which the offset is."""
    begin = path.read_bytes().rfind(b"\n", 0, offset) + 1
    findings = verify(root)
    here = [f for f in findings if Path(f.file) == path]
    assert here, f"{path.name}, offset {offset} (line {begin}): {findings}"
    return here[0]


def bits(path: Path, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Some bits of a file's content, offset and bit; filler at the end is none."""
    size = len(path.read_bytes().rstrip(b"\n\0")) + 1
    choice = random.Random(seed)
    for _ in range(count):
        yield choice.randrange(size), choice.randrange(8)


def flip(path: Path, offset: int, bit: int) -> None:
    """Flip one bit of a file."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 1 << bit
    path.write_bytes(data)
