"""The copy: everything that the program needs, nothing that is live, no way back into the original."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger.crashtest.counting import Tally
from runledger.crashtest.scratch import Source


@pytest.fixture
def original(tmp_path: Path) -> Path:
    """A directory with a bit of everything."""
    top = tmp_path / "original"
    (top / ".run/ledger").mkdir(parents=True)
    (top / ".run/sprint-plan-state.json").write_text("{}\n")
    (top / ".run/other.json").write_text("{}\n")
    (top / "work").mkdir()
    (top / "work/a.py").write_text("1\n")
    (top / "venv").mkdir()
    (top / "venv/pyvenv.cfg").touch()
    (top / "absolute").symlink_to(top / "work")
    (top / "relative").symlink_to("work")
    return top


def test_a_live_run_is_left_out(original: Path, tmp_path: Path) -> None:
    """The ledger and the state file stay behind, what else lies beside them comes along."""
    copy = tmp_path / "copy"
    Source(original, original).copy_to(copy)
    assert [path.name for path in (copy / ".run").iterdir()] == ["other.json"]


def test_links_lead_into_the_copy(original: Path, tmp_path: Path) -> None:
    """Absolute ones too; only what is too large to copy and not written to is linked back."""
    copy = tmp_path / "copy"
    Source(original, original).copy_to(copy)
    assert (copy / "absolute").resolve() == (copy / "work").resolve() == (copy / "relative").resolve()
    assert (copy / "venv").readlink() == original / "venv"


def test_names_in_the_original_become_those_of_the_copy(original: Path, tmp_path: Path) -> None:
    """In the command and in the environment; a ledger named from elsewhere becomes the copy's."""
    copy = tmp_path / "copy"
    source = Source(original, original / "work")
    assert source.command(copy, ["python", f"{original}/work/a.py"]) == ["python", f"{copy}/work/a.py"]
    told = source.environment(copy, {"PYTHONPATH": f"src:{original}/work", "RUNLEDGER_DIR": str(tmp_path)})
    assert told == {"PYTHONPATH": f"src:{copy}/work", "RUNLEDGER_DIR": str(copy), "PWD": str(copy / "work")}


def test_a_count_is_a_number_or_lines() -> None:
    """What is new since the count before; a name that comes twice is there twice."""
    assert Tally("7\n").since(Tally("5\n")) == {"": 2}
    assert Tally("3\n").since(Tally("")) == {"": 3}
    assert Tally("ada\nada\neve\n").since(Tally("eve\n")) == {"ada": 2}
