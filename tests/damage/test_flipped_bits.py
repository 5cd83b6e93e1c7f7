"""One flipped bit, anywhere: it is told, nothing happens again because of it, and a repair puts it right."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger.repair import repair
from runledger.verify import verify
from tests.damage.ledgers import Made, bits, flip, made, names_the_place, never_repeats, numbers, record_lines

SAMPLE = 10


def journal_bits(ledger: Made, count: int) -> list[tuple[str, int, int]]:
    """Some bits of each segment."""
    return [
        (path.name, offset, bit)
        for path in ledger.segments
        for offset, bit in bits(path, count, seed=len(path.read_bytes()))
    ]


def every_byte(ledger: Made) -> list[tuple[str, int, int]]:
    """A bit of each byte of each segment's content; `tests/unit/test_mending.py` turns all of them."""
    return [
        (path.name, offset, offset % 8)
        for path in ledger.segments
        for offset in range(len(path.read_bytes().rstrip(b"\n\0")) + 1)
    ]


def spoil(whole: Made, name: str, offset: int, bit: int) -> Made:
    """A copy of the ledger with one bit flipped in a file of its folder."""
    spoiled = whole.copy(whole.root.with_name("spoiled"))
    flip(spoiled.ledger / name, offset, bit)
    return spoiled


def check_journal(whole: Made, chosen: list[tuple[str, int, int]]) -> None:
    lines = record_lines(whole)
    for name, offset, bit in chosen:
        spoiled = spoil(whole, name, offset, bit)
        names_the_place(spoiled.root, spoiled.ledger / name, offset)
        report = repair(spoiled.root)
        assert (report.done, report.lost) == ("repaired", []), (name, offset, bit, report)
        assert record_lines(spoiled)[: len(lines)] == lines, (name, offset, bit)
        assert verify(spoiled.root) == []
        never_repeats(spoiled, all_known=True)


@pytest.mark.parametrize("acts", [["steps"], ["steps", "compact", "steps"]], ids="-".join)
def test_a_repair_loses_nothing_of_the_journal(quick: Path, acts: list[str]) -> None:
    """`verify` names the segment; after the repair every record is there again, to the byte."""
    whole = made(quick / "whole", *acts)
    check_journal(whole, journal_bits(whole, SAMPLE))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_repair_loses_nothing_of_the_journal_at_every_byte(quick: Path) -> None:
    """The same for all of them."""
    whole = made(quick / "whole", "steps", "compact", "steps")
    check_journal(whole, every_byte(whole))


def check_unrepaired(whole: Made, chosen: list[tuple[str, int, int]]) -> None:
    for name, offset, bit in chosen:
        spoiled = spoil(whole, name, offset, bit)
        before = (spoiled.ledger / name).read_bytes()
        never_repeats(spoiled)
        assert (spoiled.ledger / name).read_bytes()[: len(before) - 200] == before[:-200], (
            "damage is not touched"
        )


def test_nothing_is_repeated_before_a_repair(quick: Path) -> None:
    """Whatever bit it is: a step that happened, or may have, never runs."""
    whole = made(quick / "whole", "steps", "steps")
    check_unrepaired(whole, journal_bits(whole, SAMPLE))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_nothing_is_repeated_before_a_repair_at_every_byte(quick: Path) -> None:
    """The same for all of them."""
    whole = made(quick / "whole", "steps")
    check_unrepaired(whole, every_byte(whole))


def test_flipped_bits_of_the_checkpoint(quick: Path) -> None:
    """`verify` names it, its copy in the history serves meanwhile, and a repair puts it right."""
    whole = made(quick / "whole", "steps", "compact", "steps")
    for offset, bit in bits(whole.ledger / "checkpoint.json", SAMPLE, seed=1):
        spoiled = spoil(whole, "checkpoint.json", offset, bit)
        names_the_place(spoiled.root, spoiled.ledger / "checkpoint.json", 0)
        never_repeats(spoiled, all_known=True)
        spoiled = spoil(whole, "checkpoint.json", offset, bit)
        assert repair(spoiled.root).lost == []
        assert verify(spoiled.root) == []
        never_repeats(spoiled, all_known=True)


def test_flipped_bits_of_the_checkpoint_without_a_history(quick: Path) -> None:
    """The checksum alone brings the checkpoint back; what the history knew stays known as lost."""
    whole = made(quick / "whole", "steps", "compact", "steps")
    (whole.ledger / "history.db").unlink()
    for offset, bit in bits(whole.ledger / "checkpoint.json", 8, seed=2):
        spoiled = spoil(whole, "checkpoint.json", offset, bit)
        report = repair(spoiled.root)
        assert "flipped bit" in report.put_right[0].what
        assert report.unknown > 0
        never_repeats(spoiled)


def check_history(whole: Made, count: int) -> None:
    path = whole.ledger / "history.db"
    for offset, bit in bits(path, count, seed=3):
        spoiled = spoil(whole, path.name, offset, bit)
        found = verify(spoiled.root)
        never_repeats(spoiled, all_known=not found)
        spoiled = spoil(whole, path.name, offset, bit)
        report = repair(spoiled.root)
        assert (report.done == "repaired") == bool(found), (offset, bit, found, report)
        assert [f for f in verify(spoiled.root) if not report.lost] == []
        never_repeats(spoiled, all_known=not report.lost)


def test_flipped_bits_of_the_history(quick: Path) -> None:
    """Where it matters it is told; what still has its checksum is carried over, and what has not is in doubt."""
    check_history(made(quick / "whole", "steps", "compact", "steps"), SAMPLE)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_flipped_bits_of_the_history(quick: Path) -> None:
    """The same for a longer history, more often."""
    check_history(made(quick / "whole", *["steps"] * 12, "compact", "steps"), 3000)


def test_a_reader_guesses_nothing(quick: Path) -> None:
    """Only a repair turns a bit back: until then the line is damage, for whoever asks."""
    whole = made(quick / "whole", "steps")
    path = whole.segments[0]
    offset = path.read_bytes().index(b'"name":"pay"')
    flip(path, offset + 9, 0)
    assert verify(whole.root)[0].offset == path.read_bytes().rfind(b"\n", 0, offset) + 1
    assert [(d.first, d.last) for d in numbers(whole)[1]] == [(3, 3)]
