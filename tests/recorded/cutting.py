"""The program's recording, and what is seen after power cuts at points of it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.crash.outcomes import outcome
from tests.crash.sweep import SHM
from tests.recorded.disk import Disk
from tests.recorded.facts import Facts
from tests.recorded.program import FIRST, SECOND
from tests.recorded.recording import Operation, operations, wrap
from tests.support.children import ran

__all__ = ["Cut", "Recording", "cut", "record"]


class Recording(NamedTuple):
    """What the program did and said, and where a cut leaves something new: behind each operation on the disk."""

    done: list[Operation]
    points: list[int]


class Cut(NamedTuple):
    """After how many operations, and what is left."""

    at: int
    left: str | int


def record(folder: Path) -> Recording:
    """Run the program below ``folder``: it is killed inside a step and started again."""
    root = folder / "root"
    root.mkdir()
    done: list[Operation] = []
    for number, (program, code) in enumerate([(FIRST, -9), (SECOND, 0)]):
        log = folder / f"trace{number}"
        ran(program, root, wrap=wrap(log), code=code)
        done += operations(log, root)
    return Recording(done, [at for at, operation in enumerate(done, 1) if operation.kind != "say"])


def cut(recording: Recording, cuts: list[Cut]) -> int:
    """Play the recording and look at what each cut leaves; how many folders were looked at.

    Raises:
        AssertionError, LedgerError: what is seen in one of them is not what may be.
    """
    disk, facts = Disk(), Facts()
    waiting = iter([*sorted(cuts, key=lambda each: each.at), None])
    following = next(waiting)
    with tempfile.TemporaryDirectory(prefix="runledger-cut-", dir=SHM) as folder:
        for at, operation in enumerate(recording.done, 1):
            if operation.kind == "say":
                facts.hear(operation.data.decode())
            disk.play(operation)
            while following is not None and following.at == at:
                root = Path(folder, "root")
                disk.cut(outcome(following.left), root)
                try:
                    facts.check(root)
                except BaseException as error:
                    error.add_note(f"{following}, after {recording.done[max(0, at - 8) : at]}")
                    raise
                shutil.rmtree(root)
                following = next(waiting)
    assert following is None, f"{following} was not reached"
    return len(cuts)
