"""Write the golden folder of a format, once: `python3 -m tests.golden.add v1`; never over one that exists."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from msgspec import Raw

from runledger.fold import advance
from runledger.local import checkpoint, results
from runledger.local.directory import Directory
from runledger.local.history import History
from runledger.local.journal import Journal
from runledger.local.layout import HISTORY, LEDGER, STATE
from runledger.record import Record
from runledger.state_file import render
from runledger.view import View

HERE = Path(__file__).resolve().parent


def record_of(fields: dict[str, Any]) -> Record:
    """The record that these fields say; its number and time are still to come, unless they are among them."""
    given = {"lsn": 0, "at": "", **fields}
    raw = {name: Raw(value) for name, value in given.items() if isinstance(value, bytes)}
    record: Record = msgspec.json.decode(msgspec.json.encode({**given, **raw}), type=Record)
    return record


def write(folder: Path, expected: Any) -> None:
    """Write the ledger that ``expected`` tells, with times and ids that are always the same."""
    ticks = itertools.count(1)
    blocks = itertools.count(1)

    def now() -> str:
        return f"2026-01-02T03:04:05.{next(ticks):06d}Z"

    def urandom(size: int) -> bytes:
        return sha256(b"%d" % next(blocks)).digest()[:size]

    ledger = folder / LEDGER
    ledger.mkdir(parents=True)
    directory = Directory.at(str(ledger))
    assert directory is not None
    with mock.patch("runledger.local.journal.now", now), mock.patch.object(os, "urandom", urandom):
        digest = results.save(directory, expected.LARGE)
        assert digest == expected.LARGE_DIGEST, digest
        journal = Journal(directory, expected.LEDGER, write=True)
        view = View(ledger=expected.LEDGER)
        journal.begin()
        for batches in expected.SEGMENTS:
            journal.roll()
            for batch in batches:
                append(journal, view, [record_of(fields) for fields in batch])
            if view.lsn == expected.FOLDED_UPTO:
                fold(directory, view)
        (folder / STATE).write_text(render(view, in_doubt_of(view)) or "")
        journal.close()


def append(journal: Journal, view: View, records: list[Record]) -> None:
    """One call that appends, and its sync."""
    for record in records:
        journal.stamp(record)
        advance(view, record)
    journal.append()
    assert journal.file is not None
    journal.file.datasync()
    journal.durable = journal.lsn


def fold(directory: Directory, view: View) -> None:
    """What a compaction writes, up to the deletion of the segments."""
    encoded = checkpoint.encode(view)
    history = History.create(os.path.join(directory.path, HISTORY), view.ledger)  # noqa: PTH118 - the module's own way
    history.fold(list(view.settled.values()), view.lsn, encoded)
    history.close()
    checkpoint.write(directory, encoded)


def in_doubt_of(view: View) -> list[dict[str, object]]:
    """The open steps: nobody is at work in a golden folder."""
    return [
        {"name": s.name, "key": s.key, "lsn": s.lsn, "attempt": s.attempt}
        for _, s in sorted(view.open.items())
    ]


def main() -> None:
    """Add the folder that is named."""
    (version,) = sys.argv[1:]
    folder = HERE / version
    if folder.exists():
        sys.exit(f"{folder} is there: golden bytes are added to, never made anew")
    write(folder, importlib.import_module(f"tests.golden.expected_{version}"))
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            print(sha256(path.read_bytes()).hexdigest(), path.relative_to(folder))


if __name__ == "__main__":
    main()
