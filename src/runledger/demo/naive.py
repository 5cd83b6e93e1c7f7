"""Today's loop: ``python -m runledger.demo.naive TREE``. Do what the notes do not list, then note it.

The notes are honest and are written right after each step, which is one moment too late.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from runledger.demo.outside import Outside
from runledger.demo.plan import Plan

__all__ = ["NOTES", "work"]

NOTES = "notes.json"


def steps(outside: Outside, plan: Plan) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the steps of the worker, in its order."""
    for sprint in plan.sprints:
        for path, text in sprint.notes.items():
            yield f"write-note {path}", partial(outside.write, path, text)
        yield f"push-branch {sprint.branch}", partial(outside.push, sprint.branch, sprint.subject)
        yield f"publish-page {sprint.slug}", partial(outside.publish, sprint.page)
        yield f"send-mail {sprint.id}", partial(outside.send, sprint.subject, sprint.news)


def work(tree: Path) -> None:
    """Work through the plan of ``tree``."""
    notes = tree / NOTES
    done = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else []
    for name, effect in steps(Outside(tree), Plan.at(tree)):
        if name not in done:
            effect()
            done.append(name)
            notes.write_text(json.dumps(done), encoding="utf-8")


if __name__ == "__main__":
    work(Path(sys.argv[1]))
