"""Real system calls as strace wrote them down, as operations on the files below a folder."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["CALLS", "Operation", "operations", "wrap"]

CALLS = (
    "open",
    "openat",
    "creat",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "sendfile",
    "copy_file_range",
    "fallocate",
    "ftruncate",
    "truncate",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
)

_LINE = re.compile(r"^(\d+) +(.*)$")
_RESUMED = re.compile(r"^<\.\.\. \w+ resumed>(.*)$")
_CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+|\?)")
_HELD = re.compile(r"^(?:\d+|AT_FDCWD)<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?$")
_UNKNOWN = frozenset(
    {"writev", "pwritev", "pwritev2", "sendfile", "copy_file_range", "fallocate", "truncate"}
)


class Operation(NamedTuple):
    """What was done, where below the folder, and with what; ``say`` is a line on the program's standard output."""

    kind: str
    path: str = ""
    to: str = ""
    data: bytes = b""
    at: int = 0


def wrap(log: Path) -> list[str]:
    """What to put before a command to record it."""
    return [
        "strace",
        "-f",
        "-qq",
        "-y",
        "-xx",
        "-s",
        "10000000",
        "-o",
        str(log),
        "-e",
        f"trace={','.join(CALLS)}",
    ]


def operations(log: Path, root: Path) -> list[Operation]:
    """All that succeeded below ``root`` and what was said, in the order in which it was done."""
    return [operation for line in _whole_calls(log) for operation in _operation(line, f"{root}")]


def _whole_calls(log: Path) -> Iterator[str]:
    """The calls in the order of their ends; halves that another thread came between are put together."""
    begun: dict[str, str] = {}
    for line in log.read_text("ascii").splitlines():
        found = _LINE.match(line)
        assert found is not None, line
        pid, text = found.groups()
        if text.endswith(" <unfinished ...>"):
            begun[pid] = text.removesuffix(" <unfinished ...>")
            continue
        resumed = _RESUMED.match(text)
        yield begun.pop(pid) + resumed[1] if resumed is not None else text


def _operation(line: str, root: str) -> Iterator[Operation]:
    call = _CALL.match(line)
    if call is None or call[3] == "?" or int(call[3]) < 0:
        return
    name, arguments, returned = call[1], call[2].split(", "), int(call[3])
    paths = [path for path in _paths(name, arguments) if path is not None]
    if name == "write" and arguments[0].startswith("1<"):
        yield Operation("say", data=_bytes(arguments[1]))
    if not paths or not all(path.startswith(f"{root}/") or path == root for path in paths):
        return
    assert name not in _UNKNOWN, f"{name} is not understood: {line[:200]}"
    path, *more = (path.removeprefix(root).strip("/") for path in paths)
    if name in {"open", "openat", "creat"}:
        flags = arguments[-2] if "O_CREAT" in arguments[-2] else arguments[-1]
        if "O_CREAT" in flags:
            yield Operation("create", path)
        if "O_TRUNC" in flags:
            yield Operation("truncate", path)
    elif name in {"write", "pwrite64"}:
        at = int(arguments[3]) if name == "pwrite64" else -1
        yield Operation("write", path, data=_bytes(arguments[1])[:returned], at=at)
    elif name == "ftruncate":
        yield Operation("truncate", path, at=int(arguments[1]))
    elif name != "sync_file_range":
        yield Operation(_KINDS[name], path, *more)


_KINDS = {
    "fsync": "sync",
    "fdatasync": "datasync",
    "rename": "rename",
    "renameat": "rename",
    "renameat2": "rename",
    "link": "link",
    "linkat": "link",
    "unlink": "unlink",
    "unlinkat": "unlink",
    "rmdir": "unlink",
    "mkdir": "mkdir",
    "mkdirat": "mkdir",
}


def _paths(name: str, arguments: list[str]) -> Iterator[str | None]:
    """The paths that a call is about; None where the file has lost its name."""
    at = 0
    if name in {"write", "pwrite64", "ftruncate", "fsync", "fdatasync", *_UNKNOWN, "sync_file_range"}:
        yield _held(arguments[0])
        return
    if name in {"open", "creat", "rename", "link", "unlink", "mkdir", "rmdir"}:
        yield from (_bytes(word).decode() for word in arguments if word.startswith('"'))
        return
    while at + 1 < len(arguments) and arguments[at + 1].startswith('"'):
        yield posixpath.normpath(
            posixpath.join(_held(arguments[at]) or "/", _bytes(arguments[at + 1]).decode())
        )
        at += 2


def _held(word: str) -> str | None:
    found = _HELD.match(word)
    return None if found is None or found[2] else _unescaped(found[1]).decode()


def _bytes(word: str) -> bytes:
    assert word.endswith('"'), f"cut short: {word[:80]}"
    return _unescaped(word.strip('"'))


def _unescaped(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
