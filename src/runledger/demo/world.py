"""The outside world of the demo, set up in a scratch directory, and what is counted in it.

    scratch/services.json       where everything is
    scratch/tree/               the working tree, a git clone; the state file is in its .run/
    scratch/world/pages.db      behind the web server
    scratch/world/remote.git    bare, with a reflog of what was pushed
    scratch/world/maildir/

Counting asks the database, git's reflog, the maildir and the tree, and never the ledger.
"""

from __future__ import annotations

import contextlib
import mailbox
import select
import shlex
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runledger.demo.git import git
from runledger.demo.outside import Services
from runledger.demo.plan import STATE_FILE, Plan
from runledger.demo.processes import Crew, DemoError
from runledger.demo.witness import AFTER, BEFORE

__all__ = ["Tally", "World"]


@dataclass(frozen=True)
class Tally:
    """How often each effect is there: by page slug, by branch, by subject; files by path with their text."""

    pages: Mapping[str, int]
    pushes: Mapping[str, int]
    mails: Mapping[str, int]
    files: Mapping[str, str]

    def effects(self, plan: Plan) -> dict[str, tuple[list[str], Mapping[str, int]]]:
        """For each kind, what the plan asks for once and what is there."""
        sprints = plan.sprints
        notes = {path: text for sprint in sprints for path, text in sprint.notes.items()}
        right = {path: int(text == notes.get(path)) for path, text in self.files.items()}
        return {
            "pages": ([sprint.slug for sprint in sprints], self.pages),
            "pushes": ([sprint.branch for sprint in sprints], self.pushes),
            "mails": ([sprint.subject for sprint in sprints], self.mails),
            "files": (list(notes), right),
        }

    def duplicates(self, plan: Plan) -> int:
        """Effects beyond the one that was asked for, and any that nobody asked for."""
        return sum(
            count - (name in asked and count > 0)
            for asked, there in self.effects(plan).values()
            for name, count in there.items()
        )

    def lost(self, plan: Plan) -> int:
        """Effects that were asked for and are not there."""
        return sum(not there.get(name) for asked, there in self.effects(plan).values() for name in asked)


class World:
    """A web server, a git remote, a maildir and a working tree in ``scratch``; the server is of ``crew``."""

    def __init__(self, scratch: Path, crew: Crew, *, state_file: str, witness: int = 0) -> None:
        self.tree = scratch / "tree"
        self.home = scratch / "world"
        self.home.mkdir()
        self._found_remote(witness)
        self._found_tree(state_file)
        maildir = self.home / "maildir"
        mailbox.Maildir(maildir, create=True)
        self.services = Services(
            pages=self._start_server(crew, witness),
            remote=str(self.home / "remote.git"),
            maildir=str(maildir),
            witness=witness,
        )
        self.services.save(self.tree)

    def count(self) -> Tally:
        """What is out there now."""
        return Tally(self._pages(), self._pushes(), self._mails(), self._files())

    # --- setting up -----------------------------------------------------------------------------------------

    def _found_remote(self, witness: int) -> None:
        remote = self.home / "remote.git"
        git("init", "--quiet", "--bare", "--template=", str(remote), at=self.home)
        git("config", "core.logAllRefUpdates", "true", at=remote)
        (remote / "hooks").mkdir()
        for name, side in (("pre-receive", BEFORE), ("post-receive", AFTER)):
            command = (sys.executable, "-P", "-m", "runledger.demo.hook", side, str(witness))
            hook = remote / "hooks" / name
            hook.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n", encoding="utf-8")
            hook.chmod(0o755)

    def _found_tree(self, state_file: str) -> None:
        state = self.tree / STATE_FILE
        state.parent.mkdir(parents=True)
        (self.tree / "site").mkdir()
        state.write_text(state_file, encoding="utf-8")
        git("init", "--quiet", "--template=", "-b", Plan.of(state_file).branch, at=self.tree)
        git("commit", "--quiet", "--allow-empty", "--message", "before the run", at=self.tree)

    def _start_server(self, crew: Crew, witness: int) -> int:
        process = crew.start(
            "runledger.demo.server", str(self.home / "pages.db"), str(witness),
            at=self.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], crew.left(10))
        line = process.stdout.readline() if ready else ""
        if not line:
            raise DemoError("the web server did not start")
        return int(line)

    # --- counting -------------------------------------------------------------------------------------------

    def _pages(self) -> Counter[str]:
        with contextlib.closing(sqlite3.connect(self.home / "pages.db")) as database:
            return Counter(dict(database.execute("SELECT slug, count(*) FROM publications GROUP BY slug")))

    def _pushes(self) -> Counter[str]:
        heads = self.home / "remote.git" / "logs" / "refs" / "heads"
        logs = [path for path in heads.rglob("*") if path.is_file()]
        return Counter({str(log.relative_to(heads)): len(log.read_bytes().splitlines()) for log in logs})

    def _mails(self) -> Counter[str]:
        return Counter(str(message["Subject"]) for message in mailbox.Maildir(self.services.maildir))

    def _files(self) -> dict[str, str]:
        notes = (self.tree / "site").rglob("*.md")
        return {str(note.relative_to(self.tree)): note.read_text(encoding="utf-8") for note in notes}
