"""Where the files of one ledger are: the directories, opened as far as they exist, made when something is recorded."""

from __future__ import annotations

import os

from runledger.local.directory import Directory
from runledger.local.layout import LEDGER, OWNERS, RUN

__all__ = ["Files", "find_root"]

GITIGNORE = b"*\n"

SHARED_MODE = 0o755
"""``.run`` has other readers than us, as far as the umask lets them; only the ledger in it is private."""


def find_root(root: str | os.PathLike[str] | None) -> str:
    """The directory whose ``.run`` is meant: the argument, else RUNLEDGER_DIR, else the nearest ancestor of the working
    directory that has a ``.run``, else the working directory itself."""
    if root is not None:
        return os.path.abspath(root)
    told = os.environ.get("RUNLEDGER_DIR")
    if told:
        return os.path.abspath(told)
    here = at = os.getcwd()
    while True:
        if os.path.isdir(os.path.join(at, RUN)):
            return at
        parent = os.path.dirname(at)
        if parent == at:
            return here
        at = parent


class Files:
    """The directories of the ledger at ``root``; ``run``, ``ledger`` and ``owners`` are None while they are missing."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.run: Directory | None = None
        self.ledger: Directory | None = None
        self.owners: Directory | None = None
        self._names_synced = False

    def find(self) -> None:
        """Open what exists by now."""
        if self.run is None:
            top = Directory.at(self.root)
            if top is None:
                return
            try:
                self.run = top.child(RUN)
            finally:
                top.close()
        if self.run is not None and self.ledger is None:
            self.ledger = self.run.child(LEDGER)
        if self.ledger is not None and self.owners is None:
            self.owners = self.ledger.child(OWNERS)

    def make(self) -> None:
        """Have all of them. The names are synced by every process that relies on them, once: whoever made them may have
        died before its own sync."""
        self.find()
        if self._names_synced:
            return
        os.makedirs(self.root, exist_ok=True)
        top = Directory.at(self.root)
        assert top is not None
        try:
            self.run = self.run or top.child(RUN, create=True, mode=SHARED_MODE)
            assert self.run is not None
            top.sync()
        finally:
            top.close()
        self.ledger = self.ledger or self.run.child(LEDGER, create=True)
        assert self.ledger is not None
        self.owners = self.owners or self.ledger.child(OWNERS, create=True)
        self._hide_from_git(self.ledger)
        self.run.sync()
        self.ledger.sync()
        self._names_synced = True

    def _hide_from_git(self, ledger: Directory) -> None:
        if ledger.stat(".gitignore") is not None:
            return
        file = ledger.open(".gitignore", write=True, create=True)
        assert file is not None
        try:
            file.pwrite(GITIGNORE, 0)
        finally:
            file.close()

    def close(self) -> None:
        """Close the directories."""
        for directory in (self.owners, self.ledger, self.run):
            if directory is not None:
                directory.close()
        self.run = self.ledger = self.owners = None
