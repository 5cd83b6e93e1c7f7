"""What a crash leaves at the end is cut, and nothing else: neither good lines, nor lines that were whole once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runledger.local.segment import TornTail
from runledger.record import Started
from runledger.view import Identity
from tests.support.journals import Journals, commit, intent


@pytest.fixture
def journals(tmp_path: Path) -> Iterator[Journals]:
    """A journal whose last call appended two intents: both are durable, both bodies ran."""
    journals = Journals(tmp_path)
    journals.writer.begin()
    journals.write(Started(lsn=0, at="", run="r-1", plan_id="p"), intent("a"))
    journals.write(commit(2, "a"))
    journals.write(intent("b"), intent("c", scope="ledger"))
    yield journals
    journals.close()


def test_no_flipped_bit_of_an_unclosed_journal_hides_a_step(journals: Journals) -> None:
    """In each byte, another bit in turn: each step that was begun is known, or new keys are refused."""
    steps = [Identity("r-1", "pay", "a"), Identity("r-1", "pay", "b"), Identity("", "pay", "c")]
    whole = journals.tail.read_bytes()
    for at in range(journals.line(1)[1], journals.line(5)[2]):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        journals.tail.write_bytes(flipped)
        read = journals.read()
        assert read.verdict == "damaged", at
        known = {*read.view.keys, *read.view.settled}
        assert any(d.intents > d.sure for d in read.damage) or known.issuperset(steps), at


@pytest.mark.parametrize("end", [b"", b'"', b',"crc":"0000000'])
def test_line_that_was_cut_off_is_torn_wherever_that_is(journals: Journals, end: bytes) -> None:
    """A short write stops at any byte, with filler behind it."""
    path, begin, after = journals.line(5)
    left = path.read_bytes()[begin : begin + 100] + end
    journals.put(path, begin, left.ljust(after - begin, b"\n"))
    assert (journals.read().verdict, journals.read().lsns) == ("torn", [1, 2, 3, 4])


def test_line_that_was_written_to_its_end_is_damage(journals: Journals) -> None:
    """Two flipped bits, which no checksum can turn back: it has its end still, so it was not cut off."""
    journals.flip(4, b'"name"')
    journals.flip(4, b'"durable"')
    read = journals.read()
    assert (read.verdict, read.lsns) == ("damaged", [1, 2, 3, 5])
    assert (read.damage[0].first, read.damage[0].last, read.damage[0].intents) == (4, 4, 1)


def test_lost_line_of_no_legible_kind_counts_as_an_intent(journals: Journals) -> None:
    """Nothing behind it tells, so the worse is believed."""
    path, begin, _ = journals.line(5)
    journals.put(path, begin, b'{"t":"xxxxxx"')
    read = journals.read()
    assert (read.verdict, read.damage[0].intents) == ("damaged", 1)


def test_line_with_zeros_in_it_is_torn(journals: Journals) -> None:
    """A sector of it was never written, in a file whose size grew before its bytes."""
    path, begin, _ = journals.line(5)
    journals.put(path, begin + 40, b"\0" * 60)
    assert (journals.read().verdict, journals.read().lsns) == ("torn", [1, 2, 3, 4])


def test_hole_before_a_valid_line_is_filled(journals: Journals) -> None:
    """Else the valid line would follow the next record that happens to be as long as the hole."""
    journals.write(intent("d" * 700), intent("e"), durable=False)
    journals.blank(6)
    _, begin, end = journals.line(7)
    with journals.opened(write=True) as (again, read):
        assert (read.verdict, again.clean) == ("torn", False)
        again.recover()
    assert journals.tail.read_bytes()[begin:end].strip(b"\n") == b""


def test_line_that_only_seemed_torn_is_not_cut(journals: Journals) -> None:
    """What was seen without the lock is read again under it: since then others have written."""
    journals.write(intent("d"))
    _, begin, _ = journals.line(6)
    with journals.opened(write=True) as (other, _):
        other.torn = TornTail(begin, 40)  # a line in the writing, when it was looked at
        journals.write(intent("e"))
        journals.write(intent("f" * 2000), durable=False)
        path, at, ends = journals.line(8)
        journals.put(path, at + 900, b"\n" * (ends - at - 900))  # its writer was killed
        other.read_on()
        assert not other.clean
    with journals.opened(write=True) as (again, _):
        assert again.torn is not None
        assert again.torn.offset == at
        again.recover()
    assert journals.read().lsns == [1, 2, 3, 4, 5, 6, 7]
