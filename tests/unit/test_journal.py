"""Appending: where a record goes, what is synced before what, and how a tail is made fit after a crash."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import msgspec
import pytest

from runledger import record as r
from runledger.errors import DiskRefused, UsageError
from runledger.local.directory import Directory, File
from runledger.local.journal import Behind, segments
from runledger.local.layout import EXTENT, FIRST_EXTENT, LONGEST_LINE, segment_first, segment_name
from tests.support.journals import LEDGER, Journals, commit, intent


@pytest.fixture
def journals(tmp_path: Path) -> Iterator[Journals]:
    """An empty journal that rolls after some eight records."""
    journals = Journals(tmp_path, segment_bytes=1000)
    journals.writer.begin()
    yield journals
    journals.close()


def beat() -> r.Heartbeat:
    """A record without a step."""
    return r.Heartbeat(lsn=0, at="", run="r-1")


def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done to files from now on, in order."""
    done: list[str] = []

    def watch(cls: type, name: str) -> None:
        inner = getattr(cls, name)

        def watched(self: File | Directory, *args: object) -> object:
            what = name if isinstance(self, File) else f"directory.{name}"
            done.append(what)
            return inner(self, *args)

        monkeypatch.setattr(cls, name, watched)

    for name in ("pwrite", "datasync", "sync", "truncate"):
        watch(File, name)
    for name in ("rename", "sync", "unlink"):
        watch(Directory, name)
    return done


# --- names ----------------------------------------------------------------------------------------------


def test_segment_names_sort_by_their_number() -> None:
    """Twenty digits, so that text order is LSN order for as long as anybody lives."""
    assert segment_name(1) == "00000000000000000001.jsonl"
    assert segment_first("00000000000000000012.jsonl") == 12
    for other in (
        "1.jsonl",
        "00000000000000000001.jsonl.ab.tmp",
        "0000000000000000000x.jsonl",
        "checkpoint.json",
    ):
        assert segment_first(other) is None


# --- appending ------------------------------------------------------------------------------------------


def test_new_segment_is_its_header_and_filler(journals: Journals) -> None:
    """The header comes first, line feeds follow: a person's ``tail`` and ``jq`` read it."""
    data = journals.tail.read_bytes()
    assert len(data) == FIRST_EXTENT
    head, _, rest = data.partition(b"\n")
    assert msgspec.json.decode(head)["t"] == "segment"
    assert rest.strip(b"\n") == b""


def test_records_are_numbered_and_counted(journals: Journals) -> None:
    """``steps`` counts the intents up to and including the record."""
    journals.write(beat(), intent("a"), commit(2, "a"), intent("b"))
    records = [x for x in journals.read().items if not isinstance(x, r.Opened)]
    assert [(x.lsn, x.steps) for x in records] == [(1, 0), (2, 1), (3, 1), (4, 2)]  # type: ignore[union-attr]


def test_durable_is_what_the_writer_knew(journals: Journals) -> None:
    """A record never claims itself: it says what was synced before it was written."""
    journals.write(intent("a"))
    journals.write(intent("b"), durable=False)
    journals.write(intent("c"))
    journals.write(intent("d"))
    assert [x.durable for x in journals.read().items if not isinstance(x, r.Opened)] == [0, 1, 1, 3]  # type: ignore[union-attr]


def test_records_of_one_call_are_one_write(journals: Journals, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch needs one write and one sync, however many wait for it."""
    done = calls(monkeypatch)
    journals.write(intent("a"), intent("b"), intent("c"))
    assert done == ["pwrite", "datasync"]


def test_record_longer_than_a_reader_takes(journals: Journals) -> None:
    """It is refused before anything is written, and its numbers are the next one's."""
    journals.write(intent("a"))
    with pytest.raises(UsageError, match="is too long"):
        journals.write(intent("x" * LONGEST_LINE))
    journals.write(intent("b"))
    records = [x for x in journals.read().items if not isinstance(x, r.Opened)]
    assert [(x.lsn, x.steps) for x in records] == [(1, 1), (2, 2)]  # type: ignore[union-attr]


def test_append_overwrites_filler_and_keeps_the_size(journals: Journals) -> None:
    """So that a data sync needs no metadata."""
    size = journals.tail.stat().st_size
    journals.write(intent("a"))
    assert journals.tail.stat().st_size == size


def test_segment_grows_by_whole_extents(tmp_path: Path) -> None:
    """First by a small one, since most runs are small; then by larger ones."""
    journals = Journals(tmp_path)
    journals.writer.begin()
    sizes = set()
    for _ in range(40):
        journals.write(r.Halted(lsn=0, at="", reason="x" * 15_000), durable=False)
        sizes.add(journals.tail.stat().st_size)
    journals.close()
    assert all(size % FIRST_EXTENT == 0 for size in sizes)
    assert sorted(size for size in sizes if size > EXTENT) == [
        EXTENT * n for n in range(2, max(sizes) // EXTENT + 1)
    ]


def test_intent_leaves_room_for_outcomes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk an intent is refused before its effect, and outcomes of open steps find their place."""
    journals = Journals(tmp_path)
    journals.writer.begin()
    inner = File.pwrite

    def full(self: File, data: bytes, offset: int) -> None:
        if offset + len(data) > self.stat().size:
            raise DiskRefused("no space", path=self.path, errno=errno.ENOSPC)
        inner(self, data, offset)

    monkeypatch.setattr(File, "pwrite", full)
    accepted = 0
    try:
        while accepted < 1000:
            journals.write(intent("k" * 200))
            accepted += 1
    except DiskRefused:
        pass
    assert accepted < 1000
    with journals.opened(write=True) as (again, read):
        assert again.lsn == accepted
        assert read.verdict == "clean"
        for lsn in range(1, 11):
            again.stamp(commit(lsn, "k" * 200))
            again.append()
    journals.close()


def test_a_writer_goes_on_where_another_one_stopped(journals: Journals) -> None:
    """Two handles, one order: each reads what the other appended before it appends."""
    journals.write(intent("a"))
    with journals.opened(write=True) as (other, _):
        other.stamp(intent("b"))
        other.append()
        assert [x.lsn for x in journals.writer.read_on()] == [2]
        journals.write(intent("c"))
        assert [x.lsn for x in other.read_on()] == [3]
    assert journals.read().lsns == [1, 2, 3]


def test_trim_leaves_nothing_behind_the_last_record(journals: Journals) -> None:
    """A writer that leaves drops the filler, so that ``tail`` shows records."""
    journals.write(intent("a"))
    journals.writer.trim()
    assert journals.tail.stat().st_size == journals.line(1)[2]
    journals.write(intent("b"))
    assert journals.read().lsns == [1, 2]


# --- rolling --------------------------------------------------------------------------------------------


def test_roll_by_size(journals: Journals) -> None:
    """The record after the one that went beyond the limit begins a segment."""
    for key in "abcdefghijklmnopqrst":
        journals.write(intent(key))
    assert len(journals.segments) > 2
    read = journals.read()
    assert (read.verdict, read.lsns) == ("clean", list(range(1, 21)))
    for path in journals.segments[:-1]:
        assert path.stat().st_size < 1000 + 600


def test_each_segment_names_the_one_before_and_counts_its_intents(journals: Journals) -> None:
    """So that a missing segment is known by what it held."""
    for key in "abcdefghijklmnopqrst":
        journals.write(intent(key))
    heads = [msgspec.json.decode(path.read_bytes().split(b"\n", 1)[0]) for path in journals.segments]
    assert [head["first"] for head in heads] == segments(Directory.at(str(journals.folder)))  # type: ignore[arg-type]
    assert "previous" not in heads[0]
    assert [head["previous"] for head in heads[1:]] == [head["segment"] for head in heads[:-1]]
    assert [head.get("steps", 0) for head in heads] == [head["first"] - 1 for head in heads]
    assert {head["ledger"] for head in heads} == {LEDGER}


def test_sealed_segment_ends_with_its_seal(journals: Journals) -> None:
    """No filler is left, the seal counts the records, and its blocks cover every byte before it."""
    journals.write(intent("a"), intent("b"))
    journals.writer.roll()
    data = journals.segments[0].read_bytes()
    body, last = data[: data.rindex(b"\n", 0, -1) + 1], data[data.rindex(b"\n", 0, -1) + 1 :]
    seal = msgspec.json.decode(last)
    assert (seal["t"], seal["records"]) == ("seal", 2)
    assert sum(length for length, _ in seal["blocks"]) == len(body)
    assert seal["blocks"] == [[len(body), f"{crc32(body):08x}"]]


def test_roll_syncs_the_old_segment_before_the_new_one_has_a_name(
    journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the new one is whole and synced before it has one; the name itself is synced last."""
    journals.write(intent("a"))
    done = calls(monkeypatch)
    journals.writer.roll()
    assert done == [
        "pwrite",  # the seal
        "truncate",
        "sync",
        "pwrite",  # the header and its filler, under a temporary name
        "sync",
        "directory.rename",
        "directory.sync",
    ]


def test_roll_of_an_empty_segment_does_nothing(journals: Journals) -> None:
    """A segment has a record, or it is the last one."""
    journals.writer.roll()
    assert len(journals.segments) == 1


def test_crash_between_seal_and_new_segment(journals: Journals) -> None:
    """The next writer finds the seal and goes on in a new segment."""
    journals.write(intent("a"))
    journals.writer.roll()
    journals.segments[1].unlink()
    with journals.opened(write=True) as (again, read):
        assert (read.verdict, again.sealed) == ("clean", True)
        again.stamp(intent("b"))
        again.append()
    assert journals.read().lsns == [1, 2]
    assert [segment_first(path.name) for path in journals.segments] == [1, 2]


def test_refused_name_leaves_no_file(journals: Journals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is appended where the new segment could not be made."""
    journals.write(intent("a"))

    def refused(self: Directory, old: str, new: str) -> None:
        raise DiskRefused("no", path=old, errno=errno.EIO)

    monkeypatch.setattr(Directory, "rename", refused)
    with pytest.raises(DiskRefused):
        journals.writer.roll()
    assert [path.name for path in journals.folder.iterdir()] == ["00000000000000000001.jsonl"]


def test_reader_moves_on_to_the_next_segment(journals: Journals) -> None:
    """One that was reading the tail sees the seal and what follows it."""
    journals.write(intent("a"))
    with journals.opened() as (reader, _):
        journals.write(intent("b"))
        journals.writer.roll()
        journals.write(intent("c"))
        assert [x.lsn for x in reader.read_on()] == [2, 3]
        assert reader.read_on() == []


def test_reader_whose_next_segment_is_gone_is_behind(journals: Journals) -> None:
    """It begins again from the checkpoint: a gap is never stepped over."""
    journals.write(intent("a"))
    with journals.opened() as (reader, _):
        journals.writer.roll()
        journals.write(intent("b"))
        journals.writer.roll()
        journals.write(intent("c"))
        for path in journals.segments[:-1]:
            path.unlink()
        with pytest.raises(Behind):
            reader.read_on()


# --- recovery -------------------------------------------------------------------------------------------


def test_torn_bytes_become_filler_before_anything_is_appended(
    journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Durably, so that no later crash brings a piece of them back behind a new record."""
    journals.write(intent("a"))
    journals.write(intent("b"), durable=False)
    journals.cut(2, 100)
    _, begin, _ = journals.line(1)
    with journals.opened(write=True) as (again, read):
        assert read.verdict == "torn"
        done = calls(monkeypatch)
        torn = again.recover()
        assert done == ["pwrite", "datasync"]
        assert torn is not None
        assert (torn.segment, torn.offset, torn.size) == (journals.tail.name, read.torn.offset, 100)  # type: ignore[union-attr]
        again.stamp(torn)
        again.append()
        assert again.recover() is None
    assert begin < torn.offset
    read = journals.read()
    assert (read.verdict, read.lsns, read.view.torn) == ("clean", [1, 2], 1)


def test_recovery_may_be_repeated(journals: Journals) -> None:
    """A crash inside it leaves what it leaves for the next one."""
    journals.write(intent("a"))
    journals.write(intent("b" * 3000), durable=False)
    path, begin, _ = journals.line(2)
    whole = path.read_bytes()
    for boundary in range(begin // 512 * 512 + 512, begin + 3000, 512):
        spoilt = bytearray(whole)
        spoilt[begin + 2100 : begin + 2700] = b"\n" * 600
        spoilt[begin:boundary] = b"\n" * (boundary - begin)  # the recovery's own write came so far
        path.write_bytes(spoilt)
        with journals.opened(write=True) as (again, read):
            assert read.lsns == [1]
            again.recover()
        assert (journals.read().lsns, journals.read().verdict) == ([1], "clean")


def test_zeros_of_an_unfinished_extension_become_filler(journals: Journals) -> None:
    """A crash may leave a size that grew before its bytes: no record was there, and none is reported torn."""
    journals.write(intent("a"))
    path, _, end = journals.line(1)
    data = path.read_bytes()
    path.write_bytes(data[:end] + b"\0" * 5000)
    with journals.opened(write=True) as (again, read):
        assert (read.verdict, again.clean) == ("clean", False)
        assert again.recover() is None
        assert again.clean
    assert path.read_bytes()[end:].strip(b"\n") == b""


def test_damage_is_never_cut(journals: Journals) -> None:
    """The bad bytes stay where they are, and what comes next goes behind them."""
    journals.write(intent("a"))
    journals.flip(1, b"pay")
    path, begin, end = journals.line(1)
    bad = path.read_bytes()[begin:end]
    with journals.opened(write=True) as (again, read):
        assert read.verdict == "damaged"
        assert again.recover() is None
        again.stamp(intent("b"))
        again.append()
    assert path.read_bytes()[begin:end] == bad
    assert journals.read().lsns == [2]


def test_unproven_records_are_written_again(journals: Journals, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed sync the cache shows what the disk lacks: only a fresh write gets it there."""
    journals.write(intent("a"))
    journals.write(intent("b"), durable=False)
    journals.write(intent("c"), durable=False)
    _, begin, _ = journals.line(2)
    end = journals.line(3)[2]
    data = journals.tail.read_bytes()[begin:end]
    written: list[tuple[bytes, int]] = []
    with journals.opened(write=True) as (again, _):
        monkeypatch.setattr(File, "pwrite", lambda _, data, offset: written.append((data, offset)))
        again.rewrite()
        again.rewrite()
    assert written == [(data, begin)]


def test_line_in_the_writing_is_left_for_later(journals: Journals) -> None:
    """A reader without the lock may see half of a line, and sees all of it the next time."""
    journals.write(intent("a"))
    with journals.opened() as (reader, _):
        journals.write(intent("b"))
        path, begin, end = journals.line(2)
        whole = path.read_bytes()[begin:end]
        journals.put(path, begin + 40, b"\n" * (end - begin - 40))
        assert reader.read_on() == []
        journals.put(path, begin, whole)
        assert [x.lsn for x in reader.read_on()] == [2]
