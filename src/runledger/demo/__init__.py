"""The main job: a real state file worked to its end by workers that are killed at the worst places.

Everything that the plan touches is real and outside of the ledger: a web server with a database, a git
repository, a maildir, a working tree. The verdict is counted there. ``worker`` is an example to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["main"]


def main(*, without_ledger: bool = False, as_json: bool = False, keep: bool = False, out: TextIO) -> int:
    """Play the demo and write its story, or one JSON object, to ``out``; nothing of it outlives the call.

    Args:
        without_ledger: the same plan under the same kills, by a loop that re-runs what its notes do not list.
        as_json: every count as one object instead of the story.
        keep: leave the scratch directory and say where it is.
        out: where it is told.

    Returns:
        0 if nothing was repeated, nothing lost and the run JACKED_OUT, else 1; without a ledger 0.
    """
    from runledger.demo.driver import play

    return play(without_ledger=without_ledger, as_json=as_json, keep=keep, out=out)
