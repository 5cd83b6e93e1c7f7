"""The outside world of the demo counts what really happened, without any help from the ledger."""

from __future__ import annotations

import http.client
import json
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runledger.demo.outside import Outside
from runledger.demo.plan import STATE_FILE, Plan, Sprint, shipped_state_file
from runledger.demo.processes import Crew, DemoError
from runledger.demo.witness import AFTER, BEFORE, Moment, Witness, tell
from runledger.demo.world import World

PLAN = Plan.of(shipped_state_file())


@pytest.fixture
def crew() -> Iterator[Crew]:
    with Crew(seconds=30) as crew:
        yield crew


@pytest.fixture
def world(tmp_path: Path, crew: Crew) -> World:
    return World(tmp_path, crew, state_file=shipped_state_file())


@pytest.fixture
def outside(world: World) -> Outside:
    return Outside(world.tree)


def do_all(outside: Outside, sprint: Sprint) -> None:
    for path, text in sprint.notes.items():
        outside.write(path, text)
    outside.push(sprint.branch, sprint.subject)
    outside.publish(sprint.page)
    outside.send(sprint.subject, "It is done.")


def test_an_untouched_world_has_lost_everything_and_repeated_nothing(world: World) -> None:
    """Nothing done: each file, branch, page and mail of the plan is missing."""
    tally = world.count()
    notes = sum(len(sprint.notes) for sprint in PLAN.sprints)
    assert (tally.duplicates(PLAN), tally.lost(PLAN)) == (0, 3 * len(PLAN.sprints) + notes)


def test_a_plan_done_once_is_neither_lost_nor_repeated(world: World, outside: Outside) -> None:
    """Each effect once: the verdict is zero and zero."""
    for sprint in PLAN.sprints:
        do_all(outside, sprint)
    tally = world.count()
    assert (tally.duplicates(PLAN), tally.lost(PLAN)) == (0, 0)


@pytest.mark.parametrize(
    "again",
    [
        lambda outside, sprint: outside.publish(sprint.page),
        lambda outside, sprint: outside.push(sprint.branch, sprint.subject),
        lambda outside, sprint: outside.send(sprint.subject, "It is done."),
    ],
    ids=["page", "branch", "mail"],
)
def test_an_effect_done_twice_is_one_duplicate(
    world: World, outside: Outside, again: Callable[[Outside, Sprint], object]
) -> None:
    """Each kind of effect is seen when it is repeated, and only that one."""
    sprint = PLAN.sprints[0]
    do_all(outside, sprint)
    again(outside, sprint)
    assert world.count().duplicates(PLAN) == 1


def test_a_file_written_twice_is_no_duplicate_and_a_wrong_one_is_lost(world: World, outside: Outside) -> None:
    """Files are idempotent; their text is what counts."""
    path, text = next(iter(PLAN.sprints[0].notes.items()))
    before = world.count().lost(PLAN)
    outside.write(path, text)
    outside.write(path, text)
    assert (world.count().duplicates(PLAN), world.count().lost(PLAN)) == (0, before - 1)
    outside.write(path, "half")
    assert world.count().lost(PLAN) == before


def test_what_nobody_asked_for_counts_as_a_duplicate(world: World, outside: Outside) -> None:
    """A mail that the plan does not know is one too many."""
    outside.send("surprise", "")
    assert world.count().duplicates(PLAN) == 1


def test_probes_see_what_landed_and_nothing_else(outside: Outside) -> None:
    """GET and ls-remote answer None before the effect, and its own result after."""
    sprint = PLAN.sprints[0]
    assert outside.published(sprint.slug) is None
    assert outside.pushed(sprint.branch) is None
    address, commit = outside.publish(sprint.page), outside.push(sprint.branch, sprint.subject)
    assert (outside.published(sprint.slug), outside.pushed(sprint.branch)) == (address, commit)


def test_the_server_notes_an_idempotency_key_and_counts_each_publication(
    world: World, outside: Outside
) -> None:
    """The same key twice is two rows: the world does not cover up for the ledger."""
    page = PLAN.sprints[0].page
    outside.publish(page, idempotency_key="k1")
    outside.publish(page, idempotency_key="k1")
    with closing(sqlite3.connect(world.home / "pages.db")) as database:
        keys = database.execute("SELECT idempotency_key FROM publications").fetchall()
    assert keys == [("k1",), ("k1",)]


def test_an_unknown_place_is_404(outside: Outside) -> None:
    """Only /pages takes publications."""
    connection = http.client.HTTPConnection("127.0.0.1", outside.services.pages, timeout=5)
    connection.request("POST", "/elsewhere", json.dumps({}), {"Content-Length": "2"})
    assert connection.getresponse().status == 404
    connection.close()


def test_the_state_file_of_the_tree_is_the_shipped_one_on_its_own_branch(world: World) -> None:
    """Byte for byte, and the tree is on the branch that the file names."""
    assert (world.tree / STATE_FILE).read_text(encoding="utf-8") == shipped_state_file()
    assert (world.tree / ".git" / "HEAD").read_text().strip() == f"ref: refs/heads/{PLAN.branch}"


@pytest.mark.parametrize(
    ("moment", "landed"),
    [
        (Moment(BEFORE, "push", PLAN.sprints[0].branch), 0),
        (Moment(AFTER, "push", PLAN.sprints[0].branch), 1),
        (Moment(AFTER, "publish", PLAN.sprints[0].slug), 1),
        (Moment(BEFORE, "mail", PLAN.sprints[0].subject), 0),
        (Moment(AFTER, "mail", PLAN.sprints[0].subject), 1),
    ],
    ids=lambda value: f"{value.side}-{value.effect}" if isinstance(value, Moment) else "",
)
def test_a_worker_killed_at_a_moment_leaves_the_effect_on_that_side(
    tmp_path: Path, crew: Crew, moment: Moment, landed: int
) -> None:
    """A trap holds the outside on the right side of the effect and names the worker, which dies there."""
    witness = Witness([moment])
    world = World(tmp_path, crew, state_file=shipped_state_file(), witness=witness.port)
    worker = crew.start("runledger.demo.naive", str(world.tree), at=world.tree)
    caught, group = witness.caught.get(timeout=15)
    assert (caught, group) == (moment, worker.pid)
    assert crew.kill(worker) == -9
    witness.close()
    tally = world.count()
    there = {"push": tally.pushes, "publish": tally.pages, "mail": tally.mails}[moment.effect]
    assert there.get(moment.name, 0) == landed


def test_a_trap_catches_once() -> None:
    """The second time the same moment comes, nobody is held."""
    moment = Moment(AFTER, "publish", "a")
    witness = Witness([moment])
    held = threading.Thread(target=tell, args=(witness.port, moment, 7))
    held.start()
    assert witness.caught.get(timeout=5) == (moment, 7)
    tell(witness.port, moment, 8)
    assert held.is_alive()
    witness.release()
    held.join(5)
    assert not held.is_alive()
    witness.close()


def test_a_crew_takes_everyone_along(tmp_path: Path) -> None:
    """After the block no process that it started is left, grandchildren included."""
    with Crew(seconds=30) as crew:
        World(tmp_path, crew, state_file=shipped_state_file())
        family = ("sh", "-c", "sleep 60 & echo $!; wait")
        process = crew._start(family, tmp_path, {"stdout": subprocess.PIPE})
        assert process.stdout is not None
        pid = int(process.stdout.readline())
    assert all(process.poll() is not None for process in crew._processes)
    ends = (
        time.monotonic() + 20
    )  # a killed grandchild is nobody's to wait for, and may have yet to get its turn to die
    while runs(pid) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not runs(pid)


def runs(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_crew_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    """A command without an end is reported, not waited for."""
    with pytest.raises(DemoError, match="no end"), Crew(seconds=30) as crew:
        crew.run(("sleep", "60"), at=tmp_path, bound=0.1)
    with pytest.raises(DemoError, match="too long"), Crew(seconds=0) as crew:
        crew.run(("sleep", "60"), at=tmp_path)


@pytest.mark.usefixtures("world")
def test_the_server_does_not_outlive_its_parent(crew: Crew) -> None:
    """Its standard input ends when the parent dies, and so does it."""
    server = crew._processes[0]
    assert server.stdin is not None
    server.stdin.close()
    assert server.wait(timeout=5) == 0


def test_git_is_deaf_to_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, crew: Crew) -> None:
    """Inside another repository's hook, GIT_DIR and its kin lead nowhere."""
    monkeypatch.setitem(os.environ, "GIT_DIR", "/nonexistent")
    world = World(tmp_path, crew, state_file=shipped_state_file())
    sprint = PLAN.sprints[0]
    Outside(world.tree).write(*next(iter(sprint.notes.items())))
    Outside(world.tree).push(sprint.branch, sprint.subject)
    assert world.count().pushes == {sprint.branch: 1}
