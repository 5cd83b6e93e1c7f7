"""The last line of the journal: what is spoiled there must neither be cut nor spoil the next one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import runledger
from runledger import Ledger, LedgerCorrupt
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
