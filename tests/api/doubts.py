"""Steps that somebody else holds, or held: real processes that stand in a body, and are killed there."""

from __future__ import annotations

from pathlib import Path

from runledger import Ledger
from tests.support.children import Child

__all__ = ["held", "killed", "left_in_doubt"]

HOLD = """
name, key = arguments
ledger = Ledger.open()
with ledger.step(name, key=key, inputs="theirs") as step:
    step.mark("came so far", page=7)
    say("inside")
    sys.stdin.readline()
    step.result = "theirs"
ledger.close()
say("committed")
"""


def held(root: Path, name: str = "work", key: str = "k1") -> Child:
    """A child whose body stands still; a line on its standard input lets it go on."""
    child = Child(HOLD, root, name, key)
    child.until("inside")
    return child


def killed(root: Path, name: str = "work", key: str = "k1") -> int:
    """The pid of a child that was killed in its body."""
    with held(root, name, key) as child:
        child.kill()
        return child.pid


def left_in_doubt(ledger: Ledger, name: str = "work", key: str | None = "k1", **rules: object) -> int:
    """The LSN of a step whose call is over, with an exception that proves nothing."""
    try:
        with ledger.step(name, key=key, **rules) as step:  # type: ignore[arg-type]  # whatever a test asks for
            raise ConnectionError("lost")
    except ConnectionError:
        return step.lsn
