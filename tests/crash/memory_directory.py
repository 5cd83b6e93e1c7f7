"""A directory and its files in memory: the interface of ``runledger.local.directory``, on a ``Computer``
without a disk.

Live and durable state are apart: bytes as ``Pages`` say; names are durable after their directory's sync, and before
that each change of a name may have reached the disk or not, in any order.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from runledger.errors import DiskRefused
from runledger.local.directory import DIRECTORY_MODE, FILE_MODE, Stat, refused
from tests.crash.pages import Choice, Pages
from tests.crash.sqlite_files import SqliteFile, is_sqlite

if TYPE_CHECKING:
    from tests.crash.computer import Computer, Process

__all__ = ["Folder", "MemoryDirectory", "MemoryFile", "Node"]


_FOLDERS = count(1 << 30)


class Node:
    """A file without its names."""

    def __init__(self, ino: int, mode: int, pages: Pages) -> None:
        self.ino = ino
        self.mode = mode
        self.pages = pages
        self.mtime_ns = 0
        self.locks: dict[MemoryFile, bool] = {}

    def after_cut(self, choice: Choice) -> Node:
        node = Node(self.ino, self.mode, self.pages.after_cut(choice))
        node.mtime_ns = self.mtime_ns
        return node


class Folder:
    """Names, as they are and as the last sync left them; ``changes`` are those in between, each to be made alone."""

    def __init__(self) -> None:
        self.ino = next(_FOLDERS)
        self.names: dict[str, Node | Folder | SqliteFile] = {}
        self.disk: dict[str, Node | Folder | SqliteFile] = {}
        self.changes: list[tuple[str, Callable[[dict[str, Node | Folder | SqliteFile]], object]]] = []

    def link(self, name: str, node: Node | Folder | SqliteFile) -> None:
        self._change(f"create {name}", lambda names: names.__setitem__(name, node))

    def unlink(self, name: str) -> None:
        self._change(f"unlink {name}", lambda names: names.pop(name, None))

    def rename(self, old: str, new: str) -> None:
        node = self.names[old]

        def rename(names: dict[str, Node | Folder | SqliteFile]) -> None:
            names.pop(old, None)
            names[new] = node

        self._change(f"rename {old} to {new}", rename)

    def _change(self, what: str, change: Callable[[dict[str, Node | Folder | SqliteFile]], object]) -> None:
        change(self.names)
        self.changes.append((what, change))

    def sync(self) -> None:
        self.disk = dict(self.names)
        self.changes.clear()
        for node in self.disk.values():
            if isinstance(node, SqliteFile):
                node.settle()

    def after_cut(self, choice: Choice) -> Folder:
        names = dict(self.disk)
        for what, change in self.changes:
            if choice.happened(what):
                change(names)
        folder = Folder()
        folder.names = {name: node.after_cut(choice) for name, node in sorted(names.items())}
        folder.disk = dict(folder.names)
        return folder


class MemoryFile:
    """``File``, in memory."""

    def __init__(self, computer: Computer, process: Process, node: Node | SqliteFile, path: str) -> None:
        self.computer = computer
        self.process = process
        self.node = node
        self.path = path
        self.fd = computer.opened(self)
        pages = node.pages
        self._errors = pages.errors if pages.error_was_seen else pages.errors - 1

    def pread(self, size: int, offset: int) -> bytes:
        self.computer.reach(self.process)
        return bytes(self.node.pages.live[offset : offset + size])

    def pwrite(self, data: bytes, offset: int) -> None:
        pages = self.node.pages
        growth = max(0, offset + len(data) - len(pages.live))
        stop = self.computer.call(self.process, "write", self.path, growth=growth, at=offset, size=len(data))
        self.node.mtime_ns = self.computer.clock.time_ns()
        if stop is None:
            pages.write(data, offset)
            return
        pages.write(data[: stop.done], offset)
        raise self._raised("write", stop.error)

    def begin_writeback(self, size: int, offset: int) -> None:
        """Advice: what it may bring to the disk early, any crash may bring there anyway."""

    def datasync(self) -> None:
        self.computer.interlude_before(self.path)
        self._sync(data_only=True)

    def sync(self) -> None:
        self._sync(data_only=False)

    def _sync(self, *, data_only: bool) -> None:
        pages = self.node.pages
        stop = self.computer.call(self.process, "sync", self.path)
        if stop is not None:
            error = stop.error
            if isinstance(error, OSError):
                pages.fail()
                self._heard()
            raise self._raised("sync", error)
        if self._errors < pages.errors:
            # The kernel tells each open file once of a write that was lost, whoever had asked for it.
            self._heard()
            raise self._raised("sync", OSError(errno.EIO, "Input/output error"))
        pages.sync(data_only=data_only)
        if isinstance(self.node, SqliteFile):
            self.node.settle()

    def _heard(self) -> None:
        self._errors = self.node.pages.errors
        self.node.pages.error_was_seen = True

    def truncate(self, size: int) -> None:
        stop = self.computer.call(self.process, "truncate", self.path)
        if stop is None or stop.done:
            self.node.pages.truncate(size)
            self.node.mtime_ns = self.computer.clock.time_ns()
        if stop is not None:
            raise self._raised("truncate", stop.error)

    def stat(self) -> Stat:
        self.computer.reach(self.process)
        return stat_of(self.node)

    def lock(self, *, shared: bool = False) -> bool:
        self.computer.reach(self.process)
        locks = self.node.locks
        if any(held is not self and not (shared and also) for held, also in locks.items()):
            return False
        locks[self] = shared
        return True

    def unlock(self) -> None:
        self.computer.reach(self.process)
        self.node.locks.pop(self, None)

    def close(self) -> None:
        if self.fd >= 0:
            self.computer.files.pop(self.fd, None)
            self.node.locks.pop(self, None)
            self.fd = -1

    def _raised(self, action: str, error: BaseException) -> BaseException:
        return refused(action, self.path, error) if isinstance(error, OSError) else error


class MemoryDirectory:
    """``Directory``, in memory; opened for one process."""

    def __init__(self, computer: Computer, process: Process, folder: Folder, path: str) -> None:
        self.computer = computer
        self.process = process
        self.folder = folder
        self.path = path
        self.fd = 0

    def child(self, name: str, *, create: bool = False, mode: int = DIRECTORY_MODE) -> MemoryDirectory | None:
        self.computer.reach(self.process)
        path = f"{self.path}/{name}"
        node = self.folder.names.get(name)
        if node is None:
            if not create:
                return None
            node = Folder()
            self._change("create", path, "mkdir", lambda: self.folder.link(name, node))
            self.sync()
        if not isinstance(node, Folder):
            raise refused("open", path, NotADirectoryError(errno.ENOTDIR, "Not a directory"))
        return MemoryDirectory(self.computer, self.process, node, path)

    def open(
        self,
        name: str,
        *,
        write: bool = False,
        create: bool = False,
        exclusive: bool = False,
        mode: int = FILE_MODE,
    ) -> MemoryFile | None:
        self.computer.reach(self.process)
        path = f"{self.path}/{name}"
        node = self.folder.names.get(name)
        if node is None and not create:
            return None
        if node is not None and create and exclusive:
            raise refused("open", path, FileExistsError(errno.EEXIST, "File exists"))
        if node is None:
            ino = self.computer.new_ino()
            node = SqliteFile(ino, path) if is_sqlite(name) else Node(ino, mode, Pages())
            node.mtime_ns = self.computer.clock.time_ns()
            self._change("open", path, "create", lambda: self.folder.link(name, node))
            if isinstance(node, SqliteFile):
                node.create()
        if isinstance(node, Folder):
            raise DiskRefused(f"cannot use {path}: it is not a regular file", path=path, errno=errno.EINVAL)
        return MemoryFile(self.computer, self.process, node, path)

    def read(self, name: str, limit: int) -> bytes | None:
        file = self.open(name)
        if file is None:
            return None
        data = file.pread(limit + 1, 0)
        file.close()
        if len(data) > limit:
            raise DiskRefused(f"cannot use {file.path}: it is larger than {limit} bytes", path=file.path)
        return data

    def stat(self, name: str) -> Stat | None:
        self.computer.reach(self.process)
        node = self.folder if name == "." else self.folder.names.get(name)
        if node is None:
            return None
        return Stat(node.ino, 0, 0, DIRECTORY_MODE, 0) if isinstance(node, Folder) else stat_of(node)

    def inode_at(self, below: str) -> int | None:
        self.computer.reach(self.process)
        node: Node | Folder | SqliteFile | None = self.folder
        for name in below.split("/") if below != "." else ():
            node = node.names.get(name) if isinstance(node, Folder) else None
        return None if node is None else node.ino

    def names(self) -> list[str]:
        self.computer.reach(self.process)
        return sorted(self.folder.names)

    def rename(self, old: str, new: str) -> None:
        what = f"{self.path}/{old} to {new}"
        if old not in self.folder.names:
            raise refused("rename", what, FileNotFoundError(errno.ENOENT, "No such file or directory"))
        node = self.folder.names[old]
        self._change("rename", what, "rename", lambda: self.folder.rename(old, new))
        if isinstance(node, SqliteFile):
            node.rename(f"{self.path}/{new}")

    def link(self, name: str, new: str) -> None:
        what = f"{self.path}/{name} to {new}"
        if name not in self.folder.names or new in self.folder.names:
            raise refused("link", what, FileExistsError(errno.EEXIST, "File exists"))
        self._change("link", what, "link", lambda: self.folder.link(new, self.folder.names[name]))

    def unlink(self, name: str) -> None:
        self.computer.reach(self.process)
        node = self.folder.names.get(name)
        if node is None:
            return
        self._change("remove", f"{self.path}/{name}", "unlink", lambda: self.folder.unlink(name))
        if isinstance(node, SqliteFile):
            node.remove()

    def _change(self, action: str, path: str, kind: str, change: Callable[[], None]) -> None:
        stop = self.computer.call(self.process, kind, path)
        if stop is None or stop.done:
            change()
        if stop is not None:
            raise refused(action, path, stop.error) if isinstance(stop.error, OSError) else stop.error

    def sync(self) -> None:
        stop = self.computer.call(self.process, "sync names", self.path)
        if stop is not None:
            raise refused("sync", self.path, stop.error) if isinstance(stop.error, OSError) else stop.error
        self.folder.sync()

    def close(self) -> None:
        self.fd = -1


def stat_of(node: Node | SqliteFile) -> Stat:
    """As ``File.stat`` tells."""
    return Stat(node.ino, len(node.pages.live), node.mtime_ns, node.mode, node.mtime_ns)
