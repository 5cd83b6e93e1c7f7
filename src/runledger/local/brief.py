"""The brief: answers of the quick commands, made ready by whoever wrote last, with everything that they rest on.

An agent's hooks ask for the state at every turn, and the modules that read a ledger cost more than the answer does. So
a writer leaves the answers behind, in ``.run/ledger/brief``. They are good for as long as all that they were made from
looks the same: the state file, the checkpoint and the segments by inode, size, time and their last bytes, the owners by
their locks and processes, the branch by git's own file. Whoever finds anything else reads the ledger itself.

It is a copy, never synced: it may be old, torn or gone, and nothing is lost. This module and what it imports are all
that a quick command loads.
"""

from __future__ import annotations

from zlib import crc32

from runledger.local.directory import Directory, Stat
from runledger.local.files import Files
from runledger.local.layout import BRIEF, CHECKPOINT, HISTORY, STATE, segment_first
from runledger.version import VERSION

__all__ = [
    "MOMENT",
    "Brief",
    "File",
    "branch_now",
    "facts_of",
    "file_now",
    "files_now",
    "history_now",
    "owner_now",
    "read",
    "write",
]

LARGEST = 256 << 10
"""In bytes; what is longer is not kept ready."""

WINDOW = 256 << 10
BEYOND = 4 << 10
"""Of each file so many last bytes are compared, of the last segment those before the end of its records and some after
it: a file's time may stand still for some milliseconds, and what comes next is written there."""

MOMENT = "\x01"
"""Stands in a kept text for what a ``Moment`` tells; no text that is shown holds it."""

_TITLE = f"runledger-brief 1 {VERSION} ".encode()


class Brief:
    """Facts by name, each a line of text; a name may have several. ``files`` are those that it was compared with."""

    def __init__(self, facts: dict[str, list[str]]) -> None:
        self.facts = facts
        self.files: list[File] = []

    def __getitem__(self, name: str) -> str:
        """The one fact of that name; KeyError where there is none."""
        return self.facts[name][0]

    def all(self, name: str) -> list[str]:
        """The facts of that name."""
        return self.facts.get(name, [])


class File:
    """A file as it is now: ``data`` are the bytes from ``begin`` on that are compared; no ``stat``: it is missing."""

    __slots__ = ("begin", "data", "name", "stat")

    def __init__(self, name: str, stat: Stat | None, begin: int, data: bytes) -> None:
        self.name, self.stat, self.begin, self.data = name, stat, begin, data

    @property
    def fact(self) -> str:
        """What a brief keeps of it."""
        stat = self.stat
        if stat is None:
            return f"{self.name} -"
        return f"{self.name} {stat.ino} {stat.size} {stat.mtime_ns} {stat.ctime_ns} {crc32(self.data):08x}"


def files_now(files: Files, end: int) -> list[File]:
    """The files that a reader's view is made from: state file, checkpoint, and the segments, of which the last one has
    records up to ``end``.

    Raises:
        DiskRefused: one of them cannot be used.
    """
    run, ledger = files.run, files.ledger
    if run is None or ledger is None:
        return []
    names = [name for name in ledger.names() if segment_first(name) is not None]
    found = [file_now(run, STATE), *(file_now(ledger, name) for name in (CHECKPOINT, *names[:-1]))]
    return [*found, *(file_now(ledger, name, end) for name in names[-1:])]


def file_now(directory: Directory, name: str, end: int | None = None) -> File:
    """The file as it is now; ``end``: of a segment that goes on there."""
    file = directory.open(name)
    if file is None:
        return File(name, None, 0, b"")
    try:
        stat = file.stat()
        begin = max(0, (stat.size if end is None else end) - WINDOW)
        return File(name, stat, begin, file.pread(WINDOW + BEYOND, begin))
    finally:
        file.close()


def facts_of(files: list[File]) -> list[str]:
    """What a brief keeps of the files."""
    return [file.fact for file in files]


def owner_now(files: Files, owner: str, pid: int, start: int, boot: str, pidns: str) -> str:
    """What a brief keeps of an owner: all that its fate is judged by, see ``owner.fate``."""
    from runledger.local.process import ended, facts, is_stopped

    here = facts()
    file = files.owners.open(owner) if files.owners is not None else None
    lock = "missing"
    if file is not None:
        try:
            lock = "free" if file.lock(shared=True) else "held"
        finally:
            file.close()
    process = "elsewhere"
    if (here.boot, here.pidns) == (boot, pidns):
        process = ended(pid, start if here.start else 0) or ("stopped" if is_stopped(pid) else "runs")
    return f"{owner} {pid} {start} {boot} {pidns} {here.boot} {here.pidns} {here.host} {lock} {process}"


def history_now(files: Files) -> str:
    """What a brief keeps of the folded history: only that it is there. What it holds no quick command asks."""
    stat = files.ledger.stat(HISTORY) if files.ledger is not None else None
    return "missing" if stat is None else f"inode {stat.ino}"


def branch_now(root: str) -> str:
    """What a brief keeps of the branch that is checked out."""
    from runledger.local.checkout import current_branch

    return repr(current_branch(root))


def read(files: Files) -> Brief | None:
    """The brief of these files, None where there is none that holds.

    Raises:
        LedgerError: something is not as it is left by anybody; whoever reads the ledger itself can tell.
    """
    files.find()
    if files.ledger is None:
        return None
    data = files.ledger.read(BRIEF, LARGEST)
    brief = None if data is None else _decoded(data)
    return brief if brief is not None and _holds(brief, files) else None


def _holds(brief: Brief, files: Files) -> bool:
    brief.files = files_now(files, int(brief["end"]))
    if brief.all("file") != facts_of(brief.files) or brief["history"] != history_now(files):
        return False
    for fact in brief.all("owner"):
        owner, pid, start, boot, pidns, *_ = fact.split(" ")
        if fact != owner_now(files, owner, int(pid), int(start), boot, pidns):
            return False
    return not brief.all("branch") or brief["branch"] == branch_now(files.root)


def write(ledger: Directory, facts: dict[str, list[str]]) -> None:
    """Write the brief of the ledger in ``ledger``, over the old one: whoever reads half of it sees that by its
    checksum, and no temporary file is left where a writer is killed.

    Raises:
        DiskRefused: there may be none that holds.
    """
    lines = [f"{name} {fact}\n" for name, told in facts.items() for fact in told]
    body = "".join(lines).encode()
    data = b"%s%08x\n%s" % (_TITLE, crc32(body), body)
    if len(data) > LARGEST or body.count(b"\n") != len(lines):
        return
    file = ledger.open(BRIEF, write=True, create=True)
    assert file is not None
    try:
        file.pwrite(data, 0)
        file.truncate(len(data))
    finally:
        file.close()


def _decoded(data: bytes) -> Brief | None:
    title, _, body = data.partition(b"\n")
    if title != b"%s%08x" % (_TITLE, crc32(body)):
        return None
    facts: dict[str, list[str]] = {}
    for line in body.decode().split("\n")[:-1]:
        name, _, fact = line.partition(" ")
        facts.setdefault(name, []).append(fact)
    return Brief(facts)
