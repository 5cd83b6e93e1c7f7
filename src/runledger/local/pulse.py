"""A heartbeat by hand: one record and two values of the state file, for a process that loads nothing else.

It is what the engine would write, made of what a brief that holds says of the journal's end and of the state file's
text. The order is the engine's too: append under the lock, sync without it, replace the state file under it.
"""

from __future__ import annotations

import os
import time
from zlib import crc32

from runledger.clock import now, parse
from runledger.local import brief as briefs
from runledger.local.brief import Brief
from runledger.local.directory import File
from runledger.local.files import Files, write_new
from runledger.local.layout import APPEND_LOCK, STATE

__all__ = ["Beat", "Splice", "beat"]

TRIES = 50
PAUSE_S = 0.001


class Splice:
    """Where the values of an activity stand in the state file's text: its time, the LSN of so many digits, the
    digest."""

    __slots__ = ("activity", "digest", "digits", "lsn")

    ACTIVITY = len("2026-01-02T03:04:05Z")
    DIGEST = len("crc32:01234567")

    def __init__(self, activity: int, lsn: int, digits: int, digest: int) -> None:
        self.activity, self.lsn, self.digits, self.digest = activity, lsn, digits, digest

    @classmethod
    def of(cls, fact: str) -> Splice:
        """From what a brief keeps of it."""
        return cls(*map(int, fact.split(" ")))

    @property
    def fact(self) -> str:
        """What a brief keeps of it."""
        return f"{self.activity} {self.lsn} {self.digits} {self.digest}"

    def stands(self, text: bytes, activity: str, lsn: str) -> bool:
        """Whether these values are what stands in those places."""
        told = ((self.activity, activity), (self.lsn, lsn), (self.digest, "crc32:"))
        return len(lsn) == self.digits and all(
            at > 0 and text.startswith(value.encode(), at) for at, value in told
        )

    def put(self, text: bytes, activity: str, lsn: int, seed: int) -> tuple[bytes, Splice]:
        """The text with other values, sealed, and where they stand in it."""
        number = str(lsn).encode()
        edits = {
            self.activity: (self.ACTIVITY, activity.encode()),
            self.lsn: (self.digits, number),
            self.digest: (self.DIGEST, b""),
        }
        made, done = b"", 0
        places = {}
        for at in sorted(edits):
            size, value = edits[at]
            made += text[done:at]
            places[at] = len(made)
            made, done = made + value, at + size
        made += text[done:]
        digest = places[self.digest]
        after = {at: place + self.DIGEST * (place > digest) for at, place in places.items()}
        sealed = b"%scrc32:%08x%s" % (made[:digest], crc32(made, seed), made[digest:])
        return sealed, Splice(after[self.activity], after[self.lsn], len(number), digest)


class Beat:
    """What a next heartbeat needs to know.

    ``run`` is the run's id as JSON has it; ``seed`` is that of the segment's lines, ``ledger`` that of the digest;
    ``end`` is where the next record goes, below ``limit``; ``steps`` and ``durable`` are a record's own.
    """

    __slots__ = ("durable", "end", "ledger", "limit", "run", "seed", "steps")

    def __init__(
        self, run: str, seed: int, ledger: int, end: int, limit: int, steps: int, durable: int
    ) -> None:
        self.run, self.seed, self.ledger = run, seed, ledger
        self.end, self.limit, self.steps, self.durable = end, limit, steps, durable

    @classmethod
    def of(cls, fact: str) -> Beat:
        """From what a brief keeps of it."""
        run, *numbers = fact.rsplit(" ", 6)
        return cls(run, *map(int, numbers))

    @property
    def fact(self) -> str:
        """What a brief keeps of it."""
        return f"{self.run} {self.seed} {self.ledger} {self.end} {self.limit} {self.steps} {self.durable}"

    def line(self, lsn: int, at: str) -> bytes:
        """The record's line."""
        durable = f',"durable":{self.durable}' if self.durable else ""
        steps = f',"steps":{self.steps}' if self.steps else ""
        body = f'{{"t":"heartbeat","lsn":{lsn},"at":"{at}","run":{self.run}{durable}{steps}'.encode()
        return b'%s,"crc":"%08x"}\n' % (body, crc32(body, self.seed))


def beat(files: Files) -> tuple[int, str] | None:
    """Record a heartbeat and let the state file show it, durably; its LSN and time. None where the engine is needed: at
    most the record was written then, and the engine's own beside it does no harm.

    Raises:
        LedgerError: as None.
    """
    files.find()
    lock = files.ledger.open(APPEND_LOCK, write=True) if files.ledger is not None else None
    if lock is None:
        return None
    try:
        brief = briefs.read(files) if _locked(files, lock) else None
        return None if brief is None or not brief.all("beat") else _recorded(files, brief, lock)
    finally:
        lock.close()


def _recorded(files: Files, brief: Brief, lock: File) -> tuple[int, str] | None:
    assert files.ledger is not None
    known, before = Beat.of(brief["beat"]), brief.files[-1]
    lsn, at = int(brief["lsn"]) + 1, now()
    line = known.line(lsn, at)
    splice = Splice.of(brief["splice"])
    if not splice.stands(brief.files[0].data, brief["activity"], brief["shown"]):
        return None
    at_end = _is_end(before, known.end, len(line)) and known.end < known.limit
    segment = files.ledger.open(before.name, write=True) if at_end else None
    if segment is None:
        return None
    try:
        segment.pwrite(line, known.end)
        tail = briefs.file_now(files.ledger, before.name, known.end + len(line))
        lock.unlock()
        segment.datasync()
    finally:
        segment.close()
    grew = _grew(before, tail, line, known.end)
    known.end, known.durable = known.end + len(line), lsn
    facts = {**brief.facts, "lsn": [str(lsn)], "end": [str(known.end)], "beat": [known.fact]}
    state, second = brief.files[0], f"{at[:19]}Z"
    if second != brief["activity"]:
        shown = _shown(files, lock, state, splice, second, lsn, known.ledger)
        if shown is None:
            return None
        state, splice = shown
        facts |= {
            "splice": [splice.fact],
            "shown": [str(lsn)],
            "activity": [second],
            "epoch": [str(parse(second))],
        }
    if grew:
        facts["file"] = briefs.facts_of([state, *brief.files[1:-1], tail])
        briefs.write(files.ledger, facts)
    return lsn, at


def _is_end(segment: briefs.File, end: int, size: int) -> bool:
    """Whether a line ends there and only filler follows: whoever else may write a brief, no record is written over."""
    assert segment.stat is not None
    at = end - segment.begin
    seen = segment.begin + len(segment.data)
    if not 0 < at <= len(segment.data) or seen < min(end + size, segment.stat.size):
        return False
    return segment.data[at - 1] == 0x0A and not segment.data[at : at + size].strip(b"\n")


def _locked(files: Files, lock: File) -> bool:
    """Take the append lock; False where somebody keeps it."""
    for _ in range(TRIES):
        if lock.lock():
            files.check_in_place()
            return True
        time.sleep(PAUSE_S)
    return False


def _shown(
    files: Files, lock: File, state: briefs.File, splice: Splice, second: str, lsn: int, seed: int
) -> tuple[briefs.File, Splice] | None:
    """Replace the state file as it was by one that shows the activity; None where it is not as it was."""
    assert files.run is not None
    assert state.stat is not None
    text, places = splice.put(state.data, second, lsn, seed)
    name = f".{STATE}.{os.getpid()}.{os.urandom(6).hex()}.tmp"
    write_new(files.run, name, text, state.stat.mode)
    try:
        if not _locked(files, lock) or files.run.stat(STATE) != state.stat:
            files.run.unlink(name)
            return None
        files.run.rename(name, STATE)
    except BaseException:
        files.run.unlink(name)
        raise
    made = briefs.File(STATE, files.run.stat(STATE), 0, text)
    lock.unlock()
    files.run.sync()
    return made, places


def _grew(before: briefs.File, after: briefs.File, line: bytes, end: int) -> bool:
    """Whether nothing changed in the segment but that the line stands at ``end``."""
    at = end - before.begin
    due = (before.data[:at] + line + before.data[at + len(line) :])[after.begin - before.begin :]
    return after.data.startswith(due) and not after.data[len(due) :].strip(b"\n")
