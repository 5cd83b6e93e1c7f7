"""A rename that is refused for a moment is tried again; one that is always refused loses nothing."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.faults import patched
from tests.support.tree import leftovers, record_lines, segments, state, state_file, strict

PATCH = """
import os
left = [{times}]
real = {{name: getattr(os, name) for name in ("replace", "rename")}}
seen = open(os.environ["RENAMES"], "a", buffering=1)

def refusing(name):
    def call(source, target, **more):
        seen.write(f"{{source}}\\n")
        if left[0]:
            left[0] -= 1
            raise PermissionError(13, "Access is denied", source)
        return real[name](source, target, **more)
    return call

for name in real:
    setattr(os, name, refusing(name))
"""

FILL = """
with Ledger.open() as ledger:
    for n in range(20):
        with ledger.step("work", key=str(n)) as step:
            step.result = n
"""

KNOWN = """
with Ledger.open() as ledger:
    say(sum(ledger.lookup("work", str(n)).result == n for n in range(20)))
"""


def refusals(tmp_path: Path, times: str) -> dict[str, str]:
    """The environment of a child in which the first so many renames are refused."""
    return {
        **patched(tmp_path / "patch", PATCH.format(times=times)),
        "RENAMES": str(tmp_path / "renames"),
    }


def whole_log(root: Path) -> list[bytes]:
    """The journal's records."""
    return [line for line in record_lines(root) if b'"lsn"' in line]


def test_a_rename_refused_three_times_succeeds_at_the_fourth(root: Path, tmp_path: Path) -> None:
    """Compaction and first step go through after short retries, and leave no temporary file.

    https://github.com/aden-hive/hive/issues/7369
    """
    env = refusals(tmp_path, "3")
    ran(FILL, root, env=env)
    assert command(root, "compact", env=env).code == 0
    assert ran(KNOWN, root).lines == ["20"]
    assert leftovers(root) == []
    assert len((tmp_path / "renames").read_text("utf-8").splitlines()) >= 8
    assert state(root)["state"] == "RUNNING"


def test_a_rename_that_is_always_refused_leaves_state_and_log_as_they_were(
    root: Path, tmp_path: Path
) -> None:
    """A clear error with the path; the old state file and the whole log are there, no temporary file piles up.

    https://github.com/aden-hive/hive/issues/7369
    """
    ran(FILL, root)
    log, before = whole_log(root), state_file(root).read_bytes()
    env = refusals(tmp_path, "10 ** 9")
    for _ in range(2):
        ended = command(root, "compact", env=env)
        assert ended.code == 74
        assert "cannot rename" in ended.err
        assert "Access is denied" in ended.err or "Permission denied" in ended.err
        assert str(root / ".run") in ended.err
    assert whole_log(root)[: len(log)] == log
    assert state_file(root).read_bytes() == before
    assert leftovers(root) == []
    assert ran(KNOWN, root).lines == ["20"]
    names = (tmp_path / "renames").read_text("utf-8").splitlines()
    assert command(root, "compact").code == 0
    assert ran(KNOWN, root).lines == ["20"]
    assert names


def test_a_state_file_that_cannot_be_replaced_does_not_fail_a_step(root: Path, tmp_path: Path) -> None:
    """Its record is durable, so the step is committed; the refusal is a warning, and the next writer catches up.

    https://github.com/aden-hive/hive/issues/7369
    """
    ran("Ledger.open().start('plan')", root)
    program = """
    with Ledger.open() as ledger:
        with ledger.step("work", key="k1"):
            pass
        ledger.halt("enough")
        say(ledger.lookup("work", "k1").status, ledger.status().state)
    """
    ended = ran(program, root, env=refusals(tmp_path, "10 ** 9"))
    assert ended.lines == ["committed HALTED"]
    assert "snapshot.not_written" in ended.err
    assert state(root)["state"] == "RUNNING"
    assert command(root, "wake").lines[0] == "HALTED"
    assert leftovers(root) == []
    assert command(root, "compact").code == 0
    assert state(root)["state"] == "HALTED"


def test_a_ledger_whose_first_segment_cannot_be_named_fails_before_the_effect(
    root: Path, tmp_path: Path
) -> None:
    """Nothing is acknowledged, nothing happened, and nothing is left in the way.

    https://github.com/aden-hive/hive/issues/7369
    """
    words = ("step", "work", "--key", "k1", "--", "touch", "effect")
    assert command(root, *words, env=refusals(tmp_path, "10 ** 9")).code == 74
    assert not (root / "effect").exists()
    assert leftovers(root) == []
    assert command(root, *words).code == 0
    assert (root / "effect").exists()


@pytest.mark.parametrize("times", ["3", "10 ** 9"], ids=["three-times", "always"])
def test_two_compactions_at_once_never_share_a_temporary_name(root: Path, tmp_path: Path, times: str) -> None:
    """Each writer's temporary files are its own; both end clearly, and every key is known.

    https://github.com/aden-hive/hive/issues/7369
    """
    ran(FILL, root)
    log = whole_log(root)
    env = refusals(tmp_path, times)
    compact = """
    with Ledger.open() as ledger:
        for turn in range(2):
            try:
                with ledger.step("turn"):
                    pass
                ledger.compact()
                say("done", os.getpid())
            except LedgerError as refusal:
                say(refusal.slug, os.getpid())
    """
    code = 0 if times == "3" else None  # closing, it is told once more that nothing can be written
    children = [Child(compact, root, env=env) for _ in range(2)]
    ended = [child.end() for child in children]
    assert all(code is None or child.code == code for child in ended), ended
    slugs = [line.split()[0] for child in ended for line in child.lines]
    assert set(slugs) <= (
        {"done", "compaction-busy"} if times == "3" else {"disk-refused", "compaction-busy"}
    )
    assert len(slugs) == 4
    names = (tmp_path / "renames").read_text("utf-8").splitlines()
    if times == "3":
        tries = [len(list(same)) for _, same in itertools.groupby(sorted(names))]
        assert max(tries) <= 5  # one name, one writer: tried again, and renamed once
    assert ran(KNOWN, root).lines == ["20"]
    assert leftovers(root) == []
    if times != "3":
        assert whole_log(root)[: len(log)] == log
    for path in segments(root):
        for line in path.read_bytes().split(b"\n"):
            if line:
                strict(line.decode())


def test_a_reader_in_a_loop_always_finds_a_whole_file(root: Path) -> None:
    """While compactions replace it, the state file that a reader opens is one whole document.

    https://github.com/aden-hive/hive/issues/7369
    """
    ran(FILL, root)
    compactor = """
    with Ledger.open() as ledger:
        for n in range(int(arguments[0])):
            with ledger.step("more", key=str(n)):
                pass
            ledger.compact()
            ledger.halt("a look")
            ledger.resume()
    say("done")
    """
    with Child(compactor, root, 15) as child:
        seen = 0
        while child.process.poll() is None:
            assert state(root)["state"] in {"RUNNING", "HALTED"}
            seen += 1
        assert child.end().code == 0
    assert seen > 10
    assert leftovers(root) == []
