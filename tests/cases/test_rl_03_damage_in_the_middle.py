"""One bad record in the middle stops nothing else, is named, and never reads as "never started"."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.children import command, ran
from tests.support.outside import Outside
from tests.support.tree import newest, segments

COMMIT_ABC = """
with Ledger.open() as ledger:
    for key in "abc":
        with ledger.step("publish", key=f"key-{key}") as step:
            happen(key)
            step.result = [key]
"""

REENTER = """
with Ledger.open() as ledger:
    for key in "abc":
        try:
            with ledger.step("publish", key=f"key-{key}"):
                happen(key)
        except StepCommitted as refusal:
            say(key, "committed", refusal.result)
        except (StepInDoubt, LedgerCorrupt) as refusal:
            say(key, refusal.slug)
"""

NEW_STEP = """
with Ledger.open() as ledger:
    with ledger.step("publish", key="key-d") as step:
        happen("d")
    assert ledger.lookup("publish", "key-d").status == "committed"
"""


def flip(line: bytes) -> bytes:
    """The line with four bytes in its middle changed."""
    middle = len(line) // 2
    return line[:middle] + bytes(255 - byte for byte in line[middle : middle + 4]) + line[middle + 4 :]


def delete(line: bytes) -> bytes | None:
    """Nothing of the line."""
    return None


def damage(root: Path, kinds: set[str], change: Callable[[bytes], bytes | None]) -> tuple[Path, int]:
    """Change B's records of these kinds; where the first of them began."""
    path = newest(root)
    changed, first = [], -1
    for line in path.read_bytes().split(b"\n"):
        mine = b'"key":"key-b"' in line and json.loads(line)["t"] in kinds
        if mine and first < 0:
            first = sum(len(one) + 1 for one in changed)
        new = change(line) if mine else line
        if new is not None:
            changed.append(new)
    path.write_bytes(b"\n".join(changed))
    return path, first


@pytest.mark.parametrize("change", [flip, delete])
@pytest.mark.parametrize("kinds", ["intent", "commit", "intent commit"])
def test_a_bad_record_in_the_middle_is_named_and_the_rest_stands(
    root: Path, kinds: str, change: Callable[[bytes], bytes | None]
) -> None:
    """A and C stay committed, B is unresolved and not run again, the place is named, work can go on.

    A lost outcome leaves B in doubt. Where both lines of B are gone nothing tells its key any more: a key of
    which nothing is known could be B's own, so it is refused until somebody has looked (``resolve --lsn``).

    https://github.com/openonion/connectonion/issues/555
    """
    ran(COMMIT_ABC, root)
    path, first = damage(root, set(kinds.split()), change)
    replayed = command(root, "replay", "--json")
    assert replayed.code in {1, 78}
    report = json.loads(replayed.lines[0])
    found = report["corruption"][0]
    assert (found["file"], found["offset"]) == (str(path), first)
    assert report["committed"] >= 2
    verified = command(root, "verify")
    assert verified.code == 1
    assert f"{path}, offset {first}" in verified.lines[0]

    lines = ran(REENTER, root).lines
    assert lines[0] == "a committed ['a']"
    assert lines[2] == "c committed ['c']"
    assert lines[1] in {"b step-in-doubt", "b ledger-corrupt", "b committed ['b']"}
    if "commit" in kinds:
        assert "committed" not in lines[1]
    assert Outside(root).all() == ["a", "b", "c"]

    identity_is_gone = kinds == "intent commit" and change is delete
    if identity_is_gone:
        refused = ran(NEW_STEP, root, code=1)
        assert "runledger resolve --lsn" in refused.err
        lsn = str(found["first"])
        settled = command(root, "resolve", "--lsn", lsn, "--happened", "--reason", "looked: B is there")
        assert settled.code == 0, settled
    ran(NEW_STEP, root)
    assert Outside(root).all() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("change", [flip, delete])
def test_damage_is_kept_and_never_compacted_away(root: Path, change: Callable[[bytes], bytes | None]) -> None:
    """A compaction drops nothing while records are damaged; once B is settled it goes on, and all is known.

    https://github.com/openonion/connectonion/issues/555
    """
    ran(COMMIT_ABC, root)
    damage(root, {"commit"}, change)
    before = [path.name for path in segments(root)]
    assert command(root, "compact").code == 78
    assert [path.name for path in segments(root)][: len(before)] == before
    lines = json.loads(command(root, "replay", "--json").lines[0])["resolve"]
    assert lines
    settled = command(root, "resolve", "publish", "key-b", "--happened", "--reason", "looked: it is there")
    assert settled.code == 0, settled
    lines = ran(REENTER, root).lines
    assert [line.split()[1] for line in lines] == ["committed"] * 3
    assert Outside(root).all() == ["a", "b", "c"]
