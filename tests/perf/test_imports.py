"""What the quick commands and ``import runledger`` load: every module of it is paid for at each turn of an agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger
from tests.support.children import ran

HEAVY = {
    "argparse",
    "asyncio",
    "dataclasses",
    "json",
    "logging",
    "portalocker",
    "sqlite3",
    "structlog",
    "subprocess",
}

LOADED = """
import sys
before = set(sys.modules)
{}
sys.stdout.flush()
print("loaded:", *sorted(name for name in set(sys.modules) - before if "." not in name))
"""


def loaded(program: str, root: Path) -> set[str]:
    """The top-level modules that the program loads beyond what an interpreter has."""
    lines = ran(LOADED.format(program), root, cold=True).lines
    return set(lines[-1].removeprefix("loaded:").split())


@pytest.fixture
def running(root: Path) -> Path:
    """A run with a tail that no compaction has folded."""
    with Ledger.open(root) as ledger:
        ledger.start("plan", sprints=["sprint-1"])
        with ledger.step("charge", key="invoice-1"):
            pass
    return root


def test_import_is_nearly_free(root: Path) -> None:
    """``import runledger`` loads neither the engine nor what the engine needs."""
    assert loaded("import runledger", root) & (HEAVY | {"msgspec", "inspect", "threading"}) == set()


@pytest.mark.parametrize("word", ["wake", "status", "is-running", "heartbeat"])
def test_quick_commands_load_little(running: Path, word: str) -> None:
    """The commands of every turn load no parser, no locks or logs of others, no database and no event loop."""
    assert loaded(f"from runledger.cli import main\nmain([{word!r}])", running) & HEAVY == set()


def test_first_step_loads_little(running: Path) -> None:
    """A plain step loads no database while nothing is folded, and no event loop."""
    program = (
        'from runledger import Ledger\nwith Ledger.open() as l, l.step("charge", key="invoice-2"):\n    pass'
    )
    assert loaded(program, running) & HEAVY == set()
