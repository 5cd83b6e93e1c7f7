"""The last line of the journal: what is spoiled there must neither be cut nor spoil the next one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import runledger
from runledger import Ledger, LedgerCorrupt
from runledger.verify import verify
from tests.support.tree import content_end, newest


@pytest.mark.parametrize("bit", range(8))
def test_nothing_is_glued_to_a_last_line_without_its_line_feed(root: Path, bit: int) -> None:
    """Whatever its last byte has become, the next record stands on a line of its own."""
    with Ledger.open(root) as ledger, ledger.step("pay", key="a"):
        pass
    path = newest(root)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1 << bit
    path.write_bytes(data)
    with Ledger.open(root) as ledger, ledger.step("pay", key="b"):
        pass
    found = runledger.replay(root)
    assert (found.committed, found.in_doubt) == (2, [])
    assert [(damage.first, damage.last) for damage in found.corruption] == [(5, 5)]


def test_an_end_that_the_state_file_knows_of_is_not_cut(root: Path, tmp_path: Path) -> None:
    """The last record looks torn, and was on the disk: nothing is written over what is left of it."""
    spoiled = tmp_path / "spoiled"
    with Ledger.open(root) as ledger:
        ledger.start("plan")
        ledger.halt("wait")
        shutil.copytree(root, spoiled)
    path = newest(spoiled)
    data = path.read_bytes()
    end = content_end(path) - 40
    left = data[:end].ljust(len(data), b"\n")
    path.write_bytes(left)
    with Ledger.open(spoiled) as ledger, pytest.raises(LedgerCorrupt, match="state file covers"):
        ledger.resume()
    assert path.read_bytes() == left


def cut_at_each_byte(folder: Path, every: int) -> int:
    """A last record that was never synced is cut, or left in the middle of filler; how many ways were tried."""
    whole, cut = folder / "whole", folder / "cut"
    with Ledger.open(folder / "at work") as ledger:
        with ledger.step("pay", key="a"):
            pass
        with ledger.step("pay", key="b", idempotent=True):
            shutil.copytree(folder / "at work", whole)
    path = newest(whole)
    data = path.read_bytes()
    end = content_end(path)
    begin = data.rfind(b"\n", 0, end - 1) + 1
    tried = 0
    for size in range(begin, end - 1, every):
        for left in (data[:size], data[:size].ljust(len(data), b"\n"), data[:size].ljust(len(data), b"\0")):
            shutil.rmtree(cut, ignore_errors=True)
            shutil.copytree(whole, cut)
            newest(cut).write_bytes(left)
            with Ledger.open(cut) as ledger:
                known = ledger.lookup("pay", "a")
                assert known is not None, size
                assert (known.status, ledger.lookup("pay", "b")) == ("committed", None), size
                with ledger.step("pay", key="c"):
                    pass
            assert verify(cut) == [], size
            assert runledger.replay(cut).committed == 2, size
            tried += 1
    return tried


def test_the_tail_cut_at_some_bytes(quick: Path) -> None:
    """What was durable is there, what was not is gone, and the next step stands; at each 17th byte."""
    assert cut_at_each_byte(quick, 17) >= 30


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_tail_cut_at_each_byte(quick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same at all of them, which are counted."""
    tried = cut_at_each_byte(quick, 1)
    with capsys.disabled():
        print(f"\ntails: {tried}")
    assert tried >= 500
