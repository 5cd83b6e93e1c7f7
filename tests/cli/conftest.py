"""A terminal in an empty directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Terminal
from tests.cli.zygote import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """One for each worker of the test run."""
    with Zygote() as zygote:
        yield zygote


@pytest.fixture
def runledger(tmp_path: Path, zygote: Zygote) -> Terminal:
    """The command, in an empty directory of its own."""
    return Terminal(tmp_path, zygote)
