"""What a long history costs those who come later: nothing that can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger, Options
from runledger.local.directory import File
from runledger.store import Claim, Happened, Payload, Settle


def committed(root: Path, steps: int) -> None:
    """A ledger with so many committed steps, folded."""
    with Ledger.open(root, options=Options(compact_after=0)) as ledger:
        for n in range(steps):
            verdict = ledger.store.claim(Claim(name="s", key=f"k{n}", idempotent=True))
            outcome = Happened(result=Payload(b'{"n":1}'))
            ledger.store.settle(Settle(lsn=verdict.lsn, outcome=outcome, riding=True))  # type: ignore[union-attr]
        ledger.compact()


def reads_to_open(root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many bytes of the files are read until a handle knows where its run stands and has looked one key up, and how
    many of the outcomes it then holds."""
    read = 0
    pread = File.pread

    def counted(self: File, size: int, offset: int) -> bytes:
        nonlocal read
        data = pread(self, size, offset)
        read += len(data)
        return data

    with monkeypatch.context() as patch:
        patch.setattr(File, "pread", counted)
        with Ledger.open(root) as ledger:
            assert ledger.status().committed > 0
            known = ledger.lookup("s", "k7")
            assert known is not None
            assert known.result == {"n": 1}
            held = len(ledger._local.reader.view.settled)
    return read, held


def grown(root: Path, monkeypatch: pytest.MonkeyPatch, few: int, many: int) -> None:
    """Compare a short history with a long one, by what is read and held: no clock."""
    small, large = root / "small", root / "large"
    committed(small, few)
    committed(large, many)
    assert (large / ".run/sprint-plan-state.json").stat().st_size < 16 << 10
    few_bytes, few_held = reads_to_open(small, monkeypatch)
    many_bytes, many_held = reads_to_open(large, monkeypatch)
    assert many_bytes < 2 * few_bytes
    assert (few_held, many_held) == (0, 0)
    with Ledger.open(large) as ledger:
        assert ledger.compact()["folded"] == 0
        assert ledger.lookup("s", f"k{many - 1}") is not None


def test_a_long_history_costs_nothing_to_open(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 4,000 committed steps no more is read and held than with 200; the state file stays small, and a second
    compaction folds nothing."""
    grown(root, monkeypatch, 200, 4000)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_two_hundred_thousand_steps_cost_nothing_to_open(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with 200,000."""
    grown(root, monkeypatch, 200, 200_000)
