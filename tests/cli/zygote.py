"""A process that has runledger imported and forks for each command: real ones, without their start-up."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import runledger

__all__ = ["Zygote"]

TOP = Path(__file__).resolve().parents[2]
SOURCES = Path(runledger.__file__).parents[1]
LARGEST = 1 << 20


class Zygote:
    """Forks a process for each command that it is told to run."""

    def __enter__(self) -> Self:
        self._ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            (sys.executable, "-m", "tests.cli.zygote", str(its.fileno())),
            cwd=TOP,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TOP), str(SOURCES)))},
            pass_fds=(its.fileno(),),
        )
        its.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._ours.close()
        self._process.wait(timeout=60)

    def run(
        self, words: Sequence[str], at: Path, environment: Mapping[str, str], files: Sequence[int]
    ) -> int:
        """Run ``runledger words…`` with ``files`` as its standard input, output and error; its exit code."""
        request = json.dumps([list(words), str(at), dict(environment)]).encode()
        socket.send_fds(self._ours, [request], list(files))
        return int(self._ours.recv(64))


def serve(link: socket.socket) -> None:
    """Answer until nobody asks."""
    while True:
        request, files, _, _ = socket.recv_fds(link, LARGEST, 3)
        if not request:
            return
        pid = os.fork()
        if pid == 0:
            link.close()
            os._exit(command(*json.loads(request), files))
        for file in files:
            os.close(file)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        link.send(str(code).encode())


def command(words: list[str], at: str, environment: dict[str, str], files: list[int]) -> int:
    """What the interpreter does for a process that it starts."""
    from runledger.cli import main

    for to, file in enumerate(files):
        os.dup2(file, to)
        os.close(file)
    os.chdir(at)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115 - as it does
    code = main(words)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    import runledger.cli.parser

    tuple(runledger.cli.parser.commands())
    serve(socket.socket(fileno=int(sys.argv[1])))
