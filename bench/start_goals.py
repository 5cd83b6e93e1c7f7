"""Goals of short commands: CPU time of a process against ``python -c pass``, interleaved."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench import stores
from bench.interleave import shuffled
from bench.setting import Setting
from bench.table import Row, at_most, guarded
from runledger import Ledger
from runledger.bench.timing import Spread, spread

__all__ = ["GOALS", "cpu_seconds", "measure"]

TAIL = 160
"""Steps of a journal's tail: about 64 KiB."""

BARE = "python -c pass"


def measure(setting: Setting, names: Sequence[str]) -> Iterator[Row]:
    """The rows of the goals that are named."""
    for name in names:
        yield from guarded(name, GOALS[name](setting))


def cpu_seconds(command: list[str], root: Path) -> tuple[float, int]:
    """User and system time of a process, and its exit code.

    It gets no variable that changes how Python starts: where byte code is not written, each start would compile.
    """
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RUNLEDGER"))}
    environment = {**kept, "RUNLEDGER_DIR": str(root)}
    pid = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    return used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status)


def _ratios(
    setting: Setting, commands: Mapping[str, tuple[list[str], Path]]
) -> dict[str, tuple[Spread, int]]:
    """Each command's CPU in times of ``python -c pass`` in the same round, and its last exit code."""
    entered = {BARE: ([sys.executable, "-c", "pass"], setting.scratch), **commands}
    for command, root in entered.values():
        cpu_seconds(command, root)
    taken: dict[str, list[float]] = {label: [] for label in entered}
    codes: dict[str, int] = {}
    for _ in range(max(11, setting.rounds // 3)):
        for label in shuffled(entered):
            seconds, codes[label] = cpu_seconds(*entered[label])
            taken[label].append(seconds)
    return {
        label: (spread([a / b for a, b in zip(taken[label], taken[BARE], strict=True)]), codes[label])
        for label in commands
    }


def _script() -> list[str]:
    """The console script beside this interpreter, else the module."""
    script = Path(sys.executable).with_name("runledger")
    return [str(script)] if script.exists() else [sys.executable, "-m", "runledger"]


def _commands(setting: Setting) -> Iterator[Row]:
    quiet, busy = setting.scratch / "start-folded", setting.scratch / "start-tail"
    if not quiet.exists():
        stores.folded(quiet, 1000)
        stores.unfolded(busy, TAIL)
        with Ledger.open(busy) as ledger, ledger.step("last", key="one"):
            pass
    words = {
        "wake": ["wake"],
        "status": ["status"],
        "heartbeat": ["heartbeat"],
        "hook": ["hook", "SessionStart", "--for", "claude-code"],
    }
    entered = {
        f"{name}{where}": ([*_script(), *line], root)
        for name, line in words.items()
        for where, root in ((", nothing new since the last fold", quiet), (", a tail of 64 KiB", busy))
    }
    for label, (ratio, code) in _ratios(setting, entered).items():
        limit = 1.5 if "nothing new" in label else 3.5
        what = f"runledger {label} ÷ {BARE} (CPU)"
        if code not in (0, 76, 77):
            yield Row(what, f"≤ {limit:g} x", "", None, f"it exits with {code}")
        else:
            yield at_most(what, limit, ratio)
    step = {"step": ([*_script(), "step", "again", "--key", "k", "--", "true"], busy)}
    new = [*_script(), "step", "new", "--key"]
    numbered = {f"new {n}": ([*new, f"{n}-{os.getpid()}", "--", "true"], busy) for n in range(11)}
    ratio, code = _ratios(setting, step)["step"]
    yield at_most(f"runledger step … -- true, committed already ÷ {BARE} (CPU)", 6, ratio, note=_code(code))
    yield at_most(f"runledger step … -- true ÷ {BARE} (CPU)", 6, _once_each(setting, numbered))


def _code(code: int) -> str:
    return "" if code == 0 else f"it exits with {code}"


def _once_each(setting: Setting, commands: Mapping[str, tuple[list[str], Path]]) -> Spread:
    """Of commands that can be run once only."""
    ratios = []
    for command, root in commands.values():
        base = spread([cpu_seconds([sys.executable, "-c", "pass"], root)[0] for _ in range(3)]).median
        ratios.append(cpu_seconds(command, root)[0] / base)
    return spread(ratios)


def _import(setting: Setting) -> Iterator[Row]:
    entered = {
        f"import {what}": ([sys.executable, "-c", f"import {module}"], setting.scratch)
        for what, module in (
            ("runledger", "runledger"),
            ("runledger and open", "runledger; runledger.Ledger.open"),
        )
    }
    for label, (ratio, _) in _ratios(setting, entered).items():
        yield at_most(f"{label} ÷ {BARE} (CPU)", 3.5, ratio)


GOALS: dict[str, Callable[[Setting], Iterator[Row]]] = {"startup": _commands, "import": _import}
