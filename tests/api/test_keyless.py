"""Steps without a key: recorded, their doubt detected, never skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import (
    NOT_HAPPENED,
    EmptyKey,
    Happened,
    KeyInvalid,
    Ledger,
    ResolveRefused,
    UsageError,
    replay,
)
from tests.api.doubts import left_in_doubt
from tests.api.forms import Form, each
from tests.support.children import command, ran
from tests.support.tree import records


@each
def test_each_entry_runs_and_is_recorded(root: Path, ledger: Ledger, form: Form) -> None:
    """Two entries are two effects, told apart by their numbers."""
    runs: list[int] = []
    for _ in range(3):
        form.enter(ledger, "work", lambda: runs.append(1))
    assert len(runs) == 3
    assert [one["t"] for one in records(root) if one["t"] in {"intent", "commit"}] == ["intent", "commit"] * 3
    assert ledger.replay().committed == 3


def test_a_doubt_stops_no_other(ledger: Ledger) -> None:
    """Nothing tells that the next one is the same, so it runs; the doubt stays listed."""
    lsn = left_in_doubt(ledger, "work", None)
    with ledger.step("work"):
        pass
    (step,) = ledger.replay().in_doubt
    assert (step.key, step.lsn) == (None, lsn)


def test_death_is_detected(root: Path) -> None:
    """A killed process leaves a doubt like any other."""
    ran('with Ledger.open() as ledger, ledger.step("work"): os._exit(9)', root, code=9)
    (step,) = replay(root).in_doubt
    assert (step.name, step.key, step.owner.alive) == ("work", None, False)


@pytest.mark.parametrize("outcome", [Happened("found"), NOT_HAPPENED], ids=["happened", "not"])
def test_settled_by_its_number(ledger: Ledger, outcome: Happened) -> None:
    """The LSN names it; nothing is left in doubt, and the run may end."""
    lsn = left_in_doubt(ledger, "work", None)
    with ledger.step("other"):
        pass
    ledger.resolve(None, None, outcome, reason="looked", lsn=lsn)
    assert ledger.replay().in_doubt == []
    ledger.finish()


def test_settled_by_the_printed_line(root: Path, ledger: Ledger) -> None:
    """The line that replay prints for it is enough."""
    lsn = left_in_doubt(ledger, "work", None)
    line = ledger.replay().resolve[0]
    assert f"--lsn {lsn}" in line
    words = line.split(" --reason")[0].split()[1:]
    assert command(root, *words, "--reason", "looked").code == 0
    assert ledger.replay().in_doubt == []


def test_not_settled_by_its_name(ledger: Ledger) -> None:
    """A name alone could mean several, and beside a number it must be the step's."""
    lsn = left_in_doubt(ledger, "work", None)
    with pytest.raises(UsageError, match="LSN"):
        ledger.resolve("work", None, Happened(), reason="looked")
    with pytest.raises(ResolveRefused, match="work"):
        ledger.resolve("other", None, Happened(), reason="looked", lsn=lsn)
    assert len(ledger.replay().in_doubt) == 1
    ledger.resolve("work", None, Happened(), reason="looked", lsn=lsn)
    assert ledger.replay().in_doubt == []


def test_not_settled_twice(ledger: Ledger) -> None:
    """What is settled is no doubt any more."""
    lsn = left_in_doubt(ledger, "work", None)
    ledger.resolve(None, None, NOT_HAPPENED, reason="looked", lsn=lsn)
    with pytest.raises(ResolveRefused):
        ledger.resolve(None, None, Happened(), reason="looked again", lsn=lsn)


@pytest.mark.parametrize("key", ["", 7, b"k", True, ("a",), "\udfff", "k" * 5000])
def test_what_is_no_key(root: Path, ledger: Ledger, key: object) -> None:
    """An empty key is refused, as is whatever is no text that can be stored: at once, with nothing on record."""
    with pytest.raises(KeyInvalid) as refused:
        ledger.step("work", key=key)  # type: ignore[arg-type]  # what is tested
    assert isinstance(refused.value, EmptyKey) == (key == "")
    assert not (root / ".run").exists()


@pytest.mark.parametrize("name", ["", None, 7, "\ud800", "n" * 600])
def test_what_is_no_name(root: Path, ledger: Ledger, name: object) -> None:
    """The same of names."""
    with pytest.raises(KeyInvalid):
        ledger.step(name)  # type: ignore[arg-type]  # what is tested
    assert not (root / ".run").exists()
