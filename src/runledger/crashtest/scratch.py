"""The scratch copy: the user's directory as it is, without what is live in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from runledger.errors import UsageError
from runledger.local.layout import LEDGER, RUN, STATE

__all__ = ["Source"]

LARGEST = 1 << 30
"""Bytes that a copy may have: it is made anew for each kill."""


class Source:
    """The directory to copy, and where in it the program runs.

    Not copied: ``.run/ledger*`` and the state file (a copy begins without a run, as nobody can be killed in the middle
    of somebody's live one), sockets and pipes. Virtual environments and ``node_modules`` are linked, not copied.
    """

    def __init__(self, directory: Path, working: Path) -> None:
        self.directory = directory.resolve()
        working = working.resolve()
        below = working.is_relative_to(self.directory)
        self.working = working.relative_to(self.directory) if below else Path()

    def check(self) -> None:
        """Refuse what nobody means to copy again and again.

        Raises:
            UsageError: there is no such directory, or it is too large.
        """
        if not self.directory.is_dir():
            raise UsageError(f"{self.directory} is no directory")
        size = 0
        for folder, folders, files in os.walk(self.directory):
            folders[:] = [name for name in folders if not _linked(Path(folder, name))]
            for name in files:
                path = Path(folder, name)
                size += path.lstat().st_size if path.is_file() else 0
            if size > LARGEST:
                raise UsageError(
                    f"{self.directory} holds more than {LARGEST >> 20} MiB, and is copied for each kill",
                    hint="Name a smaller folder that the program can run in: --dir DIR",
                )

    def copy_to(self, copy: Path) -> None:
        """Make a copy at ``copy``, which must not exist."""
        shutil.copytree(self.directory, copy, symlinks=True, ignore=self._left_out, dirs_exist_ok=False)
        for folder, folders, files in os.walk(self.directory):
            here = Path(folder)
            for name in [*folders, *files]:
                path = here / name
                if _linked(path) or path.is_symlink():
                    self._relink(path, copy / path.relative_to(self.directory), copy)
            folders[:] = [name for name in folders if not _linked(here / name)]

    def _relink(self, path: Path, at: Path, copy: Path) -> None:
        """A link by an absolute name must not lead back into the original."""
        if not path.is_symlink():
            at.symlink_to(path, target_is_directory=True)
            return
        to = path.readlink()
        if to.is_absolute() and to.is_relative_to(self.directory) and at.is_symlink():
            at.unlink()
            at.symlink_to(copy / to.relative_to(self.directory))

    def _left_out(self, folder: str, names: list[str]) -> list[str]:
        here = Path(folder)
        live = here.name == RUN
        return [name for name in names if (live and _is_live(name)) or _is_special(here / name)]

    def mapped(self, word: str, copy: Path) -> str:
        """An absolute name in the original as the copy's; anything else as it is."""
        path = Path(os.path.normpath(word)) if word else Path()
        return str(copy / path.relative_to(self.directory)) if path.is_relative_to(self.directory) else word

    def environment(self, copy: Path, own: Mapping[str, str]) -> dict[str, str]:
        """``own`` for a program that runs in the copy."""
        told = {**own, "PWD": str(copy / self.working)}
        if own.get("PYTHONPATH"):
            paths = own["PYTHONPATH"].split(os.pathsep)
            told["PYTHONPATH"] = os.pathsep.join(self.mapped(path, copy) for path in paths)
        if own.get("RUNLEDGER_DIR"):
            there = self.mapped(str(Path(own["RUNLEDGER_DIR"]).resolve()), copy)
            told["RUNLEDGER_DIR"] = there if Path(there).is_relative_to(copy) else str(copy)
        return told

    def command(self, copy: Path, words: Sequence[str]) -> list[str]:
        """The command with names in the original turned into those of the copy."""
        return [self.mapped(word, copy) for word in words]


def _is_live(name: str) -> bool:
    return name == LEDGER or name.startswith((f"{LEDGER}.", STATE))


def _is_special(path: Path) -> bool:
    return _linked(path) or not (path.is_symlink() or path.is_file() or path.is_dir())


def _linked(path: Path) -> bool:
    if path.is_symlink():
        return False
    return (path.name == "node_modules" and path.is_dir()) or (path / "pyvenv.cfg").is_file()
