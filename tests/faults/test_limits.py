"""Limits of the process: file size, open files, memory. A short write is real here, and nothing is glued to it."""

from __future__ import annotations

import resource
import sys
import textwrap
from pathlib import Path

import pytest

from runledger import Ledger
from runledger.verify import verify
from tests.support.children import command, ran
from tests.support.outside import Outside
from tests.support.tree import records

LIMITED = """
import resource

def limit(what, value):
    resource.setrlimit(what, (value, resource.getrlimit(what)[1]))

def enter(ledger, key, result="x"):
    try:
        with ledger.step("pay", key=key) as step:
            happen(key)
            step.result = result
        return "committed"
    except LedgerError as error:
        return error.slug
"""


def text(program: str, before: str = "") -> str:
    """A program that may be limited."""
    return LIMITED + before + textwrap.dedent(program)


def whole(root: Path, committed: list[str]) -> None:
    """What was acknowledged is there; nothing that happened reads as never started; no number is missing."""
    assert verify(root) == []
    numbers = [record["lsn"] for record in records(root)]
    assert numbers == list(range(1, len(numbers) + 1))
    with Ledger.open(root) as ledger:
        for key in Outside(root).all():
            known = ledger.lookup("pay", key)
            assert known is not None, key
            assert known.status in {"committed", "in_doubt"}
        for key in committed:
            known = ledger.lookup("pay", key)
            assert known is not None, key
            assert known.status == "committed"
    assert Outside(root).repeated() == []


@pytest.mark.parametrize("size", [20_000, 33_000, 40_001, 65_536, 70_007])
def test_a_limit_of_the_file_size(root: Path, size: int) -> None:
    """The write that crosses it is cut short by the kernel; with the limit gone, the same handle goes on."""
    program = """
    ledger = Ledger.open()
    enter(ledger, "first")
    limit(resource.RLIMIT_FSIZE, int(arguments[0]))
    for number in range(400):
        key = f"k{number}"
        said = enter(ledger, key, key * 60)
        say(key, said)
        if said != "committed":
            break
    for _ in range(2):
        say("refused", enter(ledger, "refused"))
    limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
    say("refused", enter(ledger, "refused"))
    for number in range(20):
        say(f"later{number}", enter(ledger, f"later{number}", "y" * 900))
    ledger.close()
    """
    said = [line.split() for line in ran(text(program), root, size).lines]
    stopped = next(n for n, (_, word) in enumerate(said) if word != "committed")
    assert said[stopped][1] == "disk-refused"
    assert all(word == "committed" for key, word in said[stopped + 1 :] if key.startswith("later"))
    tries = [word for key, word in said if key == "refused"]
    assert tries.count("committed") == 1  # a small one may fit where a large one did not
    assert tries[-1] in {"committed", "step-committed"}
    whole(root, ["first", *(key for key, word in said if word == "committed")])


def test_a_limit_of_the_file_size_for_large_results(root: Path) -> None:
    """A result's own file is cut short: no step is acknowledged with half a result."""
    program = """
    ledger = Ledger.open()
    enter(ledger, "first")
    limit(resource.RLIMIT_FSIZE, 100_000)
    say(enter(ledger, "large", "z" * 200_000))
    limit(resource.RLIMIT_FSIZE, resource.RLIM_INFINITY)
    say(ledger.lookup("pay", "large").status)
    say(enter(ledger, "next", "z" * 200_000))
    say(len(ledger.lookup("pay", "next").result))
    ledger.close()
    """
    assert ran(text(program), root).lines == ["disk-refused", "in_doubt", "committed", "200000"]
    whole(root, ["first", "next"])
    assert len(list((root / ".run" / "ledger" / "results").iterdir())) == 1


def test_too_many_open_files(root: Path) -> None:
    """A handle that finds no descriptor refuses, and goes on once there are some."""
    program = """
    ledger = Ledger.open()
    if arguments[0] == "used":
        say(enter(ledger, "first"))
    taken = []
    try:
        while True:
            taken.append(open(os.devnull))
    except OSError:
        pass
    ledger2 = Ledger.open()
    for number in range(3):
        for handle in (ledger, ledger2):
            try:
                with handle.step("pay", key=f"k{number}") as step:
                    step.result = 1
                say("committed")
            except LedgerError as error:
                say(error.slug)
    for file in taken:
        file.close()
    for number in range(3):
        try:
            with ledger2.step("pay", key=f"k{number}") as step:
                step.result = 1
            say("committed")
        except LedgerError as error:
            say(error.slug)
    ledger.close()
    ledger2.close()
    """
    for used in ("used", "fresh"):
        one = root / used
        one.mkdir()
        lines = ran(text(program, LOW), one, used).lines
        assert set(lines) <= {"committed", "disk-refused", "step-committed"}, lines
        assert "disk-refused" in lines
        assert set(lines[-3:]) <= {"committed", "step-committed"}
        assert verify(one) == []


LOW = "\nlimit(resource.RLIMIT_NOFILE, 64)\n"


@pytest.mark.parametrize("files", [5, 6, 8, 10, 12])
def test_commands_with_few_descriptors(root: Path, files: int) -> None:
    """As soon as Python itself can start: an answer or a refusal, never a traceback of ours."""
    assert command(root, "start", "--plan-id", "p-1").code == 0
    wrap = [sys.executable, "-c", FEW, str(files)]
    for words in (["wake"], ["begin", "pay", "--key", f"k{files}"], ["compact"]):
        said = command(root, *words, wrap=wrap)
        if "import" in said.err and "runledger/" not in said.err:
            continue  # Python had no descriptor left to read its own modules with
        assert "Traceback" not in said.err, (words, said.err)
        assert said.code in {0, 74, 78}, (words, said)
    assert verify(root) == []


FEW = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_too_little_memory(root: Path) -> None:
    """Values that do not fit are an error of the step alone; the handle and the journal are as good as before."""
    program = """
    ledger = Ledger.open()
    say(enter(ledger, "first"))
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limit(resource.RLIMIT_AS, used + (40 << 20))
    for number, size in enumerate((30 << 20, 60 << 20, 100 << 20)):
        try:
            with ledger.step("pay", key=f"big{number}") as step:
                happen(f"big{number}")
                step.result = "x" * size
            say("committed")
        except (MemoryError, LedgerError) as error:
            say(type(error).__name__)
    say(enter(ledger, "small"))
    limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)
    say(enter(ledger, "after"))
    ledger.close()
    """
    lines = ran(text(program), root).lines
    assert lines[0] == "committed"
    assert "MemoryError" in lines, lines
    assert lines[-2:] == ["committed", "committed"], lines
    whole(root, ["first", "small", "after"])


@pytest.mark.parametrize("megabytes", [60, 100, 160])
def test_commands_with_little_memory(root: Path, megabytes: int) -> None:
    """The same for a whole process: what starts at all ends with an answer or a refusal."""
    assert command(root, "start", "--plan-id", "p-1").code == 0
    wrap = [sys.executable, "-c", LITTLE, str(megabytes << 20)]
    for words in (
        ["step", "pay", "--key", f"k{megabytes}", "--", "true"],
        ["compact"],
    ):
        said = command(root, *words, wrap=wrap)
        assert "Traceback" not in said.err or "runledger" not in said.err, (words, said.err)
    assert verify(root) == []


LITTLE = FEW.replace("NOFILE", "AS")


def test_the_limits_are_real() -> None:
    """This machine lets a process lower them."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64
