"""Every command, with every call to the operating system refused once: one clear answer, and nothing is harmed."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from runledger import Ledger
from runledger.verify import verify
from tests.damage.ledgers import quick_folder
from tests.faults.calls import Said, fresh, loaded, run

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

ERRORS = [errno.EIO, errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EMFILE, errno.EDQUOT]

ALLOWED = {0, 1, 64, 65, 74, 75, 76, 77, 78, 79}

WORDS = [
    ["start", "--plan-id", "p-2"],
    ["step", "pay", "--key", "new", "--", "true"],
    ["step", "pay", "--key", "done", "--", "false"],
    ["begin", "pay", "--key", "new"],
    ["commit", "{token}", "--result", "1"],
    ["mark", "{token}", "half", "--data", "{}"],
    ["abort", "{token}", "--reason", "no"],
    ["resolve", "pay", "lapsed", "--happened", "--reason", "looked"],
    ["halt", "--reason", "r"],
    ["heartbeat"],
    ["sprint", "begin", "a"],
    ["sprint", "complete", "a"],
    ["abandon", "--reason", "r"],
    ["compact"],
    ["repair"],
    ["repair", "--dry-run"],
    ["status", "--json"],
    ["wake"],
    ["is-running"],
    ["show", "pay", "done"],
    ["replay", "--json"],
    ["log"],
    ["verify"],
]


class Shelf:
    """A ledger with something of everything: folded and fresh steps, an open token, a lapsed one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "whole"
        self.root.mkdir()
        self.said(["start", "--plan-id", "p-1", "--sprint", "a"])
        self.said(["step", "pay", "--key", "folded", "--", "echo", "one"])
        self.said(["begin", "pay", "--key", "lapsed", "--lease", "0.01"])
        self.said(["compact"])
        self.said(["step", "pay", "--key", "done", "--", "echo", "two"])
        self.token = self.said(["begin", "pay", "--key", "token"]).out.strip()

    def said(self, words: list[str]) -> Said:
        said = run(self.root, words)
        assert said.code == 0, (words, said)
        return said

    def words(self, words: list[str]) -> list[str]:
        return [word.format(token=self.token) if "{token}" in word else word for word in words]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    """The ledger to copy."""
    import shutil

    loaded()
    folder = quick_folder(tmp_path_factory.mktemp("calls"))
    yield Shelf(folder)
    shutil.rmtree(folder)


def check(shelf: Shelf, words: list[str], number: int, error: int, *, on: bool) -> None:
    root = fresh(shelf.root, shelf.folder / "spoiled")
    before = run(root, ["status", "--json"]).out
    said = run(root, shelf.words(words), at=number, error=error, on=on)
    where = (words, number, errno.errorcode[error], on, said)
    assert said.code in ALLOWED, where
    assert "Traceback" not in said.err, where
    assert said.code not in {74, 75, 78} or (said.err + said.out).strip(), where
    assert verify(root) == [], where
    after = run(root, ["status", "--json"])
    assert after.code in {0, 76, 77}, (where, after)
    assert json.loads(after.out)["lsn"] >= json.loads(before)["lsn"], where
    with Ledger.open(root) as ledger:
        for key in ("folded", "done"):
            known = ledger.lookup("pay", key)
            assert known is not None, where
            assert known.status == "committed", where
        if said.code == 0 and words[:4] == ["step", "pay", "--key", "new"]:
            known = ledger.lookup("pay", "new")
            assert known is not None, where
            assert known.status == "committed", where


@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(words[:2]))
def test_a_call_is_refused(shelf: Shelf, words: list[str]) -> None:
    """Some of them, once and from then on."""
    calls = run(fresh(shelf.root, shelf.folder / "spoiled"), shelf.words(words)).calls
    assert calls > 5
    for turn, number in enumerate(range(1, calls + 1, max(1, calls // 8))):
        check(shelf, words, number, ERRORS[turn % len(ERRORS)], on=bool(turn % 2))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("on", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(words[:2]))
def test_every_call_is_refused(shelf: Shelf, words: list[str], *, on: bool) -> None:
    """All of them, for each cause."""
    calls = run(fresh(shelf.root, shelf.folder / "spoiled"), shelf.words(words)).calls
    for number in range(1, calls + 1):
        for error in ERRORS:
            check(shelf, words, number, error, on=on)
