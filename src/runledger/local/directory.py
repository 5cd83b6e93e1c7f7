"""The only module that touches the operating system's files; a crash model replaces it whole.

Everything is opened relative to a held directory descriptor and never through a symbolic link, and nothing is written
that has a second name, so that a link planted in ``.run`` cannot lead a write outside. Every refusal of the operating
system becomes a ``DiskRefused`` that names the path. Names here are single path components.

What is created is its owner's alone, whatever the umask; in a folder that is set up for a group (its set-group-ID bit
is set, and the group may write) it is the group's too.
"""

from __future__ import annotations

import errno as _errno
import fcntl
import os
import stat as _stat
import time

from runledger.local.layout import APPEND_LOCK, COMPACT_LOCK

TYPE_CHECKING = False  # as ``typing`` has it: that module alone costs as much as a bare interpreter
if TYPE_CHECKING:
    from typing import Self

    from runledger.errors import DiskRefused

__all__ = ["LINKED", "LOCKS_WANTED", "Directory", "File", "Stat", "is_misshapen", "refused", "unusable"]

_advise = getattr(os, "posix_fadvise", None)

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600

LINKED = "it has a second name (a hard link), under which a write would show too"

LOCKS_WANTED = "Keep .run/ on a local file system with working flock()."
"""The next step where ``flock`` does not work."""

_NEVER_WRITTEN = (APPEND_LOCK, COMPACT_LOCK)
"""Only locked; and to put another file in the place of one that somebody holds would let two in."""

_LOCK, _SHARED_LOCK = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_SH | fcntl.LOCK_NB

_SHARED = _stat.S_ISGID | _stat.S_IWGRP

RENAME_PAUSES_S = (0.01, 0.03, 0.1, 0.3)


class Stat(tuple[int, int, int, int, int]):
    """What tells one version of a file from the next."""

    # A named tuple by hand, since ``typing`` costs the quick commands as much as a bare interpreter.
    __slots__ = ()

    def __new__(cls, ino: int, size: int, mtime_ns: int, mode: int, ctime_ns: int) -> Self:
        """Sizes are in bytes, times in nanoseconds of the file system's clock. Whoever sets ``mtime_ns`` back, as
        copying tools do, moves ``ctime_ns``."""
        return tuple.__new__(cls, (ino, size, mtime_ns, mode, ctime_ns))

    @property
    def ino(self) -> int:
        """The inode: another one under the name is another file."""
        return self[0]

    @property
    def size(self) -> int:
        """Its length."""
        return self[1]

    @property
    def mtime_ns(self) -> int:
        """When it was last written."""
        return self[2]

    @property
    def mode(self) -> int:
        """Its permissions."""
        return self[3]

    @property
    def ctime_ns(self) -> int:
        """When anything about it last changed."""
        return self[4]


def _stamp(s: os.stat_result) -> Stat:
    # Made at each look at the state file: the class's own constructor takes four times as long.
    return _new(Stat, (s.st_ino, s.st_size, s.st_mtime_ns, s.st_mode & 0o777, s.st_ctime_ns))


_new = tuple.__new__


def refused(action: str, path: str, error: OSError) -> DiskRefused:
    """The one translation of an ``OSError``: which path, what was tried, what the system said. One without a number is
    none of the system's, but raised by a signal's handler that ran meanwhile: it goes on to its caller as it is."""
    if error.errno is None:
        raise error
    from runledger.errors import DiskRefused  # not at the top: the quick commands seldom need an error

    reason = error.strerror or str(error)
    if error.errno == _errno.ELOOP:
        reason = "it is a symbolic link, and none is followed here"
    return DiskRefused(
        f"cannot {action} {path}: {reason}", hint=_next_step(path, error.errno), path=path, errno=error.errno
    )


def _next_step(path: str, number: int | None) -> str | None:
    """What a person does about a thing that is not as it must be; None where the system may say yes next time."""
    if number not in _MISSHAPEN | {_errno.EACCES, _errno.EPERM, _errno.EMLINK}:
        return None
    from runledger.text import shell_quote

    here = shell_quote(path)
    if number == _errno.EMLINK:
        copied = f"cp -p {here} {here}.own && mv {here}.own {here}"
        return f"With nobody at work on the ledger, give it a content of its own: {copied}"
    if number == _errno.ELOOP:
        return f"If it leads to what belongs here, put that in its place, else move it away. To see: ls -ld {here}"
    if number in _MISSHAPEN:
        return f"runledger did not make that. Look at it, and move it away: ls -ld {here}; mv {here} {here}.found"
    return f"A ledger is private, unless its folder is set up for a group. To see whose it is: ls -ld {here}"


_MISSHAPEN = {
    _errno.ELOOP,
    _errno.EINVAL,
    _errno.EISDIR,
    _errno.ENOTDIR,
    _errno.ENXIO,
    _errno.ENODEV,
    _errno.EFBIG,
}


def is_misshapen(error: DiskRefused) -> bool:
    """Whether something else stands in a file's place: a link, a directory, a pipe; not a refusal that may pass."""
    return error.__dict__.get("errno") in _MISSHAPEN


def _share(fd: int, path: str, bits: int) -> None:
    """Let the group have what this user owns; what another one owns, they have shared."""
    mine = os.fstat(fd)
    if mine.st_uid != os.geteuid() or mine.st_mode & bits == bits:
        return
    try:
        os.fchmod(fd, _stat.S_IMODE(mine.st_mode) | bits)
    except OSError as error:
        os.close(fd)
        raise refused("share", path, error) from error


def unusable(path: str, reason: str, number: int) -> DiskRefused:
    """Of what is there and is not as it must be."""
    from runledger.errors import DiskRefused

    return DiskRefused(f"cannot use {path}: {reason}", hint=_next_step(path, number), path=path, errno=number)


def _is_component(name: str) -> bool:
    """Whether a name, which may come out of a record, means nothing but an entry of the directory."""
    return "/" not in name and "\0" not in name and name not in {"", "..", "."}


class File:
    """An open file of a ledger. Offsets and sizes are in bytes."""

    __slots__ = ("fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    def pread(self, size: int, offset: int) -> bytes:
        """Up to ``size`` bytes; fewer only at the end of the file."""
        try:
            return os.pread(self.fd, size, offset)
        except OSError as error:
            raise refused("read", self.path, error) from error

    def pwrite(self, data: bytes, offset: int) -> None:
        """Write all of ``data``; a short write goes on until the system says why."""
        try:
            done = os.pwrite(self.fd, data, offset)
            while done < len(data):
                done += os.pwrite(self.fd, data[done:], offset + done)
        except OSError as error:
            raise refused("write", self.path, error) from error

    def begin_writeback(self, size: int, offset: int) -> None:
        """Have the disk begin on what was written there, without waiting: a sync later on finds it under way, so that
        work in between costs nothing. It is advice, and promises nothing."""
        if _advise is not None:
            try:
                _advise(self.fd, offset, size, os.POSIX_FADV_DONTNEED)
            except OSError as error:
                raise refused("write", self.path, error) from error

    def datasync(self) -> None:
        """Make the content durable, and the size where it changed."""
        try:
            os.fdatasync(self.fd)
        except OSError as error:
            raise refused("sync", self.path, error) from error

    def sync(self) -> None:
        """Make content and metadata durable."""
        try:
            os.fsync(self.fd)
        except OSError as error:
            raise refused("sync", self.path, error) from error

    def truncate(self, size: int) -> None:
        """Cut or extend to ``size`` bytes; durable after ``sync``."""
        try:
            os.ftruncate(self.fd, size)
        except OSError as error:
            raise refused("truncate", self.path, error) from error

    def stat(self) -> Stat:
        """What the open file is now."""
        try:
            s = os.fstat(self.fd)
        except OSError as error:
            raise refused("stat", self.path, error) from error
        return _stamp(s)

    def lock(self, *, shared: bool = False) -> bool:
        """Take the file's ``flock`` without waiting; False where another open file holds it.

        It belongs to this open file and dies with its last descriptor, which a POSIX record lock does not.
        """
        try:
            fcntl.flock(self.fd, _SHARED_LOCK if shared else _LOCK)
        except OSError as error:
            if error.errno in (_errno.EWOULDBLOCK, _errno.EACCES):
                return False
            if error.errno is None:
                raise
            from runledger.errors import LockUnavailable

            reason = error.strerror or str(error)
            raise LockUnavailable(
                f"file locks do not work on {self.path}: {reason}",
                hint=LOCKS_WANTED,
                path=self.path,
                errno=error.errno,
            ) from error
        return True

    def unlock(self) -> None:
        """Let the lock go."""
        try:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        except OSError as error:
            raise refused("unlock", self.path, error) from error

    def close(self) -> None:
        """Close the descriptor, once."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def __del__(self) -> None:
        # A segment is let go, not closed, while another thread may be in a sync of it: that would fail, or by then be
        # one of another file with the same number.
        fd = getattr(self, "fd", -1)  # there is none where its making was interrupted
        if fd >= 0:
            os.close(fd)


class Directory:
    """An open directory of a ledger."""

    __slots__ = ("fd", "path")

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path

    @classmethod
    def at(cls, path: str) -> Directory | None:
        """The directory at ``path``, symbolic links in it followed (it is the user's own word); None if missing."""
        try:
            return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refused("open", path, error) from error

    def child(self, name: str, *, create: bool = False, mode: int = DIRECTORY_MODE) -> Directory | None:
        """A directory in this one, never through a symbolic link; a new one gets ``mode`` and its name is synced."""
        path = f"{self.path}/{name}"
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return Directory(os.open(name, flags, dir_fd=self.fd), path)
        except FileNotFoundError:
            if not create:
                return None
        except OSError as error:
            if error.errno == _errno.ENOTDIR and self._is_link(name):
                error = OSError(_errno.ELOOP, os.strerror(_errno.ELOOP))
            raise refused("open", path, error) from error
        try:
            os.mkdir(name, mode, dir_fd=self.fd)
        except FileExistsError:
            pass
        except OSError as error:
            raise refused("create", path, error) from error
        self.sync()
        made = self.child(name)
        if made is not None and self._is_shared():
            _share(made.fd, path, _stat.S_IRWXG)
        return made

    def _is_shared(self) -> bool:
        return os.fstat(self.fd).st_mode & _SHARED == _SHARED

    def _is_link(self, name: str) -> bool:
        try:
            return _stat.S_ISLNK(os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mode)
        except OSError:
            return False

    def open(
        self,
        name: str,
        *,
        write: bool = False,
        create: bool = False,
        exclusive: bool = False,
        mode: int = FILE_MODE,
    ) -> File | None:
        """A regular file; None where it is missing and not to be created. ``exclusive``: it must be new, and a name
        that is taken raises; a new one gets ``mode``, less the umask."""
        path = f"{self.path}/{name}"
        if not _is_component(name):
            raise unusable(path, "that is no name of a file", _errno.EINVAL)
        flags = (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        if create:
            flags |= os.O_CREAT | (os.O_EXCL if exclusive else 0)
        try:
            fd = os.open(name, flags, mode, dir_fd=self.fd)
        except FileNotFoundError as error:
            if create:
                raise refused("create", path, error) from error
            return None
        except OSError as error:
            raise refused("open", path, error) from error
        here = os.fstat(fd)
        if not _stat.S_ISREG(here.st_mode):
            os.close(fd)
            raise unusable(path, "it is not a regular file", _errno.EINVAL)
        if write and here.st_nlink > 1 and name not in _NEVER_WRITTEN:
            os.close(fd)
            raise unusable(path, LINKED, _errno.EMLINK)
        if create and self._is_shared():
            _share(fd, path, _stat.S_IRGRP | _stat.S_IWGRP)
        return File(fd, path)

    def read(self, name: str, limit: int) -> bytes | None:
        """The whole of a small file, None where it is missing; more than ``limit`` bytes are refused."""
        file = self.open(name)
        if file is None:
            return None
        try:
            data = file.pread(min(limit, file.stat().size) + 1, 0)
            while 0 < len(data) <= limit:
                more = file.pread(limit + 1 - len(data), len(data))
                if not more:
                    break
                data += more
        finally:
            file.close()
        if len(data) > limit:
            raise unusable(f"{self.path}/{name}", f"it is larger than {limit} bytes", _errno.EFBIG)
        return data

    def stat(self, name: str) -> Stat | None:
        """Of the name itself, no link followed; None where it is missing."""
        try:
            s = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refused("stat", f"{self.path}/{name}", error) from error
        return _stamp(s)

    def inode_at(self, below: str) -> int | None:
        """The inode that a path below this directory leads to; None where a part of it is missing."""
        try:
            return os.stat(below, dir_fd=self.fd, follow_symlinks=False).st_ino
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise refused("stat", f"{self.path}/{below}", error) from error

    def names(self) -> list[str]:
        """Every name in it, sorted."""
        try:
            # Opened anew: a descriptor has one place in the listing, and threads that list at once, or a forked child,
            # would each move it on for the others, to a folder that looks empty.
            fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.fd)
            try:
                return sorted(os.listdir(fd))
            finally:
                os.close(fd)
        except OSError as error:
            raise refused("list", self.path, error) from error

    def rename(self, old: str, new: str) -> None:
        """Replace ``new`` by ``old`` at once; durable after ``sync``.

        On some systems a reader that has ``new`` open makes this fail for a moment: it is tried a few times.
        """
        for pause in (*RENAME_PAUSES_S, None):
            try:
                os.replace(old, new, src_dir_fd=self.fd, dst_dir_fd=self.fd)
            except PermissionError as error:
                if pause is None or error.errno is None:
                    raise refused("rename", f"{self.path}/{old} to {new}", error) from error
                time.sleep(pause)
            except OSError as error:
                raise refused("rename", f"{self.path}/{old} to {new}", error) from error
            else:
                return

    def link(self, name: str, new: str) -> None:
        """A second name for a file's content, which must be free."""
        try:
            os.link(name, new, src_dir_fd=self.fd, dst_dir_fd=self.fd, follow_symlinks=False)
        except OSError as error:
            raise refused("link", f"{self.path}/{name} to {new}", error) from error

    def unlink(self, name: str) -> None:
        """Remove a name; one that is gone already is no error."""
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise refused("remove", f"{self.path}/{name}", error) from error

    def sync(self) -> None:
        """Make the names in this directory durable."""
        try:
            os.fsync(self.fd)
        except OSError as error:
            raise refused("sync", self.path, error) from error

    def close(self) -> None:
        """Close the descriptor, once."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)
