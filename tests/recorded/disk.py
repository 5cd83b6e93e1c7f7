"""A recording played on a disk in memory, up to any point, and what a power cut there may leave, as real folders."""

from __future__ import annotations

from pathlib import Path

from tests.crash.memory_directory import Folder, Node
from tests.crash.pages import Choice, Pages
from tests.recorded.recording import Operation

__all__ = ["Disk"]

MODES = {"sprint-plan-state.json": 0o644}


class Disk:
    """The folder of the recording, live and durable state apart, as the crash model has them."""

    def __init__(self) -> None:
        self.top = Folder()
        self._nodes = 0

    def play(self, operation: Operation) -> None:
        """Do it here."""
        kind, path = operation.kind, operation.path
        if kind in {"sync", "datasync"}:
            held = self._find(path)
            held.sync() if isinstance(held, Folder) else held.pages.sync(data_only=kind == "datasync")
        elif kind == "write":
            pages = self._file(path).pages
            pages.write(operation.data, operation.at if operation.at >= 0 else len(pages.live))
        elif kind == "truncate":
            self._file(path).pages.truncate(operation.at)
        elif kind != "say":
            self._name(operation)

    def _name(self, operation: Operation) -> None:
        folder, name = self._place(operation.path)
        if operation.kind == "mkdir":
            folder.link(name, Folder())
        elif operation.kind == "unlink":
            folder.unlink(name)
        elif operation.kind == "create":
            if name not in folder.names:
                self._nodes += 1
                folder.link(name, Node(self._nodes, 0o600, Pages()))
        else:
            to, new = self._place(operation.to)
            assert to is folder, f"a move between folders is not modelled: {operation}"
            folder.rename(name, new) if operation.kind == "rename" else folder.link(new, folder.names[name])

    def _place(self, path: str) -> tuple[Folder, str]:
        above, _, name = path.rpartition("/")
        folder = self._find(above)
        assert isinstance(folder, Folder)
        return folder, name

    def _find(self, path: str) -> Folder | Node:
        found: object = self.top
        for part in path.split("/") if path else ():
            assert isinstance(found, Folder)
            found = found.names[part]
        assert isinstance(found, Folder | Node)
        return found

    def _file(self, path: str) -> Node:
        found = self._find(path)
        assert isinstance(found, Node)
        return found

    def cut(self, choice: Choice, to: Path) -> None:
        """Make the folder ``to`` as it may be found after a power cut now."""
        _make(self.top.after_cut(choice), to)


def _make(folder: Folder, at: Path) -> None:
    at.mkdir(mode=0o700)
    for name, held in folder.names.items():
        if isinstance(held, Folder):
            _make(held, at / name)
        elif isinstance(held, Node) and not name.endswith("-shm"):  # SQLite's memory, which it never syncs
            path = at / name
            path.touch(MODES.get(name, 0o600))
            path.write_bytes(held.pages.live)
