"""Whole segments: missing, cut, doubled, in each other's place, of somebody else, or no file at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runledger import Ledger, LedgerCorrupt, LedgerError
from runledger.repair import repair
from runledger.verify import verify
from tests.damage.ledgers import Made, made, never_repeats, numbers, record_lines, repaired

WORST = {"first": 0, "middle": 1, "last": -1}


def missing(ledger: Made, path: Path) -> None:
    path.unlink()


def cut_in_half(ledger: Made, path: Path) -> None:
    os.truncate(path, len(path.read_bytes().rstrip(b"\n\0")) // 2)


def cut_before_a_line_feed(ledger: Made, path: Path) -> None:
    lines = path.read_bytes().rstrip(b"\n\0").split(b"\n")
    os.truncate(path, len(b"\n".join(lines[: max(2, len(lines) // 2)])))


def cut_in_its_header(ledger: Made, path: Path) -> None:
    os.truncate(path, 40)


def empty(ledger: Made, path: Path) -> None:
    os.truncate(path, 0)


def zeroed_at_its_start(ledger: Made, path: Path) -> None:
    path.write_bytes(bytes(1024) + path.read_bytes()[1024:])


def without_a_header(ledger: Made, path: Path) -> None:
    path.write_bytes(path.read_bytes().partition(b"\n")[2])


def a_pipe(ledger: Made, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_folder(ledger: Made, path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_link(ledger: Made, path: Path) -> None:
    elsewhere = ledger.root / "elsewhere.jsonl"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def somebody_elses(ledger: Made, path: Path) -> None:
    other = made(ledger.root.with_name("other"), "steps", "steps")
    shutil.copy(other.segments[0], path)


def an_older_copy_of_the_first(ledger: Made, path: Path) -> None:
    shutil.copy(ledger.segments[0], path)


SPOILS = [
    missing,
    cut_in_half,
    cut_before_a_line_feed,
    cut_in_its_header,
    empty,
    zeroed_at_its_start,
    without_a_header,
    a_pipe,
    a_folder,
    a_link,
    somebody_elses,
    an_older_copy_of_the_first,
]

CASES = [
    (spoil, which)
    for spoil in SPOILS
    for which in WORST
    if (spoil, which) != (an_older_copy_of_the_first, "first")
]


@pytest.mark.parametrize(("spoil", "which"), CASES, ids=lambda one: getattr(one, "__name__", one))
def test_a_spoiled_segment(quick: Path, spoil: Callable[[Made, Path], None], which: str) -> None:
    """It is named, the rest is readable, nothing is repeated; the repair keeps the old one and goes on behind it."""
    ledger = made(quick / "whole", "steps", "steps")
    path = ledger.segments[WORST[which]]
    intact = [p for p in ledger.segments if p != path]
    lines = [line for line in record_lines(ledger) if any(line in p.read_bytes() for p in intact)]
    spoil(ledger, path)

    assert [f for f in verify(ledger.root) if Path(f.file).name in {path.name, ledger.state_file.name}]
    if spoil is not a_pipe:
        never_repeats(ledger.copy(quick / "unrepaired"))
    before = {p.name: p.read_bytes() for p in ledger.ledger.iterdir() if p.is_file() and not p.is_symlink()}

    report = repaired(ledger)
    assert report.done == "repaired"
    assert report.kept is not None
    kept = {p.name: p.read_bytes() for p in Path(report.kept).iterdir() if p.name in before}
    assert kept == before
    assert set(lines) <= set(record_lines(ledger))
    lost = [f for f in verify(ledger.root) if f.lsn is not None]
    assert bool(lost) == bool(report.lost)


@pytest.mark.parametrize("spoil", [without_a_header, an_older_copy_of_the_first], ids=lambda f: f.__name__)
def test_an_extra_file_costs_nothing(quick: Path, spoil: Callable[[Made, Path], None]) -> None:
    """A copy under a number that no segment has is set aside."""
    ledger = made(quick / "whole", "steps", "steps")
    extra = ledger.ledger / "00000000000000000777.jsonl"
    shutil.copy(ledger.segments[1], extra)
    spoil(ledger, extra)
    with Ledger.open(ledger.root) as handle, pytest.raises(LedgerCorrupt, match="repair"):
        handle.halt("no")
    report = repaired(ledger)
    assert spoil is without_a_header or report.lost == []
    never_repeats(ledger, all_known=not report.lost)


def test_swapped_segments_are_put_back(quick: Path) -> None:
    """Their headers say where they belong."""
    ledger = made(quick / "whole", "steps", "steps")
    lines = record_lines(ledger)
    first, second, *_ = ledger.segments
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    assert {Path(f.file) for f in verify(ledger.root)} >= {first, second}
    never_repeats(ledger.copy(quick / "unrepaired"))
    report = repair(ledger.root)
    assert report.lost == []
    assert record_lines(ledger)[: len(lines)] == lines
    never_repeats(ledger, all_known=True)


def test_a_segment_of_another_branch_of_the_same_ledger(quick: Path) -> None:
    """A restored copy went on by itself; its segment fits by name and number, and does not follow."""
    ledger = made(quick / "whole", "steps")
    other = ledger.copy(quick / "other")
    for one, tag in ((ledger, "mine"), (other, "theirs")):
        with Ledger.open(one.root) as handle:
            handle.compact()
            for number in range(3):
                with handle.step("pay", key=f"{tag}{number}") as step:
                    step.result = tag
    ledger.known.update({(f"mine{n}", "run"): ("committed", "mine") for n in range(3)})
    with Ledger.open(ledger.root) as handle:
        handle.compact()
        with handle.step("pay", key="last") as step:
            step.result = "last"
        handle.complete_sprint("a")
    ledger.known["last", "run"] = "committed", "last"
    shutil.copy(other.segments[-1], ledger.segments[-1])
    assert verify(ledger.root)
    never_repeats(ledger.copy(quick / "unrepaired"))
    repaired(ledger)


def test_two_segments_missing_side_by_side(quick: Path) -> None:
    """It is one loss, or two that touch; all that is around it is there."""
    ledger = made(quick / "whole", "steps", "steps", "steps")
    gone = ledger.segments[1:3]
    for path in gone:
        path.unlink()
    log, damage = numbers(ledger)
    assert damage
    assert 1 in log
    report = repaired(ledger)
    assert report.unknown > 0


def test_the_only_segment_is_missing(quick: Path) -> None:
    """Nothing is left but the state file: what it covers is lost, and no step is new until somebody has looked."""
    ledger = made(quick / "whole", "steps")
    for path in ledger.segments:
        path.unlink()
    assert verify(ledger.root)
    never_repeats(ledger.copy(quick / "unrepaired"))
    report = repaired(ledger)
    assert report.unknown > 0
    with Ledger.open(ledger.root) as handle:
        handle.adopt(force=True)
    never_repeats(ledger)


def test_a_later_version_is_not_repaired(quick: Path) -> None:
    """What is only not known here must not be taken for damage."""
    ledger = made(quick / "whole", "steps")
    path = ledger.segments[0]
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2', 1))
    flipped = path.read_bytes()
    path.write_bytes(flipped.replace(b'"format":2,', b'"format":12,', 1))
    with pytest.raises(LedgerError, match="format 12"):
        repair(ledger.root)
    assert not list(ledger.ledger.parent.glob("ledger.broken*"))
