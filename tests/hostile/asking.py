"""Commands at work on a spoiled ledger, in a forked child that may take neither much memory nor for ever."""

from __future__ import annotations

import io
import json
import os
import resource
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import runledger.cli
from runledger.text import escape

__all__ = ["READING", "WRITING", "Answer", "ask", "inside", "is_sound"]

READING = (
    ("status",),
    ("status", "--json"),
    ("wake",),
    ("is-running",),
    ("replay",),
    ("replay", "--json"),
    ("log",),
    ("log", "--json"),
    ("verify",),
    ("verify", "--json"),
    ("show", "pay", "x0"),
    ("show", "pay", "maybe0", "--json"),
    ("repair", "--dry-run"),
)
WRITING = (
    ("heartbeat",),
    ("step", "pay", "--key", "new", "--", "true"),
    ("compact",),
    ("halt", "--reason", "r"),
)

CODES = frozenset({0, 1, 64, 65, 74, 75, 76, 77, 78, 79})
"""What a command may end with; 70 would be a defect."""

MEMORY = 700 << 20
"""Beyond what the child has when it begins, in bytes of its address space: a few times the longest line."""

CPU_S = 60
HANGING_S = 100
"""Long beyond what anything takes here: only that an end comes is asked for, never when."""


class Answer(NamedTuple):
    """What a command ended with and printed."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str


def ask(
    root: Path, *commands: Sequence[str], first: Callable[[], object] = lambda: None, memory: int = MEMORY
) -> list[Answer]:
    """Run the commands one after the other in one child, each of which must give a sound answer."""

    def body() -> list[Answer]:
        first()
        return [_run(root, tuple(words)) for words in commands]

    answers = [Answer(tuple(words), *rest) for words, *rest in inside(body, memory=memory)]
    for answer in answers:
        is_sound(answer)
    return answers


def inside(body: Callable[[], object], *, memory: int = MEMORY) -> list[list[object]]:
    """What ``body`` returns, which JSON must be able to say, from a forked child that is bounded."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            signal.alarm(HANGING_S)
            _limit(resource.RLIMIT_CPU, CPU_S)
            _limit(resource.RLIMIT_AS, _address_space() + memory)
            said = json.dumps(body()).encode()
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(said)
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it was, the test is told
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    pieces = []
    try:
        while select.select([reading], [], [], HANGING_S + 20)[0]:
            piece = os.read(reading, 1 << 16)
            if not piece:
                break
            pieces.append(piece)
        else:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(reading)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, f"the child ended with {code}: it hung, or took too much"
    answer: list[list[object]] = json.loads(b"".join(pieces))
    return answer


def _limit(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (most, hard))


def _address_space() -> int:
    pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    return int(pages) * resource.getpagesize()


def _run(root: Path, words: tuple[str, ...]) -> Answer:
    texts = []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.environ["RUNLEDGER_DIR"] = str(root)
        os.environ["NO_COLOR"] = "1"
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "wb", closefd=False), encoding="utf-8")
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "wb", closefd=False), encoding="utf-8", write_through=True)
        code = runledger.cli.main(list(words))
        sys.stdout.flush()
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return Answer(words, code, *texts)


def is_sound(answer: Answer) -> None:
    """A documented exit code, no traceback, and nothing that a terminal would act on; JSON where that was asked for."""
    told = f"{answer.words}: {answer.code}\n{answer.out[-2000:]}\n{answer.err[-2000:]}"
    assert answer.code in CODES, told
    assert "Traceback" not in answer.err, told
    assert answer.code in {0, 1} or answer.out or answer.err, told
    for line in _lines(answer.out, answer.err):
        assert escape(line) == line, told
    if "--json" in answer.words and answer.out:
        for line in answer.out.splitlines():
            json.loads(line, parse_int=str)


def _lines(*texts: str) -> Iterable[str]:
    for text in texts:
        yield from text.replace("\t", " ").split("\n")
