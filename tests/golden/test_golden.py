"""Bytes that an earlier version wrote: every later one reads them, and writes the same records the same way.

The folder is frozen. What it holds is said by hand in ``expected_v1``, not by the encoder that wrote it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest

import runledger
from runledger import Ledger, NewerVersion
from runledger.fold import advance
from runledger.local import checkpoint, frame
from runledger.local.directory import Directory
from runledger.local.history import History
from runledger.local.journal import Journal
from runledger.record import Record
from runledger.state_file import verifies
from runledger.view import (
    Damage,
    Identity,
    MarkView,
    OpenStep,
    Owner,
    Run,
    Saved,
    Settled,
    SprintView,
    View,
)
from tests.golden import expected_v1 as expected
from tests.golden.add import record_of

V1 = Path(__file__).parent / "v1"

FROZEN = {
    "ledger/00000000000000000001.jsonl": "9b76689d2c161755d544ce330c6b3808052816ea4e11a5ef729443b958477af8",
    "ledger/00000000000000000009.jsonl": "7ee9818e22cbdd76789c20f6a4e0290860547ec97fcfc104e7b62a56ef13bff5",
    "ledger/00000000000000000022.jsonl": "7e522f3d5f38692450cecaa249da18fbf017ceea3e12573bec73694bc884dd7a",
    "ledger/checkpoint.json": "f4855003d31fb731f033014228f06978ff518f8e8e017605f091d5447d49d0c1",
    "ledger/history.db": "33d3ac60b571857f4d6d5904ecef3d6c5742a0c52338adfe1f997874a1d44ff3",
    f"ledger/results/{expected.LARGE_DIGEST}": expected.LARGE_DIGEST,
    "sprint-plan-state.json": "9e2570f6b1fe189578d53116643991a92cc53471d70437e462cd958483bccd2b",
}

HEADERS = [
    {"segment": "d4735e3a265e16ee", "first": 1, "at": "2026-01-02T03:04:05.000001Z"},
    {
        "segment": "ef2d127de37b942b",
        "first": 9,
        "at": "2026-01-02T03:04:05.000010Z",
        "steps": 2,
        "previous": "d4735e3a265e16ee",
    },
    {
        "segment": "e7f6c011776e8db7",
        "first": 22,
        "at": "2026-01-02T03:04:05.000024Z",
        "steps": 4,
        "previous": "ef2d127de37b942b",
    },
]
SEALS = [(8, [(1591, "5465c0e6")]), (13, [(2686, "5cf68c7f")])]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the golden folder, where a ledger looks for it."""
    shutil.copytree(V1, tmp_path / ".run")
    return tmp_path


def segments(folder: Path = V1) -> list[Path]:
    """The segments, in order."""
    return sorted((folder / "ledger").glob("*.jsonl"))


def lines(path: Path) -> list[bytes]:
    """The lines of a segment, filler left out."""
    return path.read_bytes().rstrip(b"\n").split(b"\n")


def numbered() -> Iterator[tuple[int, dict[str, Any]]]:
    """The segment and the fields of each record, with number, time, and what was durable and counted."""
    lsn = durable = steps = 0
    for at, batches in enumerate(expected.SEGMENTS):
        for batch in batches:
            for fields in batch:
                lsn += 1
                steps += fields["t"] == "intent"
                tick = lsn + at + 1
                known = {
                    "lsn": lsn,
                    "at": f"2026-01-02T03:04:05.{tick:06d}Z",
                    "durable": durable,
                    "steps": steps,
                }
                yield at, {**fields, **known}
            durable = lsn


RECORDS = list(numbered())


def fields_of(record: Record) -> dict[str, Any]:
    """The fields of a record that are not at their default."""
    found: dict[str, Any] = {"t": record.__struct_config__.tag}
    for field in msgspec.structs.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, msgspec.Raw):
            value = bytes(value)
        elif isinstance(value, msgspec.Struct):
            value = msgspec.to_builtins(value)
        elif isinstance(value, tuple):
            value = list(value)
        default = field.default if field.default is not msgspec.NODEFAULT else None
        if field.name != "crc" and (field.required or value not in (default, [], b"")):
            found[field.name] = value
    return found


def load(folder: Path, after: int = 0, steps: int = 0) -> list[Record]:
    """What today's reader makes of the segments."""
    directory = Directory.at(str(folder / "ledger"))
    assert directory is not None
    journal = Journal(directory, expected.LEDGER, write=False)
    try:
        return [item for items in journal.load(after, steps) for item in items]  # type: ignore[misc]
    finally:
        journal.close()
        directory.close()


# --- the bytes ------------------------------------------------------------------------------------------


def test_golden_bytes_are_frozen() -> None:
    """Nothing was made anew, nothing is missing, nothing was put beside it."""
    found = {
        str(path.relative_to(V1)): sha256(path.read_bytes()).hexdigest()
        for path in V1.rglob("*")
        if path.is_file()
    }
    assert found == FROZEN


def test_every_kind_is_there() -> None:
    """A kind that joins the format needs a golden line."""
    from runledger.record import RECORDS as KINDS

    assert {fields["t"] for _, fields in RECORDS} == set(KINDS)


def test_records_read_as_what_was_written() -> None:
    """Each field of each record has the value that is said by hand."""
    defaults = {"durable": 0, "steps": 0}
    wanted = [{k: v for k, v in fields.items() if defaults.get(k) != v} for _, fields in RECORDS]
    assert [fields_of(record) for record in load(V1)] == wanted


@pytest.mark.parametrize("at", range(len(RECORDS)))
def test_encoder_writes_exactly_this_line(at: int) -> None:
    """The record that is said by hand, encoded today, is the golden line to the byte."""
    segment, fields = RECORDS[at]
    path = segments()[segment]
    head = HEADERS[segment]
    assert isinstance(head["first"], int)
    line = lines(path)[fields["lsn"] - head["first"] + 1]
    assert frame.encode(record_of(fields), frame.seed_of(str(head["segment"]))) == line + b"\n"


@pytest.mark.parametrize("at", range(3))
def test_header_line(at: int) -> None:
    """A header is read as what it says, and written the same way."""
    line = lines(segments()[at])[0]
    header = frame.Header(format=1, ledger=expected.LEDGER, **HEADERS[at])  # type: ignore[arg-type]
    assert frame.line_of(header, 0) == line + b"\n"
    read = frame.header_of(line)
    assert {name: getattr(read, name) for name in HEADERS[at]} == HEADERS[at]


@pytest.mark.parametrize("at", range(2))
def test_seal_line(at: int) -> None:
    """A seal too; its blocks are the checksums of the bytes before it."""
    path = segments()[at]
    line = lines(path)[-1]
    seed = frame.seed_of(str(HEADERS[at]["segment"]))
    records, blocks = SEALS[at]
    assert frame.line_of(frame.Seal(records=records, blocks=blocks), seed) == line + b"\n"
    seal = frame.seal_of(line, seed)
    assert seal is not None
    assert (seal.records, seal.blocks) == (records, blocks)
    data = path.read_bytes()
    assert [(len(data) - len(line) - 1, f"{crc32(data[: -len(line) - 1]):08x}")] == blocks


def test_checksums_without_this_package() -> None:
    """As the reference says: CRC-32 of all before the last member, seeded with that of the segment's id."""
    for at, path in enumerate(segments()):
        head, *records = lines(path)
        assert head.endswith(b',"crc":"%08x"}' % crc32(head[:-18]))
        seed = crc32(str(HEADERS[at]["segment"]).encode())
        for line in records:
            assert line[-18:] == b',"crc":"%08x"}' % crc32(line[:-18], seed)


# --- what follows from them -----------------------------------------------------------------------------


def view_after(records: list[Record], view: View) -> View:
    """What is known after these."""
    for record in records:
        advance(view, record)
    return view


def test_checkpoint_and_the_rest_is_the_whole(root: Path) -> None:
    """A reader that begins at the checkpoint ends where one ends that reads everything."""
    directory = Directory.at(str(root / ".run" / "ledger"))
    assert directory is not None
    folded = checkpoint.read(directory)
    directory.close()
    assert folded is not None
    assert (folded.ledger, folded.lsn, folded.steps) == (expected.LEDGER, expected.FOLDED_UPTO, 2)
    rest = view_after(load(V1, folded.lsn, folded.steps), folded)
    whole = view_after(load(V1), View(ledger=expected.LEDGER))
    for view in (rest, whole):
        assert (view.lsn, view.steps, view.deaths, view.torn) == (28, 5, 1, 1)
    assert msgspec.json.encode(rest.run) == msgspec.json.encode(whole.run)
    assert (rest.keys, list(rest.open), list(rest.owners)) == (
        whole.keys,
        list(whole.open),
        list(whole.owners),
    )
    assert rest.keys == {Identity("r-2", "pay", "a"): 26}


def test_history_knows_the_folded_step(root: Path) -> None:
    """The embedded store of that time gives the outcome, and proves a miss."""
    history = History.open(str(root / ".run" / "ledger" / "history.db"), expected.LEDGER, read_only=True)
    assert history is not None
    try:
        found = history.get(Identity("r-1", "pay", "a"))
        assert found is not None
        assert (found.status, found.lsn, found.of, bytes(found.result)) == (
            "committed",
            5,
            3,
            b'{"$tuple":["url",1.50]}',
        )
        assert [(mark.label, bytes(mark.data)) for mark in found.marks] == [("sent", b'{"id":7}')]
        assert history.get(Identity("r-1", "pay", "b")) is None
        assert history.verify() == []
    finally:
        history.close()


def test_replay_of_the_golden_ledger(root: Path) -> None:
    """The report of a reader that writes nothing."""
    before = tree(root)
    report = runledger.replay(root)
    assert (report.state, report.lsn, report.committed, report.aborted) == ("JACKED_OUT", 28, 0, 0)
    assert [(s.name, s.key, s.lsn, s.attempt, s.started) for s in report.in_doubt] == [
        ("pay", "a", 26, 1, "2026-01-02T03:04:05.000029Z")
    ]
    assert (report.in_flight, report.torn_tail, report.corruption) == ([], None, [])
    assert tree(root) == before


def test_today_s_writer_goes_on(root: Path) -> None:
    """Every earlier answer stays, numbers go on, and a key for ever is still known in a new run."""
    with Ledger.open(root) as ledger:
        found = ledger.lookup("publish", "ü/\n1")
        assert found is not None
        assert (found.status, found.result) == ("committed", {"pages": ["one", "two"]})
        ledger.start(plan_id="p-3")
        with ledger.step("pay", key="a") as step:
            assert step.lsn > 28
        with pytest.raises(runledger.StepCommitted), ledger.step("publish", key="ü/\n1", scope="ledger"):
            raise AssertionError
    assert [path.read_bytes() for path in segments(root / ".run")[:2]] == [
        p.read_bytes() for p in segments()[:2]
    ]


def test_state_file_of_that_time_is_ours() -> None:
    """Its digest is that of its bytes, for this ledger and no other."""
    text = (V1 / "sprint-plan-state.json").read_text()
    assert verifies(text, expected.LEDGER)
    assert not verifies(text, "5ca1ab1e00000002")
    assert not verifies(text.replace("2.50", "2.5"), expected.LEDGER)


# --- the future -----------------------------------------------------------------------------------------


def tree(root: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def closed(body: bytes, seed: int) -> bytes:
    """A line with the checksum that it should have."""
    return body + b',"crc":"%08x"}\n' % crc32(body, seed)


def put_line(root: Path, body: bytes) -> None:
    """Write a sound line behind the last record."""
    path = segments(root / ".run")[-1]
    data = path.read_bytes()
    end = len(data.rstrip(b"\n")) + 1
    line = closed(body, crc32(str(HEADERS[-1]["segment"]).encode()))
    path.write_bytes(data[:end] + line + data[end + len(line) :])


def later_kind(root: Path) -> None:
    """A record of a kind that is not known here."""
    put_line(root, b'{"t":"fenced","lsn":29,"at":"2026-01-02T03:04:05.000032Z","durable":28,"steps":5')


def later_field(root: Path) -> None:
    """A known kind with a field more."""
    put_line(
        root, b'{"t":"heartbeat","lsn":29,"at":"2026-01-02T03:04:05.000032Z","durable":28,"steps":5,"load":3'
    )


def later_segment(root: Path) -> None:
    """A segment of the next format, whatever its checksum is made of."""
    path = segments(root / ".run")[-1]
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2', 1))


def later_checkpoint(root: Path) -> None:
    """A checkpoint that knows more than this version does."""
    path = root / ".run" / "ledger" / "checkpoint.json"
    body = path.read_bytes()[:-19].replace(b'"lsn":8', b'"lsn":8,"fences":[]')
    path.write_bytes(closed(body, 0))


def later_state_file(root: Path) -> None:
    """A snapshot of the next version."""
    path = root / ".run" / "sprint-plan-state.json"
    path.write_bytes(path.read_bytes().replace(b'"version": 1', b'"version": 2'))


FUTURES = [later_kind, later_field, later_segment, later_checkpoint, later_state_file]


@pytest.mark.parametrize("spoil", FUTURES, ids=lambda spoil: spoil.__name__)
def test_the_future_is_refused_and_loses_nothing(root: Path, spoil: Callable[[Path], None]) -> None:
    """Readers and writers say that it is newer, and every byte stays as it is."""
    spoil(root)
    before = tree(root)
    with pytest.raises(NewerVersion):
        runledger.replay(root)
    with Ledger.open(root) as ledger, pytest.raises(NewerVersion):
        ledger.start(plan_id="p-3")
    after = {name: data for name, data in tree(root).items() if not name.startswith(".run/ledger/owners/")}
    for extra in (".run/ledger/.gitignore", ".run/ledger/lock"):
        after.pop(extra, None)
    assert after == before


# --- the page -----------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs/reference/format-v1.md").read_text("utf-8")


def test_worked_example_is_in_the_golden_bytes() -> None:
    """Each line that the reference shows is a line of the file that it names."""
    shown = [line.encode() for line in PAGE.splitlines() if line.startswith('{"t":"')]
    assert len(shown) >= 5
    assert [line for line in shown if line not in lines(segments()[0])] == []


def test_hex_dump_is_of_the_golden_bytes() -> None:
    """Offsets and bytes, as a person would look them up."""
    data = segments()[0].read_bytes()
    rows = re.findall(r"^([0-9a-f]{8})  ([0-9a-f ]{2,49}?) +\|", PAGE, re.MULTILINE)
    assert len(rows) == 3
    for offset, text in rows:
        want = bytes.fromhex(text)
        assert data[int(offset, 16) :][: len(want)] == want


def test_reference_names_every_kind_and_every_member() -> None:
    """A member that joins a kind needs a word on the page."""
    from runledger.record import RECORDS as KINDS

    rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", PAGE, re.MULTILINE))
    common = {"lsn", "at", "run", "owner", "durable", "steps", "crc"}
    for tag, kind in KINDS.items():
        members = set(kind.__struct_fields__) - common
        assert set(re.findall(r"`(\w+)`", rows[tag])) >= members, tag
    for kind in (frame.Header, frame.Seal):
        assert all(f"| `{name}` |" in PAGE for name in kind.__struct_fields__)


def test_reference_names_every_member_of_what_is_kept() -> None:
    """The checkpoint and the history are files too."""
    for kind in (View, Run, SprintView, OpenStep, MarkView, Saved, Owner, Damage, Settled):
        assert all(
            f"`{name}`" in PAGE for name in kind.__struct_fields__ if name not in {"settled", "keys"}
        ), kind


def test_reference_names_every_tag() -> None:
    """The tags of typed values too."""
    from runledger.values import leaves, packing, unpacking

    tags = {*leaves.READERS, *packing.SEQUENCES.values(), *packing.PAIRS.values(), *unpacking._CLASSES}
    assert [tag for tag in sorted({*tags, "$deque", "$enum"}) if f"`{tag}`" not in PAGE] == []
