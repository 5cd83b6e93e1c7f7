"""What must hold at any moment, seen by a process that has only the files."""

from __future__ import annotations

import json
from typing import Any

import runledger
from runledger import Ledger, ResultNotStored
from runledger.state_file import verifies
from runledger.verify import verify
from tests.crash.computer import Computer
from tests.crash.journal_text import Text, read_journal
from tests.crash.memory_directory import Folder, Node
from tests.crash.model import Observed, Seen, shown

__all__ = ["UNSTORED", "check_journal", "check_snapshot", "observe", "snapshot_of"]

UNSTORED = "(the result was not stored)"


def observe(computer: Computer, keys: list[tuple[str, str]]) -> Observed:
    """What ``replay`` and ``lookup`` tell a new process; ``verify`` must find nothing."""
    process = computer.process()
    with computer.running(process):
        report = runledger.replay(computer.root)
        found = verify(computer.root)
        assert not found, f"verify finds {found}"
        assert not report.corruption
        ledger = Ledger.open(computer.root)
        try:
            known = {}
            for name, key in keys:
                held = ledger.lookup(name, key)
                if held is not None:
                    result = _result(held)
                    marks = tuple(mark.label for mark in held.marks)
                    failure = held.failure.type if held.failure is not None else None
                    known[name, key] = Seen(held.status, held.attempt, result, marks, failure)
        finally:
            ledger.close()
    computer.end(process)
    still = [
        (step.name, step.key or "", Seen(status, step.attempt, None, _labels(step), _type(step)))
        for status, steps in (("in_flight", report.in_flight), ("in_doubt", report.in_doubt))
        for step in steps
    ]
    return Observed(report.state, report.committed, report.aborted, known, sorted(still, key=str))


def _result(held: Any) -> Any:
    try:
        return shown(held.result)
    except ResultNotStored:
        return UNSTORED


def _labels(step: Any) -> tuple[str, ...]:
    return tuple(mark.label for mark in step.marks)


def _type(step: Any) -> str | None:
    return step.failure.type if step.failure is not None else None


def check_journal(computer: Computer, before: dict[int, bytes], durable: int) -> Text:
    """The journal, after these lines: numbers without gaps, and none that was durable says something else now."""
    text = read_journal(computer.top)
    assert text.last >= durable, f"the journal ends at LSN {text.last}, and {durable} was acknowledged"
    for lsn, line in text.lines.items():
        if lsn <= durable and lsn in before:
            assert line == before[lsn], f"LSN {lsn} was {before[lsn]!r} and is {line!r}"
    return text


def snapshot_of(computer: Computer) -> bytes | None:
    """The state file's bytes."""
    run = computer.top.names.get(".run")
    node = run.names.get("sprint-plan-state.json") if isinstance(run, Folder) else None
    return bytes(node.pages.live) if isinstance(node, Node) else None


def check_snapshot(computer: Computer, last: int) -> None:
    """The state file is missing or whole: one document with a good digest, that knows nothing beyond the journal."""
    data = snapshot_of(computer)
    if data is None:
        return
    document = json.loads(data)
    assert data.endswith(b"}\n")
    assert document["state"] in {"RUNNING", "HALTED", "JACKED_OUT"}
    assert document["ledger"]["lsn"] <= last, (
        f"the snapshot is of LSN {document['ledger']['lsn']}, after {last}"
    )
    with computer.running(computer.process()):
        ledger = Ledger.open(computer.root)
        ledger.lookup("any", "step")
        assert verifies(data.decode(), ledger.ledger_id()), f"the digest of the snapshot is wrong: {data!r}"
        ledger.close()
