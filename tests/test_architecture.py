"""A module imports only from rows below its own, at its top, in a function or for types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "runledger"

# From the bottom up. A folder with a slash stands for all that is in it, and may import within itself.
ROWS = (
    # words and tools
    "errors log moment record text version json_style json_text values/ granularity/  local.mending",
    "arguments interrupts",
    (
        "clock document keys/ run_state view  local local.checkout local.group_commit local.layout "
        "local.pace local.process"
    ),
    # what a record, a state file and an open file say
    "deferred drift lives losses options skip state_fields  local.directory local.frame local.worker",
    (
        "fold_steps state_reading  local.checkpoint local.files local.history_rows local.owner local.results "
        "local.salvage local.sums"
    ),
    # the fold, and the port between the protocol and whatever keeps the ledger
    "fold state_file store  local.brief local.history_files local.opening local.repair_read local.segment",
    "local.journal_reading",
    # what is decided, and what is told of a doubt
    "decisions/ doubt sending  local.history_check local.history_fold local.payloads local.snapshot",
    "local.pulse local.standing",
    "refusals status step  local.history local.journal local.repair_place local.repair_segments",
    # one entry into a step; one place in the order of records
    "outcome pacing  local.reader local.repair_copy local.repair_history local.repair_losses",
    "attempt known_step run  local.known local.repair_build local.transaction local.unadopted",
    "replay_report verify waiting  local.sequencer",
    "block decorate  local.ordered",
    "answers",
    "local.brief_maker",
    "local.state_keeper",
    "local.compactor",
    "local.store",
    # what a user holds
    "ledger repair",
    ".",
    "past/",
    "pictures/",
    "bench/ crashtest/ demo/ sweep/ advice/ timeline/",
    "cli/",
    "__main__",
)
ROW = {word: row for row, words in enumerate(ROWS) for word in words.split()}
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip(".")
    or ".": path
    for path in PACKAGE.rglob("*.py")
}


def place(module: str) -> str:
    """The table's word for a module: its own, or its folder's."""
    return module if module in ROW else module.partition(".")[0] + "/"


def imports(path: Path) -> Iterator[str]:
    """The modules of this package that a file names in its imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for package, _, name in ((prefix + alias.name).partition(".") for alias in node.names):
                if package == "runledger":
                    yield name if name in MODULES else name.rpartition(".")[0] or "."


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_down(module: str) -> None:
    """The module is in the table, and everything that it imports of this package is in a lower row."""
    mine = place(module)
    assert mine in ROW, f"{module} is in no row of the table"
    others = sorted({place(name) for name in imports(MODULES[module])} - {mine})
    assert [name for name in others if ROW.get(name, len(ROWS)) >= ROW[mine]] == []
