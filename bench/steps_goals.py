"""Goals of steps: one thread, many threads, processes and tasks, against the disk, SQLite and the peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bench.interleave import Race, Turn
from bench.setting import Setting
from bench.syncs import syncs_of
from bench.table import Row, at_least, at_most, beside, guarded
from runledger.bench.timing import Spread, spread

__all__ = ["GOALS", "measure"]

TURN_S = 0.3
"""The state file is written once a second: a turn much shorter, after the pause of all others' turns, would weigh each
step with many times its share of that, and would be half over before threads and processes are at their pace."""

GROUPS = {
    "external": ("runledger", "c-prefilled", "c-append", "sqlite", "bare-calls"),
    "fresh": ("runledger:fresh=100", "sqlite:fresh=100"),
    "riding": ("runledger-riding", "runledger", "sqlite", "bare-calls-riding", "bare-calls"),
    "threads-8": ("runledger:threads=8", "sqlite:threads=8", "c-prefilled:threads=8"),
    "threads-32": ("runledger:threads=32", "sqlite:threads=32"),
    "tasks": ("runledger:tasks=1", "runledger:tasks=8", "runledger:tasks=32"),
    "idempotent": ("runledger-idempotent", "runledger", "bare-calls-unsynced"),
}
"""What is compared within each round."""


def measure(setting: Setting, names: Sequence[str]) -> Iterator[Row]:
    """The rows of the goals that are named, from one interleaved run."""
    with Race(setting.scratch, turn_s=TURN_S) as race:
        for name in names:
            for group, specs in GROUPS.items():
                if group.partition("-")[0] == name:
                    race.add(group, specs)
            if name == "processes":
                race.add("processes", ["runledger"])
                race.add("processes", ["runledger"], processes=8)
                race.add("processes", ["bare-calls"])
                race.add("processes", ["bare-calls"], processes=8)
            if name == "bytes":
                race.add("bytes", ["runledger", "sqlite"])
            if name == "peers":
                _enter_peers(race, setting)
        race.run(setting.rounds)
        for told in race.left_out:
            yield Row(told, "", "", None, "could not start")
        for name in names:
            yield from guarded(name, GOALS[name](race, setting))


def _enter_peers(race: Race, setting: Setting) -> None:
    from bench.peers import PEERS

    there = setting.installed()
    race.add("peers", ["runledger", "runledger-riding", *there], python=setting.peers)
    race.add(
        "peers-threads",
        ["runledger:threads=8", *(f"{p}:threads=8" for p in there if p == "agent-once")],
        python=setting.peers,
    )
    race.add(
        "repeat", ["runledger", *(p for p in there if PEERS[p].repeats)], python=setting.peers, ask="repeat"
    )


def _external(race: Race, setting: Setting) -> Iterator[Row]:
    step = "external step, one thread, both syncs"
    note = _cpu(race, "external", "runledger")
    ratio = race.ratio("external", "runledger", "c-prefilled")
    yield at_least(f"{step} ÷ C, prefilled", 0.92, ratio, note=note)
    bare = "a step's bare system calls from Python, both syncs"
    yield beside(f"{bare} ÷ C, prefilled", race.ratio("external", "bare-calls", "c-prefilled"))
    yield beside(f"external step ÷ {bare}", race.ratio("external", "runledger", "bare-calls"))
    append = 2 if setting.journal else 1.3
    yield at_least(f"{step} ÷ C, append", append, race.ratio("external", "runledger", "c-append"))
    yield at_least(f"{step} ÷ SQLite WAL FULL", 1.1, race.ratio("external", "runledger", "sqlite"))


def _fresh(race: Race, setting: Setting) -> Iterator[Row]:
    ratio = race.ratio("fresh", "runledger:fresh=100", "sqlite:fresh=100")
    yield at_least("a fresh store of 100 steps, from open to close ÷ SQLite WAL FULL", 2, ratio)


def _riding(race: Race, setting: Setting) -> Iterator[Row]:
    yield at_least("riding commit ÷ both syncs", 1.8, race.ratio("riding", "runledger-riding", "runledger"))
    yield at_least("riding commit ÷ SQLite WAL FULL", 2, race.ratio("riding", "runledger-riding", "sqlite"))
    bare = "the bare system calls of a riding step"
    yield beside(f"{bare} ÷ those of both syncs", race.ratio("riding", "bare-calls-riding", "bare-calls"))
    yield beside(f"{bare} ÷ SQLite WAL FULL", race.ratio("riding", "bare-calls-riding", "sqlite"))


def _threads(race: Race, setting: Setting) -> Iterator[Row]:
    for threads, limit in ((8, 5), (32, 12)):
        ratio = race.ratio(f"threads-{threads}", f"runledger:threads={threads}", f"sqlite:threads={threads}")
        note = _cpu(race, f"threads-{threads}", f"runledger:threads={threads}")
        yield at_least(f"{threads} threads, both syncs ÷ SQLite WAL FULL", limit, ratio, note=note)
    ratio = race.ratio("threads-8", "runledger:threads=8", "c-prefilled:threads=8")
    yield at_least("8 threads, both syncs ÷ C, leader and followers", 0.9, ratio)


def _processes(race: Race, setting: Setting) -> Iterator[Row]:
    note = _cpu(race, "processes", "runledger*8")
    ratio = race.ratio("processes", "runledger*8", "runledger")
    yield at_least("8 processes ÷ one process", 2.5, ratio, note=note)
    ratio = race.ratio("processes", "bare-calls*8", "bare-calls")
    yield beside("8 processes ÷ one process, bare system calls", ratio)


def _tasks(race: Race, setting: Setting) -> Iterator[Row]:
    for tasks, limit in ((8, 5), (32, 12)):
        ratio = race.ratio("tasks", f"runledger:tasks={tasks}", "runledger:tasks=1")
        note = _cpu(race, "tasks", f"runledger:tasks={tasks}")
        yield at_least(f"{tasks} asyncio tasks ÷ one task", limit, ratio, note=note)
    place = setting.scratch / "blocking"
    place.mkdir(exist_ok=True)
    found = [setting.probe("blocking", place) for _ in range(3)]
    most = spread([f["inline"] for f in found])
    yield at_most("syncs on the event loop's own thread between two of its turns", 1, most, unit="")
    slow = [setting.probe("blocking", place, 10) for _ in range(3)]
    most = spread([f["inline"] for f in slow])
    gap = spread([f["longest_ms"] for f in slow])
    note = f"the loop stood still for {gap.median:.1f} ms at most"
    yield at_most("the same on a disk whose syncs take 10 ms more", 0, most, unit="", note=note)


def _idempotent(race: Race, setting: Setting) -> Iterator[Row]:
    ratio = race.ratio("idempotent", "runledger-idempotent", "runledger")
    note = _cpu(race, "idempotent", "runledger-idempotent")
    yield at_least("idempotent step ÷ external step", 25, ratio, note=note)
    limit = race.ratio("idempotent", "bare-calls-unsynced", "runledger")
    yield beside("the bare system calls of an idempotent step ÷ our external step", limit)


def _cpu(race: Race, group: str, name: str) -> str:
    """What a step takes of the processors, whatever it waits for."""
    return f"{race.cpu_us(group, name).median:.0f} µs of processor time a step"


def _bytes(race: Race, setting: Setting) -> Iterator[Row]:
    for spec, limit in (("runledger", 2.0), ("runledger-riding", 1.0), ("runledger-idempotent", 0.0)):
        syncs = syncs_of(spec, setting.scratch)
        if syncs is None:
            yield Row(f"syncs a step, {spec}", f"{limit:.2f}", "", None, "strace is missing")
        else:
            note = "with the state file's, once a second"
            yield Row(
                f"syncs a step, {spec}", f"{limit:.2f}", f"{syncs:.2f}", abs(syncs - limit) < 0.03, note
            )
    turns = race.turns["bytes"]
    if not any(turn.device for turn in turns["sqlite"]):
        yield Row("device bytes a step ÷ SQLite's", "≤ 0.5 x", "", None, "the system does not count them")
        return
    ratio = spread(
        [_bytes_of(a) / _bytes_of(b) for a, b in zip(turns["runledger"], turns["sqlite"], strict=True)]
    )
    each = race.device_bytes("bytes", "runledger").median
    yield at_most("device bytes a step ÷ SQLite's", 0.5, ratio, note=f"{each:,.0f} bytes a step")


def _bytes_of(turn: Turn) -> float:
    return max(turn.device, 512) / turn.steps


def _peers(race: Race, setting: Setting) -> Iterator[Row]:
    for group, ours in (
        ("peers", "runledger"),
        ("peers-threads", "runledger:threads=8"),
        ("repeat", "runledger"),
    ):
        said = {
            "peers": "external step",
            "peers-threads": "8 threads",
            "repeat": "a committed step, repeated",
        }[group]
        others = [spec for spec in race.turns[group] if not spec.startswith("runledger")]
        if not others:
            yield Row(f"{said} ÷ peers", "> 1 x", "", None, "none is installed; see bench/requirements.txt")
        for spec in others:
            yield _ahead(f"{said} ÷ {spec.partition(':')[0]}", race.ratio(group, ours, spec))


def _ahead(what: str, ratio: Spread) -> Row:
    row = at_least(what, 1, ratio)
    return row._replace(goal="> 1 x", met=ratio.median > 1)


GOALS: dict[str, Callable[[Race, Setting], Iterator[Row]]] = {
    "external": _external,
    "fresh": _fresh,
    "riding": _riding,
    "threads": _threads,
    "processes": _processes,
    "tasks": _tasks,
    "idempotent": _idempotent,
    "bytes": _bytes,
    "peers": _peers,
}
