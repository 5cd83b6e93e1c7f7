"""Where the files of one ledger are: the directories, opened as far as they exist, made when something is recorded."""

from __future__ import annotations

import errno
import os

from runledger.local.directory import Directory, refused
from runledger.local.layout import LEDGER, OWNERS, REPAIRED, RUN

__all__ = ["Files", "find_root", "write_new"]

GITIGNORE = b"*\n"

SHARED_MODE = 0o755
"""``.run`` has other readers than us, as far as the umask lets them; only the ledger in it is private."""

_BELOW = f"{RUN}/{LEDGER}"
"""The ledger, from the root on."""


def find_root(root: str | os.PathLike[str] | None) -> str:
    """The directory whose ``.run`` is meant: the argument, else RUNLEDGER_DIR, else the nearest ancestor of the working
    directory that has a ``.run``, else the working directory itself."""
    if root is not None:
        return os.path.abspath(root)
    told = os.environ.get("RUNLEDGER_DIR")
    if told:
        return os.path.abspath(told)
    try:
        here = at = os.getcwd()
    except OSError as error:
        raise refused("find", "the working directory", error) from error
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
        self._top: Directory | None = None
        self._names_synced = False
        self._here: int | None = None

    def find(self) -> None:
        """Open what exists by now."""
        if self.run is None:
            top, self._top = self._top or Directory.at(self.root), None
            if top is None:
                return
            try:
                self.run = top.child(RUN)
            finally:
                if self.run is None:
                    top.close()
            self._top = top if self.run is not None else None
        if self.run is not None and self.ledger is None:
            self.ledger = self.run.child(LEDGER)
            if self.ledger is not None:
                self._here = self.ledger.inode_at(".")
            elif self.run.stat(REPAIRED) is not None:
                from runledger.errors import LedgerCorrupt  # not at the top: seldom needed

                raise LedgerCorrupt(
                    f"{self.run.path}: a repair was cut off before it put the ledger in its place",
                    hint="To finish it: runledger repair",
                    damage=[],
                )
        if self.ledger is not None and self.owners is None:
            self.owners = self.ledger.child(OWNERS)

    def make(self) -> None:
        """Have all of them. The names are synced by every process that relies on them, once: whoever made them may have
        died before its own sync."""
        self.find()
        if self._names_synced:
            return
        try:
            os.makedirs(self.root, exist_ok=True)
        except OSError as error:
            raise refused("create", self.root, error) from error
        top = self._top = self._top or Directory.at(self.root)
        assert top is not None
        self.run = self.run or top.child(RUN, create=True, mode=SHARED_MODE)
        assert self.run is not None
        top.sync()
        if self.ledger is None:
            self.ledger = self.run.child(LEDGER, create=True)
            assert self.ledger is not None
            self._here = self.ledger.inode_at(".")
        self.owners = self.owners or self.ledger.child(OWNERS, create=True)
        self._hide_from_git(self.ledger)
        self.run.sync()
        self.ledger.sync()
        self._names_synced = True

    def check_in_place(self) -> None:
        """Under the append lock: what is written into a folder that was deleted or moved away nobody finds again.

        Raises:
            DiskRefused: the name leads to another folder than the one that is open, or to none.
        """
        if self._top is None or self.ledger is None or self._here is None:
            return
        if self._top.inode_at(_BELOW) != self._here:
            from runledger.errors import DiskRefused

            raise DiskRefused(
                f"{self.ledger.path} was deleted or replaced while it was in use; nothing more is recorded there",
                hint="Open the ledger again; what it knows then is all there is.",
                path=self.ledger.path,
                errno=errno.ESTALE,
            )

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
        for directory in (self.owners, self.ledger, self.run, self._top):
            if directory is not None:
                directory.close()
        self.run = self.ledger = self.owners = self._top = None


def write_new(directory: Directory, name: str, data: bytes, mode: int) -> None:
    """A new file, whole and synced, or none; its name is durable after the directory's sync."""
    file = directory.open(name, write=True, create=True, exclusive=True, mode=mode)
    assert file is not None
    try:
        file.pwrite(data, 0)
        file.sync()
    except BaseException:
        directory.unlink(name)
        raise
    finally:
        file.close()
