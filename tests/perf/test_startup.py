"""What the quick commands and ``import runledger`` load: every module of it is paid for at each turn of an agent.

No time is measured: which modules an interpreter has loaded is the same on every machine.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runledger import Ledger
from tests.support.children import environment

QUICK = ["wake", "status", "is-running", "heartbeat"]

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
"""What no command of every turn may load."""

FREE = {"__future__", "errno", "fcntl", "gc", "stat", "time", "zlib"}
"""Modules of Python that cost next to nothing, and are all that an answer from the brief may load."""

BARE = {
    "runledger",
    "runledger.cli",
    "runledger.cli.glance",
    "runledger.local",
    "runledger.local.brief",
    "runledger.local.directory",
    "runledger.local.files",
    "runledger.local.layout",
    "runledger.text",
    "runledger.version",
}
BEYOND: dict[str, set[str]] = {
    "wake": set(),
    "is-running": set(),
    "status": {"runledger.moment"},
    "heartbeat": {"runledger.clock", "runledger.local.pulse"},
}
"""The modules of this package that such an answer loads: each one more is about a hundredth of a bare interpreter."""

UNNEEDED = {
    "_hashlib",
    "gettext",
    "hashlib",
    "locale",
    "runledger.block",
    "runledger.cli.guard",
    "runledger.cli.parser",
    "runledger.decorate",
    "runledger.keys.code",
    "runledger.keys.rule",
    "runledger.ledger",
    "runledger.local.history",
    "runledger.run",
    "shutil",
    "socket",
    "tempfile",
}
"""What a plain ``step`` does not load besides, where nothing is folded yet."""

MODULES = 88
"""Modules of this package that such a step may load. Half of what it costs beyond a bare interpreter and msgspec is to
find, read and unmarshal them, about a hundredth of a bare interpreter each."""

LOADED = """
import sys
before = set(sys.modules)
{}
sys.stdout.flush()
print("loaded:", *sorted(set(sys.modules) - before), file=sys.stderr)
"""


def run(program: str, root: Path) -> subprocess.CompletedProcess[str]:
    """The program in a new interpreter, which must end well."""
    return subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        cwd=root,
        env=environment(root, None),
        text=True,
        timeout=60,
    )


def loaded(program: str, root: Path) -> set[str]:
    """The modules that a new interpreter loads for the program."""
    done = run(LOADED.format(program), root)
    return set(done.stderr.rpartition("loaded:")[2].split())


def top(modules: set[str]) -> set[str]:
    """The first words of the modules' names."""
    return {name.partition(".")[0] for name in modules}


def calling(*words: str) -> str:
    """The program of the console script."""
    return f"from runledger.cli import main\nmain({list(words)!r})"


@pytest.fixture
def left(root: Path) -> Path:
    """A run with a tail that no compaction has folded, whose writer left."""
    with Ledger.open(root) as ledger:
        ledger.start("plan", sprints=["sprint-1"])
        with ledger.step("charge", key="invoice-1"):
            pass
    return root


@pytest.fixture
def going_on(left: Path) -> Path:
    """The same, with more to be read than any brief tells of."""
    (left / ".run" / "ledger" / "brief").unlink()
    return left


def test_import_is_nearly_free(root: Path) -> None:
    """``import runledger`` loads itself alone, and no ``typing``."""
    assert loaded("import runledger", root) - FREE == {"runledger"}


@pytest.mark.parametrize("word", QUICK)
def test_from_the_brief(left: Path, word: str) -> None:
    """What a brief answers needs nothing that reads a ledger: no msgspec, no ``typing``, no errors."""
    found = loaded(calling(word), left)
    assert found - FREE == BARE | BEYOND[word]


@pytest.mark.parametrize("word", QUICK)
def test_from_the_ledger(going_on: Path, word: str) -> None:
    """Where no brief holds, the commands of every turn load no parser, no locks or logs of others, no event loop and no
    database."""
    found = loaded(calling(word), going_on)
    assert top(found) & HEAVY == set()


@pytest.mark.parametrize("key", ["invoice-1", "invoice-2"])
def test_step_of_a_script(going_on: Path, key: str) -> None:
    """``step``, which wraps each command of a script, loads neither what parses its arguments or makes keys of
    templates, nor OpenSSL, nor what only programs, compactions and folded ledgers need."""
    found = loaded(calling("step", "charge", "--key", key, "--", "true"), going_on)
    assert top(found) & HEAVY == set()
    assert found & UNNEEDED == set()
    assert len({name for name in found if name.startswith("runledger")}) <= MODULES


def test_first_step_loads_little(going_on: Path) -> None:
    """A plain step loads no database while nothing is folded, and no event loop."""
    program = (
        'from runledger import Ledger\nwith Ledger.open() as l, l.step("charge", key="invoice-2"):\n    pass'
    )
    assert top(loaded(program, going_on)) & HEAVY == set()


COLLECTING = """
import gc, sys
from runledger.cli import main, once
before = gc.get_freeze_count()  # some interpreters begin with a few
once.step = lambda _: print("running:", gc.isenabled(), gc.get_freeze_count() > before) or 0
words = ["step", "charge", "--", "true"]
{}
print("after:", gc.isenabled(), gc.get_freeze_count() > before)
"""


@pytest.mark.parametrize(
    ("call", "running"),
    [
        ("sys.argv[1:] = words\nmain()", "running: True True"),
        ("main(words)", "running: True False"),
        ("gc.disable()\nmain(words)", "running: False False"),
    ],
)
def test_the_collector_is_off_while_our_own_process_loads(root: Path, call: str, running: str) -> None:
    """It is on again when the command runs, without what was loaded; that of a caller is left as it is."""
    done = run(COLLECTING.format(call), root)
    assert done.stdout.splitlines() == [running, running.replace("running", "after")]
