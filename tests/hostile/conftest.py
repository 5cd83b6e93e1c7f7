"""A sound ledger to copy, and to spoil."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from runledger import Ledger
from tests.damage.ledgers import Made, made, quick_folder
from tests.faults.calls import loaded


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A folded history, a sealed segment, the last one, and a result in a file; no torn line is waited for."""
    loaded()
    folder = quick_folder(tmp_path_factory.mktemp("shelf"))
    ledger = made(folder / "sound", "steps", "compact", "steps")
    with Ledger.open(ledger.root) as handle, handle.step("pay", key="big") as step:
        step.result = "x" * 40_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runledger.local.known.SETTLING_S", 0)
        yield ledger
    shutil.rmtree(folder)
