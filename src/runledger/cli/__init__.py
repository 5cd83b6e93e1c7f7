"""The command line: finds the command, imports only its module, and turns every ending into an exit code.

``wake``, ``status``, ``is-running`` and ``heartbeat`` are asked for by hooks at every turn of an agent, so their plain
forms are recognised here without a parser, and answered from the brief that the last writer left, if it holds. So is
the plain form of ``step``, which wraps each command of a script.

A process of our own is short, and most of it is loading: the collector, which finds nothing in that, is off until a
command runs that is more than a quick answer. It never walks through what was loaded before, nor at the end through
anything.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # as ``typing`` has it: that module alone costs as much as a bare interpreter
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["FAMILIES", "main"]

FAMILIES = {
    "wake": "state",
    "status": "state",
    "is-running": "state",
    "heartbeat": "state",
    "start": "life",
    "sprint begin": "life",
    "sprint complete": "life",
    "halt": "life",
    "resume": "life",
    "finish": "life",
    "abandon": "life",
    "adopt": "life",
    "step": "guard",
    "begin": "session",
    "mark": "session",
    "commit": "session",
    "abort": "session",
    "resolve": "settle",
    "show": "reports",
    "replay": "reports",
    "log": "records",
    "verify": "upkeep",
    "repair": "repairing",
    "compact": "upkeep",
    "report": "pictures",
    "advise": "pictures",
    "bench steps": "benches",
    "bench granularity": "benches",
    "crashtest": "crashing",
    "demo": "story",
}
"""The module of each command, in the order in which they are listed; its ``COMMANDS`` say the rest."""

QUICK = {
    "wake": frozenset({"--json"}),
    "status": frozenset({"--json"}),
    "is-running": frozenset({"--json", "-q", "--quiet"}),
    "heartbeat": frozenset({"--json"}),
}
"""What the plain form of a quick command may carry; anything else goes to the parser."""


class _Plain:
    """The arguments of a quick command."""

    def __init__(self, options: list[str]) -> None:
        self.json = "--json" in options
        self.quiet = "-q" in options or "--quiet" in options


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code, and lets no exception out. Without ``argv`` the process is ours alone."""
    alone = argv is None
    arguments = sys.argv[1:] if argv is None else argv
    if alone:
        gc.disable()
    _occupy_standard_descriptors()
    words = arguments
    while words[:1] == ["--json"]:
        words = words[1:]
    code = _flushed(_guarded(words, as_json="--json" in _own(arguments), alone=alone))
    if alone:
        gc.freeze()
    return code


def _own(words: list[str]) -> list[str]:
    """The words before ``--``: what comes after is somebody else's."""
    return words[: words.index("--")] if "--" in words else words


def _guarded(words: list[str], *, as_json: bool, alone: bool) -> int:
    try:
        return _run(words, as_json=as_json, alone=alone)
    except SystemExit as stop:  # argparse, after it printed a help text
        return stop.code if isinstance(stop.code, int) else 0
    except BrokenPipeError:
        return _reader_gone()
    except KeyboardInterrupt:
        _refused(words)
        return 130
    except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message and an exit code
        try:
            return _told(error, words, as_json=as_json)
        except (OSError, MemoryError, ImportError):
            return _said_barely(error, words)


def _told(error: Exception, words: list[str], *, as_json: bool) -> int:
    from runledger.cli.failing import report

    code = report(error, as_json=as_json)
    _refused(words)
    return code


def _said_barely(error: Exception, words: list[str]) -> int:
    """There is no descriptor, or no memory, left even to load the words for it."""
    last = "runledger: outcome=refused\n" if words[:1] == ["step"] else ""
    code = getattr(error, "exit_code", 74)
    code = code if isinstance(code, int) else 74
    try:
        os.write(2, f"runledger: {ascii(str(error))[1:-1]}\n{last}".encode())
    except OSError:
        return code
    return code


def _refused(words: list[str]) -> None:
    """``step`` tells its own outcome; what ends it before it began is told here."""
    if words[:1] == ["step"]:
        from runledger.cli.output import outcome_line

        outcome_line("refused")


def _run(words: list[str], *, as_json: bool, alone: bool) -> int:
    name = words[0] if words else ""
    allowed = QUICK.get(name)
    if allowed is not None and allowed.issuperset(words[1:]):
        return _quick(name, _Plain([*words[1:], *(["--json"] if as_json else [])]))
    run, parsed = _step(words[1:], as_json=as_json) if name == "step" else (None, None)
    if run is None:
        from runledger.cli.parser import parse

        command, parsed = parse(words, as_json=as_json)
        run = command.run
    if alone:
        gc.freeze()
        gc.enable()
    return int(run(parsed))


def _step(words: list[str], *, as_json: bool) -> tuple[Callable[[Any], int] | None, Any]:
    """What runs a plain ``step``, and its arguments; None where the parser is to read it."""
    from runledger.cli.plain_step import read

    plain = read(words, as_json=as_json)
    if plain is None:
        return None, None
    from runledger.cli.once import step

    return step, plain


def _quick(name: str, plain: _Plain) -> int:
    from runledger.cli import glance

    code = glance.answered(name, as_json=plain.json, quiet=plain.quiet)
    if code is None:
        from runledger.cli import quick

        code = int(getattr(quick, name.replace("-", "_"))(plain))
    return code


def _flushed(code: int) -> int:
    """Push out what was printed: a full disk, or a reader that left, is found out here and not at the end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        from runledger.cli.failing import report

        _to_nowhere()
        return report(error, as_json=False)
    return code


def _reader_gone() -> int:
    """Whoever read our output left, as ``head`` does: no error, told in the way of a shell."""
    _to_nowhere()
    return 141


def _to_nowhere() -> None:
    """What is still in the buffer has nowhere to go; the interpreter must not try it again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _occupy_standard_descriptors() -> None:
    """A closed standard output must not become the descriptor of the journal: what is printed would go there.

    It becomes one that refuses writes instead, so that whoever needs the output is told.
    """
    for fd, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            _open_nowhere(flags)
    if sys.stdout is None:
        sys.stdout = _stream(1)
    if sys.stderr is None:
        sys.stderr = _stream(2)


def _open_nowhere(flags: int) -> None:
    try:
        os.open(os.devnull, flags)
    except OSError:
        return  # neither is there a descriptor left


def _stream(fd: int) -> Any:
    return open(fd, "w", encoding="utf-8", closefd=False)
