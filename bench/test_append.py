"""What stands below a step: the bare disk, one record through the store, and its parts that need no disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.limits import BareFile
from runledger import Ledger
from runledger import record as r
from runledger.local import frame
from runledger.store import Note


@pytest.mark.parametrize("kind", ["prefilled", "growing"])
def test_bare_disk(benchmark: BenchmarkFixture, tmp_path: Path, kind: str) -> None:
    """Two records in C, each made durable: the limit of a step."""
    file = BareFile(tmp_path / "file", prefilled=kind == "prefilled")
    benchmark(file.durable_writes, 2)
    file.close()


def test_durable_record(benchmark: BenchmarkFixture, ledger: Ledger) -> None:
    """One record with its sync: a mark in an open step."""
    with ledger.step("charge", key="invoice") as step:
        benchmark(ledger.store.mark, Note(lsn=step.lsn, label="sent"))


def test_riding_record(benchmark: BenchmarkFixture, ledger: Ledger) -> None:
    """One record that waits for no sync."""
    with ledger.step("charge", key="invoice") as step:
        benchmark(ledger.store.mark, Note(lsn=step.lsn, label="sent", riding=True))


def test_encode(benchmark: BenchmarkFixture) -> None:
    """An intent's line with its checksum."""
    intent = r.Intent(
        lsn=1234567,
        at="2026-11-29T14:20:11.123456Z",
        run="r-0123456789ab",
        owner="o-0123456789ab",
        durable=1234566,
        steps=617284,
        name="charge",
        key="invoice-0123456",
    )
    benchmark(frame.encode, intent, frame.seed_of("0123456789abcdef"))
