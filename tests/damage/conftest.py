"""Where the ledgers of these tests are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.damage.ledgers import quick_folder


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own where syncs are quick."""
    folder = quick_folder(tmp_path)
    yield folder
    if folder != tmp_path:
        shutil.rmtree(folder)
