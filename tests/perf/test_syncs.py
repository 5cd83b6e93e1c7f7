"""What a step costs the disk and the kernel, counted: a regression is seen without a clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.perf.counting import Counted, counted
from tests.support.faults import requires_strace

pytestmark = requires_strace

STEPS = 60
RECORDS_BYTES = 560
"""Of an intent and a commit together, with a short key and result."""

EXTENT = 32 << 10
"""Filler that a young segment grows by."""

FEW = 10
"""Calls beyond those of each step, such as for an extent."""

EXTERNAL = """
with ledger.step("charge", key=f"invoice-{number}") as step:
    step.result = {"ok": True, "id": "ch_0123456789"}
"""

IDEMPOTENT = EXTERNAL.replace('{number}")', '{number}", idempotent=True)')

DECORATED = """
charge(number)
"""

DURABLE = "ledger = Ledger.open()"
RIDING = 'ledger = Ledger.open(commit="riding")'
UNFLUSHED = "ledger = Ledger.open(options=Options(flush_interval=3600))"
DECORATOR = f"""{DURABLE}
@ledger.step("charge", key="invoice-{{number}}")
def charge(number):
    return {{"ok": True, "id": "ch_0123456789"}}
"""


def syncs(found: Counted) -> int:
    """Of every kind, on whatever file."""
    return sum(found.calls[name] for name in ("fdatasync", "fsync", "msync", "sync_file_range", "syncfs"))


@pytest.mark.parametrize(
    ("setup", "body", "each"),
    [
        pytest.param(DURABLE, EXTERNAL, 2, id="durable"),
        pytest.param(DECORATOR, DECORATED, 2, id="durable, decorated"),
        pytest.param(RIDING, EXTERNAL, 1, id="riding"),
        pytest.param(UNFLUSHED, IDEMPOTENT, 0, id="idempotent"),
    ],
)
def test_syncs_of_a_step(root: Path, tmp_path: Path, setup: str, body: str, each: int) -> None:
    """An external step makes exactly two data syncs, one where its commit rides, an idempotent one none."""
    found = counted(root, tmp_path / "log", setup=setup, body=body, steps=STEPS)
    assert found.on_segments["fdatasync"] == each * STEPS
    assert syncs(found) == each * STEPS


def test_bytes_of_a_step(root: Path, tmp_path: Path) -> None:
    """A step writes its two records and no more; filler comes in whole extents, once each."""
    found = counted(root, tmp_path / "log", setup=DECORATOR, body=DECORATED, steps=STEPS)
    assert 200 * STEPS < found.records <= RECORDS_BYTES * STEPS
    assert found.filler <= found.records + EXTENT


def test_flushes_of_idempotent_steps(root: Path, tmp_path: Path) -> None:
    """Idempotent steps share one late sync for each flush interval, however many they are."""
    setup = "import time\nledger = Ledger.open(options=Options(flush_interval=0.3))\nbegan = time.monotonic()"
    body = f"{IDEMPOTENT}\nif number == {STEPS - 1}:\n    time.sleep(max(0, began + 1.5 - time.monotonic()))"
    found = counted(root, tmp_path / "log", setup=setup, body=body, steps=STEPS)
    assert 1 <= syncs(found) <= 10


@pytest.mark.parametrize(
    ("setup", "body", "most"),
    [
        pytest.param(DURABLE, EXTERNAL, 15, id="durable"),
        pytest.param(DECORATOR, DECORATED, 15, id="durable, decorated"),
        pytest.param(RIDING, EXTERNAL, 13, id="riding"),
        pytest.param(UNFLUSHED, IDEMPOTENT, 11, id="idempotent"),
    ],
)
def test_system_calls_of_a_step(root: Path, tmp_path: Path, setup: str, body: str, most: int) -> None:
    """A step makes no more system calls than it needs: for each record a lock, a look at its folder, one at what others
    appended, a write and its sync; and one look at the state file."""
    found = counted(root, tmp_path / "log", setup=setup, body=body, steps=STEPS)
    assert found.calls.total() <= most * STEPS + FEW, found.calls.most_common()


def test_system_calls_of_a_repeat(root: Path, tmp_path: Path) -> None:
    """A committed step that is asked for again looks whether the run goes on, and does nothing else."""
    body = DECORATED.replace("number", "0")
    found = counted(root, tmp_path / "log", setup=DECORATOR, body=body, steps=STEPS)
    assert found.calls.total() <= 2 * STEPS + FEW, found.calls.most_common()
    assert syncs(found) == 0
    assert found.records == 0
