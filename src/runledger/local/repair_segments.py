"""Which file is which segment: by its header, else by its neighbours, else by its records; never by its name alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from runledger.errors import NewerVersion
from runledger.local import frame
from runledger.local.directory import Directory, File
from runledger.local.frame import BadLine, Header
from runledger.local.layout import FORMAT, segment_first
from runledger.local.mending import is_sound, mended, mended_run, seed_in, unglued
from runledger.local.repair_read import opened, pread
from runledger.record import Intent, Record
from runledger.state_file import verifies

__all__ = ["Found", "chosen", "found_in", "ledger_of"]

HEAD = 4096
PROBE = 1 << 20
"""In bytes: so much of a file is looked at to find out what it is."""

_LEDGER = re.compile(rb'"ledger":"([0-9a-f]{16})"')
_ID = re.compile(rb'"segment":"([0-9a-f]{16})"')


@dataclass
class Found:
    """A file with a segment's name.

    ``header`` is what it is, None where nothing tells; ``start`` where the records begin, ``seed`` what their checksums
    begin with: another one than the header's where only they tell it. ``rewritten`` says how little the header rests on
    (0: on itself, 1: on what is left of it or on the next one, 2: on the records alone), ``said`` what was put right,
    ``spoiled`` why the file cannot be used, ``foreign`` that nothing of this ledger is lost by that.
    """

    name: str
    path: str
    header: Header | None = None
    size: int = 0
    start: int = 0
    seed: int = 0
    rewritten: int = 0
    foreign: bool = False
    said: str = ""
    spoiled: str = ""
    probe: bytes = field(default=b"", repr=False)

    @property
    def first(self) -> int:
        """Where its name says that it begins."""
        return segment_first(self.name) or 0

    @property
    def is_lost(self) -> bool:
        """Whether it may be a segment of this ledger all the same, with records that are lost."""
        return bool(self.spoiled) and not self.foreign


def found_in(directory: Directory) -> list[Found]:
    """Every file with a segment's name, those without a legible header too.

    Raises:
        NewerVersion: a later version wrote one.
    """
    founds = []
    for name in directory.names():
        if segment_first(name) is None:
            continue
        found = Found(name, f"{directory.path}/{name}")
        file = opened(directory, name)
        if file is None:
            found.spoiled = "it is not a regular file"
        else:
            try:
                _read_header(file, found)
            finally:
                file.close()
        founds.append(found)
    return founds


def _read_header(file: File, found: Found) -> None:
    found.size = file.stat().size
    lines = pread(file, HEAD, 0).split(b"\n", 2)
    better = None if is_sound(lines[0], 0) else _put_right(lines)
    line = better or lines[0]
    try:
        header = frame.header_of(line)
    except BadLine:
        found.spoiled = "the segment's header is damaged" if found.size else "the segment is empty"
        found.probe = pread(file, PROBE, 0)
        return
    except NewerVersion as error:
        raise NewerVersion(f"{found.path}, offset 0: {error.message}", hint=error.hint) from error
    if better is not None:
        found.said = "one flipped bit of its header was turned back"
    _is(found, header, len(line) + 1)


def _put_right(lines: list[bytes]) -> bytes | None:
    """The header that one flipped bit spoiled: in it, or the line feed behind it, or one that cuts it in two."""
    better = mended(lines[0], 0) or unglued(lines[0], 0)
    if better is None and len(lines) > 1:
        joined = (mended_run(b"\n".join(lines[:2]), 0) or b"").partition(b"\n")[0]
        better = joined if is_sound(joined, 0) else None
    return better


def _is(found: Found, header: Header, start: int) -> None:
    found.header, found.start, found.spoiled = header, start, ""
    found.seed = found.seed or frame.seed_of(header.segment)


def ledger_of(founds: Iterable[Found], said: Iterable[str], state: bytes | None) -> str:
    """The ledger that the files are of: the one that the state file is sealed with, else what most files say, those
    that have ``said`` it first where they are as many; "" where nothing tells."""
    votes = Counter(ledger for ledger in said if ledger)
    votes.update(found.header.ledger for found in founds if found.header is not None)
    legible = [text.decode() for found in founds for text in _LEDGER.findall(found.probe[:HEAD])]
    votes.update(legible if not votes else ())
    text = (state or b"").decode("utf-8", "replace")
    sealed = [ledger for ledger in votes if verifies(text, ledger)]
    return (sealed or [ledger for ledger, _ in votes.most_common(1)] or [""])[0]


def chosen(directory: Directory, founds: list[Found], ledger: str) -> list[Found]:
    """One file for each segment of ``ledger``, in order; of the others ``spoiled`` says why they are none."""
    for found in founds:
        if found.header is not None and ledger and found.header.ledger != ledger:
            found.spoiled, found.foreign = f"it belongs to another ledger ({found.header.ledger})", True
    _identify(founds, ledger)
    places: dict[int, Found] = {}
    for found in sorted(founds, key=_rank):
        if found.header is None or found.spoiled:
            continue
        other = places.setdefault(found.header.first, found)
        if other is not found:
            found.spoiled, found.foreign = f"it is another copy of {other.name}", True
        elif found.header.first != found.first:
            found.said = f"it had the name {found.name}" + (f"; {found.said}" if found.said else "")
    return _linked(directory, [places[first] for first in sorted(places)])


def _rank(found: Found) -> tuple[bool, bool, int]:
    """The one under its right name first, then the one that nothing had to be put right in, then the longest."""
    right = found.header is not None and found.header.first == found.first
    return not right, bool(found.said), -found.size


def _linked(directory: Directory, segments: list[Found]) -> list[Found]:
    """Those that follow one another; a gap is no reason to doubt what comes behind it."""
    kept: list[Found] = []
    for found in segments:
        assert found.header is not None
        before = kept[-1] if kept else None
        if before is not None and not _follows(directory, before, found.header):
            worse = before if before.rewritten > found.rewritten else found
            worse.spoiled = f"{before.name} and {found.name} do not follow one another"
            if worse is found:
                continue
            kept.pop()
        kept.append(found)
    return kept


def _follows(directory: Directory, before: Found, header: Header) -> bool:
    assert before.header is not None
    return header.previous in {None, before.header.segment} or _last(directory, before) + 1 < header.first


def _last(directory: Directory, found: Found) -> int:
    """The last record that is legible near the end of a segment; 0 where none is."""
    file = opened(directory, found.name)
    if file is None:
        return 0
    try:
        records = _records(pread(file, PROBE, max(found.start, found.size - PROBE)), found.seed)
    finally:
        file.close()
    return records[-1].lsn if records else 0


# --- a header that nothing can be made of -------------------------------------------------------------------


def _identify(founds: list[Found], ledger: str) -> None:
    """Find out what the files without a header are: the next segment names the one before it, the bad header may still
    show its id, and the checksums of the records tell what they begin with."""
    for found in reversed(founds):
        if found.header is not None or not found.probe:
            continue
        behind = [
            f.header for f in founds if f.header is not None and not f.spoiled and f.first > found.first
        ]
        ids = [behind[0].previous] if behind and behind[0].previous else []
        ids += [text.decode() for text in _ID.findall(found.probe[:HEAD])]
        for segment in ids:
            if _take(found, ledger, segment, frame.seed_of(segment)):
                found.said, found.rewritten = "its header was written anew", 1
                break
        else:
            _by_checksums(found, ledger)


def _by_checksums(found: Found, ledger: str) -> None:
    """At least two different lines whose checksums begin with the same: no accident makes that."""
    different = {line for line in found.probe.split(b"\n") if _is_record(line)}
    seeds = Counter(seed for line in different if (seed := seed_in(line)) is not None)
    seed, lines = seeds.most_common(1)[0] if seeds else (0, 0)
    if lines > 1 and _take(found, ledger, f"{seed:08x}" * 2, seed):
        found.said = "its header was written anew; that its records belong here, only they themselves tell"
        found.rewritten = 2


def _take(found: Found, ledger: str, segment: str, seed: int) -> bool:
    """Give it the header of ``segment``, if its records' checksums begin with ``seed``. It begins with the first sound
    record, whatever its name says: only of that one it is known how many intents there were before."""
    at = 0
    for line in found.probe.split(b"\n"):
        if _is_record(line) and is_sound(line, seed):
            first = frame.decode(line, seed)
            steps = first.steps - (type(first) is Intent)
            found.seed = seed
            _is(found, Header(FORMAT, ledger, segment, first.lsn, first.at, steps), at)
            return True
        at += len(line) + 1
    return False


def _records(data: bytes, seed: int) -> list[Record]:
    """The records of the lines that are sound with this seed."""
    return [
        frame.decode(line, seed) for line in data.split(b"\n") if _is_record(line) and is_sound(line, seed)
    ]


def _is_record(line: bytes) -> bool:
    return line.startswith(b'{"t":"') and not line.startswith(b'{"t":"seal"')
