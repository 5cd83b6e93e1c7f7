"""What must hold at any moment, seen by a process that has only the files."""

from __future__ import annotations

import json
import re
from typing import Any
from zlib import crc32

import runledger
from runledger import Ledger, ResultNotStored
from runledger.replay_report import ReplayReport
from runledger.verify import verify
from tests.crash.computer import Computer
from tests.crash.journal_text import Text, read_journal
from tests.crash.memory_directory import Folder, Node
from tests.crash.model import Observed, Seen, shown

__all__ = ["UNSTORED", "check_journal", "check_snapshot", "observe"]

UNSTORED = "(the result was not stored)"


def observe(computer: Computer, keys: list[tuple[str, str]], *, thorough: bool) -> Observed:
    """What look-ups and a replay tell a new process; ``thorough``: the replay is one of its own, and ``verify`` finds
    nothing."""
    process = computer.process()
    with computer.running(process):
        ledger = Ledger.open(computer.root)
        try:
            report = runledger.replay(computer.root) if thorough else ledger.replay()
            known = {(name, key): _seen(held) for name, key in keys if (held := ledger.lookup(name, key))}
        finally:
            ledger.close()
        assert not report.corruption, f"replay finds {report.corruption}"
        if thorough:
            found = verify(computer.root)
            assert not found, f"verify finds {found}"
    computer.end(process)
    return Observed(report.state, report.committed, report.aborted, known, _open(report))


def _seen(held: Any) -> Seen:
    return Seen(held.status, held.attempt, _result(held), _labels(held), _type(held))


def _result(held: Any) -> Any:
    try:
        return shown(held.result)
    except ResultNotStored:
        return UNSTORED


def _labels(step: Any) -> tuple[str, ...]:
    return tuple(mark.label for mark in step.marks)


def _type(step: Any) -> str | None:
    return step.failure.type if step.failure is not None else None


def _open(report: ReplayReport) -> list[tuple[str, str, Seen]]:
    still = [
        (step.name, step.key or "", Seen(status, step.attempt, None, _labels(step), _type(step)))
        for status, steps in (("in_flight", report.in_flight), ("in_doubt", report.in_doubt))
        for step in steps
    ]
    return sorted(still, key=str)


def check_journal(computer: Computer, before: dict[int, bytes], durable: int) -> Text:
    """The journal, after these lines: numbers without gaps, and none that was durable says something else now."""
    text = read_journal(computer.top)
    assert text.last >= durable, f"the journal ends at LSN {text.last}, and {durable} was acknowledged"
    for lsn, line in text.lines.items():
        if lsn <= durable and lsn in before:
            assert line == before[lsn], f"LSN {lsn} was {before[lsn]!r} and is {line!r}"
    return text


def check_snapshot(computer: Computer, journal: Text) -> str | None:
    """The state file is missing or whole: one document with a good digest, that knows nothing beyond the journal. Its
    word."""
    run = computer.top.names.get(".run")
    node = run.names.get("sprint-plan-state.json") if isinstance(run, Folder) else None
    if not isinstance(node, Node):
        return None
    data = bytes(node.pages.live)
    document = json.loads(data)
    assert data.endswith(b"}\n")
    said = document["ledger"]
    assert said["lsn"] <= journal.last, (
        f"the snapshot is of LSN {said['lsn']}, and the journal ends at {journal.last}"
    )
    bare = re.sub(rb"crc32:[0-9a-f]{8}", b"", data, count=1)
    digest = f"crc32:{crc32(bare, crc32(journal.ledger.encode())):08x}"
    assert said["digest"] == digest, f"the digest of the snapshot is not {digest}: {data!r}"
    return str(document["state"])
