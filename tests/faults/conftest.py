"""Disks to be filled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disks import Disk, mounted, why_not


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A small disk, of each kind that can be had here."""
    reason = why_not(request.param)
    if reason is not None:
        pytest.skip(reason)
    with mounted(request.param, tmp_path) as disk:
        yield disk


@pytest.fixture
def small(disk: Disk) -> Path:
    """A root on it."""
    root = disk.path / "root"
    root.mkdir()
    return root
