"""Processes without a start-up: forked from one that has imported everything and opened nothing.

What ``warm`` boots waits for requests on the socket that it inherits. Each forked child returns from ``next_program``
with the program that it is to be, runs it as ``__main__``, and ends as the interpreter would, without the
clearing up.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import walk_packages

import msgspec

__all__ = ["BYTES", "Over", "Request", "Started", "end", "next_program"]

BYTES = 1 << 20
LOADED = ("asyncio", "concurrent.futures", "dataclasses", "json", "portalocker", "sqlite3", "structlog")


class Request(msgspec.Struct):
    """What a child is to be. ``number`` tells it from all others; pids come again."""

    number: int
    program: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str


class Started(msgspec.Struct, tag=True):
    """The pid of a request's child."""

    pid: int


class Over(msgspec.Struct, tag=True):
    """The end of a request's child, as ``subprocess`` tells it."""

    number: int
    code: int


def _import_everything() -> None:
    import runledger

    for module in walk_packages(runledger.__path__, "runledger."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in LOADED:
        import_module(name)


def next_program() -> str:
    """Serve until the other end is closed; in each child, the program that it is to run."""
    _import_everything()
    gc.freeze()
    requests = socket.socket(fileno=int(sys.argv[1]))
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    numbers: dict[int, int] = {}
    while True:
        ready = select.select([requests, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            _report_ends(requests, numbers)
        if requests not in ready:
            continue
        data, streams, _, _ = socket.recv_fds(requests, BYTES, 3)
        if not data:
            os._exit(0)
        request = msgspec.json.decode(data, type=Request)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            os.close(woken)
            os.close(waking)
            return _become(request, streams)
        numbers[pid] = request.number
        for stream in streams:
            os.close(stream)
        requests.send(msgspec.json.encode(Started(pid)))


def _report_ends(requests: socket.socket, numbers: dict[int, int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        requests.send(msgspec.json.encode(Over(numbers.pop(pid), os.waitstatus_to_exitcode(status))))


def _become(request: Request, streams: Sequence[int]) -> str:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.env)
    time.tzset()
    sys.argv = list(request.argv)
    return request.program


def end(error: BaseException | None) -> None:
    """End this process as an uncaught ``error`` would: threads and exit functions, then the code or the
    signal."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if code and not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
    elif error is not None:
        code = 1
        sys.excepthook(type(error), error, error.__traceback__)
    threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter itself calls
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)
