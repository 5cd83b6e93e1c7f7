"""A terminal in an empty directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


@pytest.fixture
def runledger(tmp_path: Path) -> Terminal:
    """The command, in an empty directory of its own."""
    return Terminal(tmp_path)
