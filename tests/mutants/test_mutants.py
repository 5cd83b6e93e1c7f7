"""A suite that must fail: for each planted bug some test turns red. One that none notices is a missing test."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.mutants.planting import PROJECT, Said, plant, run
from tests.mutants.table import MUTANTS

QUICK = sorted(
    name for name, mutant in MUTANTS.items() if mutant.red[0].startswith(("tests/unit", "tests/crash"))
)
"""Found within seconds."""


def judged(name: str, folder: Path) -> Said:
    """What the tests say of a mutant; leaves the test where they cannot run here."""
    said = run(plant(MUTANTS[name], folder), MUTANTS[name].red)
    if said.code == 0 and " skipped" in said.text:
        pytest.skip(f"the tests that find {name} cannot run here")
    return said


def test_every_bug_can_be_planted(tmp_path: Path) -> None:
    """The code that each one changes is still there, once; there are enough of them, each told in one sentence."""
    assert len(MUTANTS) >= 18
    for name, mutant in MUTANTS.items():
        assert mutant.bug.endswith("."), name
        assert mutant.bug.count(". ") == 0, name
        plant(mutant, tmp_path / name)


def test_the_page_lists_every_bug() -> None:
    """What is planted is what the page on testing says."""
    page = (PROJECT / "docs/explanation/how-it-is-tested.md").read_text("utf-8")
    table = page.partition("| Planted | The bug |\n| --- | --- |\n")[2].partition("\n\n")[0]
    assert table.split("\n") == [f"| {name} | {mutant.bug} |" for name, mutant in MUTANTS.items()]


def test_some_bugs_are_found(tmp_path: Path, seed: int) -> None:
    """Two of those that are found quickly, other ones each time."""
    for name in random.Random(seed).sample(QUICK, 2):
        said = judged(name, tmp_path / name)
        assert said.code == 1, f"{name} survives: {said.text[-2000:]}"


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_bug_is_found(tmp_path: Path, name: str) -> None:
    """Some test turns red."""
    said = judged(name, tmp_path)
    assert said.code == 1, f"{name} survives: {said.text[-2000:]}"


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_without_a_bug_they_are_green(tmp_path: Path) -> None:
    """The same tests pass on the same copy of the package with nothing planted in it."""
    tests = tuple(sorted({test for mutant in MUTANTS.values() for test in mutant.red}))
    said = run(plant(None, tmp_path), tests)
    assert said.code == 0, said.text[-4000:]
