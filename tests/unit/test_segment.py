"""Where reading stops and why: what a crash leaves is cut, what it never leaves is damage.

Each kind of spoiling is a test of its own. "Torn" are unsynced writes of a crash: nobody was told of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runledger import record as r
from runledger.errors import LedgerCorrupt, NewerVersion
from runledger.local import frame, segment
from runledger.local.salvage import Walk
from tests.support.journals import Journals, commit, intent


@pytest.fixture
def journals(tmp_path: Path) -> Iterator[Journals]:
    """A journal of strict steps: each record is synced before the next one is written."""
    journals = Journals(tmp_path)
    journals.writer.begin()
    journals.write(intent("a"))
    journals.write(commit(1, "a"))
    journals.write(intent("b"))
    journals.write(commit(3, "b"))
    journals.write(intent("c"))
    yield journals
    journals.close()


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Journals]:
    """The same records in a sealed segment, and one in the next."""
    journals = Journals(tmp_path)
    journals.writer.begin()
    for record in (intent("a"), commit(1, "a"), intent("b"), commit(3, "b")):
        journals.write(record)
    journals.writer.roll()
    journals.write(intent("c"))
    yield journals
    journals.close()


def unsynced(journals: Journals, *keys: str) -> None:
    """Intents that one call wrote and no sync followed."""
    journals.write(*(intent(key) for key in keys), durable=False)


# --- nothing is wrong -----------------------------------------------------------------------------------


def test_whole_journal_reads_clean(journals: Journals) -> None:
    """Filler after the last record is no record, and no sign of a crash."""
    read = journals.read()
    assert (read.verdict, read.lsns) == ("clean", [1, 2, 3, 4, 5])


def test_whole_sealed_journal_reads_clean(sealed: Journals) -> None:
    """The seal is no record."""
    read = sealed.read()
    assert (read.verdict, read.lsns) == ("clean", [1, 2, 3, 4, 5])


def test_zeros_behind_the_last_record_read_clean(journals: Journals) -> None:
    """A file system may let the size grow before the filler: no record was there."""
    with journals.tail.open("ab") as file:
        file.write(b"\0" * 5000)
    assert journals.read().verdict == "clean"


def test_a_long_seal_alone_is_no_record() -> None:
    """Who has read a segment to its end finds nothing else there when another one seals it, however many blocks."""
    seed = frame.seed_of("some")
    seal = frame.line_of(frame.Seal(records=9, blocks=[(65536, "00000000")] * 999), seed)
    assert len(seal) > segment.TOGETHER
    lines = segment.scan(seal, 5000, seed, Walk(9, 4))
    assert (lines.records, lines.end, lines.bad) == ([], 5000, None)


# --- torn: what a crash leaves --------------------------------------------------------------------------


def test_record_cut_by_the_end_of_the_file_is_torn(journals: Journals) -> None:
    """At each byte of the last record."""
    _, begin, end = journals.line(5)
    whole = journals.tail.read_bytes()
    for size in range(1, end - begin - 1):
        journals.tail.write_bytes(whole[: begin + size])
        read = journals.read()
        assert (read.verdict, read.lsns) == ("torn", [1, 2, 3, 4]), size
        assert read.torn == segment.TornTail(begin, size)


def test_record_cut_before_its_first_byte_never_was(journals: Journals) -> None:
    """Nothing of it is left, so nothing is torn."""
    journals.cut(5, 0)
    assert (journals.read().verdict, journals.read().lsns) == ("clean", [1, 2, 3, 4])


def test_record_without_its_line_feed_is_torn(journals: Journals) -> None:
    """Else the next record would be glued to it."""
    _, begin, end = journals.line(5)
    journals.cut(5, end - begin - 1)
    assert (journals.read().verdict, journals.read().lsns) == ("torn", [1, 2, 3, 4])


def test_record_that_was_whole_by_the_second_look_is_read(
    journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader without the lock meets a record in the writing, and looks again before it calls that torn."""
    whole = journals.tail.read_bytes()
    _, begin, _ = journals.line(5)
    journals.tail.write_bytes(whole[: begin + 40].ljust(len(whole), b"\n"))

    def written_meanwhile(*_: object) -> None:
        journals.tail.write_bytes(whole)

    monkeypatch.setattr(segment, "_proof", written_meanwhile)
    monkeypatch.setattr(segment, "_untorn", written_meanwhile)
    read = journals.read()
    assert (read.verdict, read.lsns) == ("clean", [1, 2, 3, 4, 5])


@pytest.mark.parametrize("filler", [b"\n", b"\0"], ids=["newlines", "zeros"])
def test_record_with_an_unwritten_sector_is_torn(journals: Journals, filler: bytes) -> None:
    """A sector of a long record never reached the disk: it holds what it held before."""
    unsynced(journals, "d" * 3000)
    _, begin, _ = journals.line(6)
    journals.put(journals.tail, (begin // 512 + 2) * 512, filler * 512)
    read = journals.read()
    assert (read.verdict, read.lsns) == ("torn", [1, 2, 3, 4, 5])


def test_hole_of_unsynced_records_is_torn(journals: Journals) -> None:
    """A sync may persist a later write and lose an earlier one: a valid record beyond proves nothing."""
    unsynced(journals, "d" * 600, "e", "f")
    _, begin, end = journals.line(6)
    journals.blank(6)
    read = journals.read()
    assert (read.verdict, read.lsns) == ("torn", [1, 2, 3, 4, 5])
    assert read.torn == segment.TornTail(begin, journals.line(8)[2] - 1 - begin)
    assert end < journals.line(8)[1]


def test_stale_line_of_lower_number_proves_nothing(journals: Journals) -> None:
    """A block that holds an older record of this very segment says nothing of the hole before it."""
    path, begin, end = journals.line(4)
    stale = path.read_bytes()[begin:end]
    unsynced(journals, "d" * 600)
    _, hole, end = journals.line(6)
    journals.blank(6)
    journals.put(path, end, stale)
    read = journals.read()
    assert (read.verdict, read.lsns) == ("torn", [1, 2, 3, 4, 5])
    assert read.torn is not None
    assert read.torn.offset == hole


# --- damage: what a crash never leaves ------------------------------------------------------------------


def test_hole_of_a_durable_record_is_damage(journals: Journals) -> None:
    """The record behind it was written by somebody who knew that it was on the disk."""
    path, begin, _ = journals.line(3)
    journals.blank(3)
    read = journals.read()
    assert (read.verdict, read.lsns) == ("damaged", [1, 2, 4, 5])
    damage = read.damage[0]
    assert (damage.file, damage.offset, damage.first, damage.last) == (str(path), begin, 3, 3)


def test_changed_bytes_amid_the_journal_are_damage(journals: Journals) -> None:
    """The file and the place are named, the rest is read."""
    path, begin, _ = journals.line(2)
    journals.flip(2, b'"name"')
    read = journals.read()
    assert (read.verdict, read.lsns) == ("damaged", [1, 3, 4, 5])
    damage = read.damage[0]
    assert (damage.file, damage.offset, damage.first, damage.last) == (str(path), begin, 2, 2)


def test_changed_value_among_many_lines_is_damage(journals: Journals) -> None:
    """A long stretch is decoded at once, and each of its lines is checked all the same."""
    journals.write(*(commit(2, f"k{number}") for number in range(30)))
    journals.flip(20, b"pay")
    read = journals.read()
    assert (read.verdict, read.damage[0].first, read.damage[0].last) == ("damaged", 20, 20)


def test_dropped_line_is_damage(journals: Journals) -> None:
    """A missing number is a missing record, though every line that is there is sound."""
    journals.drop(3)
    read = journals.read()
    assert (read.verdict, read.lsns) == ("damaged", [1, 2, 4, 5])
    assert (read.damage[0].first, read.damage[0].last) == (3, 3)


def test_changed_value_in_the_last_record_is_damage(journals: Journals) -> None:
    """It still is one JSON object, which no torn write leaves; no later record is needed to prove it."""
    journals.flip(5, b"pay")
    read = journals.read()
    assert (read.verdict, read.lsns) == ("damaged", [1, 2, 3, 4])
    assert (read.damage[0].first, read.damage[0].last) == (5, 5)


def test_any_bad_byte_in_a_sealed_segment_is_damage(sealed: Journals) -> None:
    """It was whole and synced before the next one existed, so even its end cannot be torn."""
    sealed.flip(4, b'{"t"')
    read = sealed.read()
    assert (read.verdict, read.lsns) == ("damaged", [1, 2, 3, 5])


def test_sealed_segment_cut_short_is_damage(sealed: Journals) -> None:
    """The next segment's name tells how far it went."""
    path, begin, _ = sealed.line(3)
    path.write_bytes(path.read_bytes()[: begin + 20])
    read = sealed.read()
    assert (read.verdict, read.lsns) == ("damaged", [1, 2, 5])
    assert (read.damage[0].first, read.damage[0].last) == (3, 4)


def test_missing_segment_is_damage(sealed: Journals) -> None:
    """Its numbers are known from its neighbour's name, its intents from its neighbour's header."""
    sealed.segments[0].unlink()
    read = sealed.read()
    assert read.lsns == [5]
    assert (read.damage[0].first, read.damage[0].last, read.damage[0].intents) == (1, 4, 2)


def test_damage_goes_to_the_next_good_record(journals: Journals) -> None:
    """Two bad lines in a row are one stretch."""
    journals.flip(2, b"pay")
    journals.flip(3, b"pay")
    read = journals.read()
    assert read.lsns == [1, 4, 5]
    assert [(d.first, d.last) for d in read.damage] == [(2, 3)]


def test_two_stretches_of_damage_are_told_apart(journals: Journals) -> None:
    """What lies between them is read."""
    journals.flip(1, b"pay")
    journals.flip(3, b"pay")
    read = journals.read()
    assert read.lsns == [2, 4, 5]
    assert [(d.first, d.last) for d in read.damage] == [(1, 1), (3, 3)]


# --- were intents lost? ---------------------------------------------------------------------------------


def test_lost_intent_is_counted(journals: Journals) -> None:
    """The next record's count of intents is one ahead."""
    journals.blank(3)
    assert journals.read().damage[0].intents == 1


def test_lost_outcome_is_no_lost_intent(journals: Journals) -> None:
    """The count stands still, so nothing is unknown but how the step ended."""
    journals.blank(2)
    read = journals.read()
    assert read.damage[0].intents == 0
    assert [step.key for step in read.view.open.values()] == ["a", "c"]


def test_names_and_keys_are_read_out_of_bad_bytes(journals: Journals) -> None:
    """What can still be read is shown as in doubt, never as never started."""
    journals.flip(5, b"durable")
    read = journals.read()
    assert [(d.first, d.last, d.intents) for d in read.damage] == [(5, 5, 1)]
    assert [(step.name, step.key, step.over) for step in read.view.open.values()] == [("pay", "c", True)]


# --- the header -----------------------------------------------------------------------------------------


def unusable(journals: Journals, why: str) -> None:
    """A writer refuses; a reader names the segment as damage and reads the rest."""
    with pytest.raises(LedgerCorrupt, match=why), journals.opened(write=True):
        pass
    damage = journals.read().damage
    assert [(d.file, d.offset) for d in damage] == [(str(journals.tail), 0)]


def test_damaged_header_is_loud(journals: Journals) -> None:
    """A segment with content is never taken for an empty one."""
    data = journals.tail.read_bytes()
    journals.put(journals.tail, data.index(b'"first":1'), b'"first":9')
    unusable(journals, "offset 0")


def test_damaged_header_ends_with_its_segment(sealed: Journals) -> None:
    """The next one is read; what is lost is known from its name and its header."""
    data = sealed.segments[0].read_bytes()
    sealed.put(sealed.segments[0], data.index(b'"first":1'), b'"first":9')
    read = sealed.read()
    assert (read.lsns, [(d.first, d.last, d.intents) for d in read.damage]) == ([5], [(1, 4, 2)])


def test_empty_file_is_no_segment(journals: Journals) -> None:
    """A segment has its header before it has its name."""
    journals.tail.write_bytes(b"")
    unusable(journals, "header")


def test_segment_of_another_ledger_is_loud(journals: Journals) -> None:
    """Its records are somebody else's."""
    line = journals.tail.read_bytes().split(b"\n", 1)[0]
    header = frame.header_of(line)
    header.ledger = "ffffffffffffffff"
    header.crc = ""
    journals.put(journals.tail, 0, frame.line_of(header, 0))
    unusable(journals, "another ledger")


def test_segment_under_another_name_is_loud(sealed: Journals) -> None:
    """A copy of a segment is not the segment that its name says."""
    first, second = sealed.segments
    second.write_bytes(first.read_bytes())
    unusable(sealed, "begins with LSN 1")
    assert sealed.read().lsns == [1, 2, 3, 4]


def test_later_version_is_refused_and_nothing_changes(journals: Journals) -> None:
    """A sound line of a kind that is not known here ends the reading, for readers and for writers."""
    _, _, end = journals.line(5)
    seed = journals.writer.seed
    line = frame.line_of(
        r.Halted(lsn=6, at="2026-11-29T14:20:11.123456Z", durable=5, steps=3, reason="x"), seed
    )
    body = line[: -len(b',"crc":"00000000"}\n')].replace(b'"t":"halted"', b'"t":"fenced"')
    journals.put(journals.tail, end, body + b',"crc":"%08x"}\n' % frame.crc32(body, seed))
    before = journals.tail.read_bytes()
    for write in (False, True):
        with pytest.raises(NewerVersion), journals.opened(write=write):
            pass
    assert journals.tail.read_bytes() == before
