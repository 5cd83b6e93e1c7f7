"""What the tests of the public Python API have at hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runledger import Ledger


@pytest.fixture
def ledger(root: Path) -> Iterator[Ledger]:
    """A handle on an empty folder."""
    with Ledger.open(root) as ledger:
        yield ledger
