"""What can still be read of lost records: enough that none of them reads as "never happened"."""

from __future__ import annotations

import re

import msgspec

from runledger.local.directory import File
from runledger.local.layout import LONGEST_LINE
from runledger.record import RECORDS
from runledger.view import Damage

__all__ = ["Walk", "damage_at", "lost", "lost_whole", "may_be_intent"]

_NUMBERED = rb'(?m)^\{"t":"(\w+)","lsn":([0-9]{1,18}),'
_HARMLESS = frozenset(
    b"opened closed lost intent mark checkpoint commit abort doubt resolved torn compacted".split()
)
"""Kinds that move no run; one kind does not become another by an accident."""


class Walk:
    """Where a reader stands: what the next record's number must be, and how many intents there were."""

    __slots__ = ("lsn", "steps")

    def __init__(self, lsn: int, steps: int) -> None:
        self.lsn = lsn
        self.steps = steps


def lost(
    file: File, begin: int, end: int, before: tuple[int, int], last: tuple[int, int], reason: str
) -> Damage:
    """The damage of the bytes from ``begin`` to ``end``; ``before`` and ``last`` are LSN and count of intents of the
    good record before it and of the last lost one."""
    data = file.pread(min(end - begin, LONGEST_LINE), begin)
    first, upto = before[0] + 1, last[0]
    salvaged = _identities(data)
    harmless = {
        lsn
        for kind, number in re.findall(_NUMBERED, data)
        if kind in _HARMLESS and first <= (lsn := int(number)) <= upto
    }
    return Damage(
        file=file.path,
        offset=begin,
        first=first,
        last=upto,
        reason=reason,
        intents=max(0, last[1] - before[1]),
        salvaged=list(salvaged),
        sure=sum(lines > 1 for lines in salvaged.values()),
        moves=upto - before[0] - len(harmless),
    )


def damage_at(file: File, begin: int, end: int, walk: Walk, last: int, steps: int, reason: str) -> Damage:
    """The damage of the bytes from ``begin`` to ``end``, up to the record ``last`` and ``steps`` intents; the reader
    stands behind it then."""
    found = lost(file, begin, end, (walk.lsn, walk.steps), (last, steps), reason)
    walk.lsn, walk.steps = last, max(steps, walk.steps)
    return found


def lost_whole(
    file: File | None, path: str, walk: Walk, last: int | None, steps: int | None, reason: str
) -> Damage:
    """A segment that cannot be used is lost, up to ``last`` and ``steps``; where nothing tells those, up to the highest
    number that is legible in it. ``file`` is None where it is none."""
    if file is None:
        return _lost_unseen(path, walk, last, steps, reason)
    size = file.stat().size
    if last is None:
        last, intents = _legible(file, size, walk.lsn)
        steps = walk.steps + max(1, intents)
    return damage_at(file, 0, size, walk, last, steps or 0, reason)


def _lost_unseen(path: str, walk: Walk, last: int | None, steps: int | None, reason: str) -> Damage:
    first, last, steps = walk.lsn + 1, last or walk.lsn + 1, walk.steps + 1 if steps is None else steps
    intents = max(0, steps - walk.steps)
    walk.lsn, walk.steps = last, max(steps, walk.steps)
    return Damage(
        file=path, offset=0, first=first, last=last, reason=reason, intents=intents, moves=last - first + 1
    )


def _legible(file: File, size: int, after: int) -> tuple[int, int]:
    """Of a file in which nothing can be trusted: the highest LSN behind ``after`` that its lines could hold, and how
    many of them say that they are intents."""
    data = file.pread(min(size, LONGEST_LINE), 0)
    seen = re.findall(_NUMBERED, data)
    numbers = [lsn for _, number in seen if (lsn := int(number)) - after <= len(data)]
    return max([after + 1, *numbers]), sum(kind == b"intent" for kind, _ in seen)


def may_be_intent(line: bytes) -> bool:
    """Whether a bad line may have been one: unless it legibly is of another kind."""
    kind = line[6:40].split(b'"', 1)[0].decode("ascii", "replace")
    return kind == "intent" or kind not in RECORDS


def _identities(data: bytes) -> dict[tuple[str, str, str | None], int]:
    """The identities that are legible, and how many lines tell each; a line without a name says nothing."""
    found: dict[tuple[str, str, str | None], int] = {}
    for line in data.split(b"\n"):
        name = _member(line, b',"name":"')
        if name is not None:
            identity = (_member(line, b',"scope":"') or "run", name, _member(line, b',"key":"'))
            found[identity] = found.get(identity, 0) + 1
    return found


def _member(line: bytes, opening: bytes) -> str | None:
    at = line.find(opening)
    if at < 0:
        return None
    begin = at + len(opening)
    end = begin
    while end < len(line) and line[end] != 0x22:
        end += 2 if line[end] == 0x5C else 1
    try:
        return msgspec.json.decode(b'"' + line[begin:end] + b'"', type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
