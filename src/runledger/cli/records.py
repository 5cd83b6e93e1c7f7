"""``log``: the journal, record by record."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from runledger.cli.command import Command
from runledger.cli.output import document, note, result
from runledger.errors import LedgerMissing
from runledger.local.files import Files, find_root
from runledger.local.journal import Behind, Journal
from runledger.local.known import records
from runledger.record import Record
from runledger.text import escape
from runledger.view import Damage

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["COMMANDS"]

PAUSE_MS = 200
"""Between two looks of ``--follow``."""

_HOUSEKEEPING = frozenset({"lsn", "at", "t", "crc", "durable", "steps", "run", "owner"})


def log(args: Any) -> int:
    """Print every record that is still kept; 78 where some are damaged."""
    root = find_root(None)
    files = Files(root)
    files.find()
    missing = files.ledger is None
    files.close()
    if missing and not args.follow:
        raise LedgerMissing(f"there is no ledger here ({root})")
    damaged = False
    for item in _followed(root) if args.follow else records(root, 0):
        if item is None:
            _pause()
            continue
        damaged = damaged or type(item) is Damage
        if args.json:
            document({"t": "damage", **msgspec.structs.asdict(item)} if isinstance(item, Damage) else item)
        else:
            result(_line(item))
        if args.follow:
            sys.stdout.flush()
    return 78 if damaged else 0


def _pause() -> None:
    """Wait a while, but not for a reader that left."""
    out = select.poll()
    out.register(1, 0)
    if out.poll(PAUSE_MS):
        raise BrokenPipeError


def _line(item: Record | Damage) -> str:
    if isinstance(item, Damage):
        return (
            f"damage: {escape(item.file)}, offset {item.offset}: LSN {item.first} to {item.last} are lost: "
            f"{escape(item.reason)}"
        )
    fields = msgspec.json.decode(msgspec.json.encode(item), type=dict[str, msgspec.Raw])
    facts = [f"{name}={_shown(value)}" for name, value in fields.items() if name not in _HOUSEKEEPING]
    return " ".join([f"{item.lsn:>6}", escape(item.at), f"{_shown(fields['t']):<9}", *facts]).rstrip()


def _shown(value: msgspec.Raw) -> str:
    """A text as it is, anything else as its JSON, of which not all is a value in Python."""
    raw = bytes(value)
    text = escape(msgspec.json.decode(raw) if raw[:1] == b'"' else raw.decode("utf-8", "replace"))
    return text if len(text) <= 200 else f"{text[:200]}…"


def _followed(root: str) -> Iterator[Record | Damage | None]:
    """Everything, then what is new as it comes; None while nothing is.

    After a compaction it goes on with what is still kept.
    """
    last = 0
    files = Files(root)
    try:
        while True:
            files.find()
            if files.ledger is not None:
                journal = Journal(files.ledger, "", write=False)
                try:
                    for item in _of(journal, last):
                        if item is not None:
                            last = item.last if isinstance(item, Damage) else item.lsn
                        yield item
                except Behind:
                    continue
                finally:
                    journal.close()
            yield None
    finally:
        files.close()


def _of(journal: Journal, last: int) -> Iterator[Record | Damage | None]:
    for items in journal.load(last, 0, kept=True):
        for item in items:
            first = item.first if isinstance(item, Damage) else item.lsn
            if 0 < last < first - 1:
                note(f"LSN {last + 1} to {first - 1} were folded by a compaction before they could be told")
            last = item.last if isinstance(item, Damage) else first
            yield item
    while journal.file is not None:
        yield from journal.read_on()
        if not journal.clean:
            return
        yield None


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--follow", action="store_true", help="go on, and print what is recorded from now on")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object for each record, on a line of its own"
    )


COMMANDS = (
    Command(
        "log",
        "print the journal, record by record",
        log,
        _arguments,
        more="What a compaction folded is no longer there. Damage is shown in its place, and exits 78.",
    ),
)
