"""The code changes between a crash and the next run: natural keys keep their meaning, and what moved is told."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.children import Child, command, ran
from tests.support.outside import Outside

OLD = """
with Ledger.open() as ledger:
    for name, key in (("a", "k1"), ("b", "k2")):
        with ledger.step(name, key=key):
            happen(f"{name} {key}")
    with ledger.step("c", key="k3"):
        happen("c k3")
        say("inside")
        sys.stdin.readline()
"""

NEW = """
steps = [word.split(":") for word in arguments]
with Ledger.open() as ledger:
    for name, key in steps:
        with ledger.skip_committed() as skip, ledger.step(name, key=key):
            happen(f"{name} {key}")
        say(name, key, "skipped" if skip.skipped else "ran")
    drift = ledger.replay().drift
    say("not reached", drift.not_reached)
"""


def crash(root: Path) -> None:
    """The old code, killed in its third step."""
    with Child(OLD, root) as child:
        child.until("inside")
        child.kill()


def test_a_renamed_step_a_new_one_and_one_that_is_gone(root: Path) -> None:
    """k1 is a no-op, the new step runs, c's intent stays listed with its time, and the old b is told as not reached.

    By the contract a step is its name and its key: b under a new name is a new step. It runs once, and not unseen.

    https://github.com/unkeyed/unkey/issues/4979
    """
    crash(root)
    lines = ran(NEW, root, "new:k0", "a:k1", "renamed:k2").lines
    assert lines[:3] == ["new k0 ran", "a k1 skipped", "renamed k2 ran"]
    assert lines[3] == "not reached [('b', 'k2')]"
    for _ in range(2):
        report = json.loads(command(root, "replay", "--json").lines[0])
        (orphan,) = report["in_doubt"]
        assert (orphan["name"], orphan["key"], orphan["attempt"]) == ("c", "k3", 1)
        assert orphan["started"].endswith("Z")
        assert command(root, "compact").code == 0
    again = ran(NEW, root, "new:k0", "a:k1", "renamed:k2").lines
    assert again[:3] == ["new k0 skipped", "a k1 skipped", "renamed k2 skipped"]
    assert Outside(root).repeated() == []
    assert command(root, "resolve", "c", "k3", "--happened", "--reason", "looked").code == 0
    assert json.loads(command(root, "replay", "--json").lines[0])["in_doubt"] == []


def test_a_step_with_a_new_key_tells_of_its_old_one(root: Path) -> None:
    """The step runs under its new key, and the report names its old one.

    https://github.com/unkeyed/unkey/issues/4979
    """
    crash(root)
    lines = ran(NEW, root, "a:k1", "b:k2-new").lines
    assert lines == ["a k1 skipped", "b k2-new ran", "not reached [('b', 'k2')]"]


def test_a_function_that_moved_to_another_module_is_the_same_step(root: Path) -> None:
    """Its name and key count, not its place: nothing runs twice, nothing is told as changed.

    https://github.com/unkeyed/unkey/issues/4979
    """
    module = """
def work(happen):
    def publish(page):
        happen(page)
        return {"url": page}
    return publish
"""
    for name in ("old_place", "new_place"):
        (root / f"{name}.py").write_text(module, "utf-8")
    program = """
    import importlib
    publish = importlib.import_module(arguments[0]).work(happen)
    with Ledger.open() as ledger:
        say(ledger.step("publish", key="{page}")(publish)("page-1"))
        drift = ledger.replay().drift
        say(drift.not_reached, drift.changed)
    """
    for name in ("old_place", "new_place"):
        assert ran(program, root, name, env={"PYTHONPATH": str(root)}).lines == ["{'url': 'page-1'}", "[] []"]
    assert Outside(root).all() == ["page-1"]


def test_code_that_changed_since_its_commit_is_told(root: Path) -> None:
    """The recorded result stays, and the report says that the code is another one by now.

    https://github.com/unkeyed/unkey/issues/4979
    """
    program = """
    with Ledger.open() as ledger:
        @ledger.step("publish", key="page-1")
        def publish():
            happen("page-1")
            return {body}
        say(publish(), ledger.replay().drift.changed)
    """
    assert ran(program.replace("{body}", "1"), root).lines == ["1 []"]
    assert ran(program.replace("{body}", "2"), root).lines == ["1 [('publish', 'page-1')]"]
    assert command(root, "compact").code == 0
    assert ran(program.replace("{body}", "2"), root).lines == ["1 [('publish', 'page-1')]"]
    assert Outside(root).all() == ["page-1"]
