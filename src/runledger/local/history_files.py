"""The history's files: how the database is made, opened, and opened without leaving a trace.

SQLite loses all its locks on a database when its process closes any other descriptor of that file, as POSIX
locks do. So nothing here opens it but through SQLite, save to copy one that this process does not write.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import TYPE_CHECKING, NamedTuple

from runledger.errors import DiskRefused, LedgerBusy, LedgerError
from runledger.local.directory import LINKED, Directory, unusable
from runledger.local.history_rows import SCHEMA, corrupt

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "BUSY_S",
    "Copy",
    "Stamp",
    "check_schema",
    "connect",
    "copy",
    "create",
    "failures",
    "forget_writer",
    "is_written_here",
    "note_writer",
    "refuse_links",
    "settled_stamp",
    "stamp_of",
    "translated",
]

BUSY_S = 5.0
"""How long to wait for another process's transaction."""

LARGEST_ROW = 300 << 20
"""In bytes: the copy of a checkpoint is the longest thing in it. A size that is only claimed is not believed."""

_RACY_NS = 20_000_000
_COPIES = 20
_PREFIX, _SUFFIX = "history.", ".tmp"

# Primary result codes of SQLite, by the number of https://sqlite.org/rescode.html.
_BUSY = {5, 6, 15}  # BUSY, LOCKED, PROTOCOL
_REFUSED = {3, 7, 8, 9, 10, 13, 14, 22}  # PERM, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN, NOLFS
_CORRUPT_FS = 10 | 33 << 8
_ERRNO = {3: errno.EACCES, 7: errno.ENOMEM, 8: errno.EROFS, 10: errno.EIO, 13: errno.ENOSPC}


_writers: list[tuple[int, int]] = []
"""The inodes of the databases that are open for writing, once for each time: to append and to remove are one step each
for the interpreter, so that threads need no lock for it, which a fork might leave taken."""


class Stamp(NamedTuple):
    """What changes before anything in the database file does."""

    ino: int
    size: int
    mtime_ns: int
    wal: int


def failures() -> tuple[type[Exception], ...]:
    """What a statement raises; damage can also make the text of an error unreadable."""
    import sqlite3

    return sqlite3.Error, UnicodeError


def translated(path: str, error: Exception) -> LedgerError:
    """What a failure means to a caller; whatever is neither a lock nor the disk is damage."""
    code = getattr(error, "sqlite_errorcode", 1)
    if code & 0xFF in _BUSY:
        return LedgerBusy(f"{path}: another process has kept the history locked for {BUSY_S:g} s")
    if code & 0xFF in _REFUSED and code != _CORRUPT_FS:
        return DiskRefused(f"cannot use {path}: {error}", path=path, errno=_ERRNO.get(code & 0xFF))
    return corrupt(path, str(error))


def stamp_of(path: str) -> Stamp | None:
    """The stamp of the database at ``path``, None where there is none. No link is followed.

    Raises:
        DiskRefused: it, or a file that SQLite keeps beside it, is not a regular file.
    """
    found: list[os.stat_result | None] = []
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            here = os.lstat(path + suffix)
        except FileNotFoundError:
            found.append(None)
            continue
        except OSError as error:
            raise DiskRefused(
                f"cannot open {path + suffix}: {error.strerror}", path=path, errno=error.errno
            ) from error
        if not stat.S_ISREG(here.st_mode):
            raise unusable(path + suffix, "it is not a regular file", errno.EINVAL)
        found.append(here)
    main, wal = found[0], found[1]
    if main is None:
        return None
    return Stamp(main.st_ino, main.st_size, main.st_mtime_ns, wal.st_size if wal is not None else 0)


def refuse_links(path: str) -> None:
    """What SQLite would write into must have no second name: it may be anybody's file, anywhere.

    Raises:
        DiskRefused: one of the database's files has one.
    """
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            here = os.lstat(path + suffix)
        except OSError:
            continue
        if here.st_nlink > 1:
            raise unusable(path + suffix, LINKED, errno.EMLINK)


def settled_stamp(path: str) -> Stamp | None:
    """A stamp that a change within the same tick of the file system's clock cannot leave as it is."""
    stamp = stamp_of(path)
    if stamp is not None and abs(time.time_ns() - stamp.mtime_ns) < _RACY_NS:
        time.sleep(_RACY_NS / 1e9)
        stamp = stamp_of(path)
    return stamp


def note_writer(path: str) -> tuple[int, int]:
    """This process writes the database from now on; returns what to forget it by."""
    here = os.lstat(path)
    inode = (here.st_dev, here.st_ino)
    _writers.append(inode)
    return inode


def forget_writer(inode: tuple[int, int] | None) -> None:
    """One writer of this process less."""
    if inode is not None:
        _writers.remove(inode)


def is_written_here(path: str) -> bool:
    """Whether this process writes the database, so that it must not open the file by itself."""
    here = os.lstat(path)
    return (here.st_dev, here.st_ino) in _writers


def connect(path: str, mode: str) -> sqlite3.Connection:
    """A connection in autocommit, for one thread at a time; ``mode`` is the query of SQLite's file URI."""
    import sqlite3

    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(
        f"file://{name}?{mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=BUSY_S
    )
    connection.text_factory = bytes
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection


def check_schema(path: str, connection: sqlite3.Connection) -> None:
    """Before anything is asked or written: the tables are ours as they were made, and nothing else is there. A view in
    a table's place can answer without end, and a trigger can undo what is written.

    Raises:
        LedgerCorrupt: it is somebody else's database, or was changed by somebody.
    """
    made = {" ".join(one.split()) for one in SCHEMA.split(";") if one.strip()}
    found = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT 50").fetchall()
    for kind, name, sql in found:
        if kind == b"table" and name.startswith(b"sqlite_"):
            continue
        text = " ".join((sql or b"").decode("utf-8", "replace").split())
        if text not in made:
            raise corrupt(
                path, f"it has a {kind.decode()} that no history has ({name.decode('utf-8', 'replace')})"
            )
        made.remove(text)
    if made:
        raise corrupt(path, "one of its tables is missing")


def create(path: str, script: str, rows: list[tuple[int, bytes, int]]) -> None:
    """A new database under its name, whole or not at all; for the holder of the compaction lock alone."""
    folder, name = os.path.split(path)
    directory = Directory.at(folder)
    if directory is None:
        raise DiskRefused(f"cannot create {path}: its directory is missing", path=path, errno=None)
    try:
        for old in directory.names():
            if old.startswith(_PREFIX) and _SUFFIX in old:
                directory.unlink(old)  # of a compaction that was killed
        temporary = f"{_PREFIX}{os.urandom(8).hex()}{_SUFFIX}"
        file = directory.open(temporary, write=True, create=True, exclusive=True)
        assert file is not None
        try:
            try:
                connection = connect(f"{folder}/{temporary}", "mode=rw")
                try:
                    connection.executescript(script)
                    connection.executemany("INSERT INTO meta VALUES (?, ?, ?)", rows)
                    connection.execute("PRAGMA journal_mode=WAL")
                finally:
                    connection.close()
                file.sync()
            finally:
                file.close()
            directory.rename(temporary, name)
        except BaseException:
            directory.unlink(temporary)
            raise
        directory.sync()
    finally:
        directory.close()


class Copy:
    """A private copy of a database and its log, for a reader that may not recover the original."""

    def __init__(self, path: str) -> None:
        import shutil
        import tempfile

        self.folder = tempfile.mkdtemp(prefix="runledger-")
        self.path = f"{self.folder}/history.db"
        try:
            for suffix in ("", "-wal"):
                shutil.copyfile(path + suffix, self.path + suffix, follow_symlinks=False)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """The reader is done with it."""
        import shutil

        shutil.rmtree(self.folder, ignore_errors=True)


def copy(path: str) -> Copy | None:
    """A copy that no writer changed meanwhile; None where the log went away, so that none is needed."""
    for _ in range(_COPIES):
        before = settled_stamp(path)
        if before is None or not before.wal:
            return None
        try:
            made = Copy(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise DiskRefused(
                f"cannot copy {path} to read it: {error.strerror}", path=path, errno=error.errno
            ) from error
        if stamp_of(path) == before:
            return made
        made.remove()
    raise LedgerBusy(f"{path}: another process is writing the history; it could not be read meanwhile")
