"""Puts a ``Computer`` in the place of the operating system; the one place that knows where the package meets it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import pytest

from runledger.local import history_files, history_fold, owner, store
from runledger.local.directory import Directory
from tests.crash.computer import Computer

__all__ = ["installed"]

_REAL_TIME = {"runledger.local.history_files", "runledger.local.worker"}
"""SQLite's files are real, and so is what tells one version of them from the next."""


class Desk:
    """In the place of ``Worker``: calls wait until the test says that time has passed."""

    def __init__(self, computer: Computer) -> None:
        self.waiting: list[Callable[[], None]] = []
        _current(computer).due = self.work

    def call(self, call: Callable[[], None]) -> None:
        call()

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        if call not in self.waiting:
            self.waiting.append(call)

    def work(self) -> bool:
        """Do what is due; whether anything was."""
        due, self.waiting = self.waiting, []
        for call in due:
            call()
        return bool(due)

    def end(self) -> None:
        self.work()


class Anywhere(set[str]):
    """Every directory's locks answer at once."""

    def __contains__(self, path: object) -> bool:
        return True


@contextmanager
def installed(computer: Computer) -> Iterator[None]:
    """The package runs on ``computer`` within the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Directory, "at", staticmethod(computer.directory_at))
        patch.setattr(os, "urandom", computer.random.randbytes)
        for name, module in list(sys.modules.items()):
            if name.startswith("runledger.") and name not in _REAL_TIME and vars(module).get("time") is time:
                patch.setattr(module, "time", computer.clock)
        patch.setattr(owner, "facts", lambda: _current(computer).facts)
        patch.setattr(store, "facts", lambda: _current(computer).facts)
        patch.setattr(owner, "ended", computer.ended)
        patch.setattr(owner, "is_stopped", lambda pid: False)
        patch.setattr(owner, "_answering", Anywhere())
        patch.setattr(store, "_stores", WeakSet())
        patch.setattr(store, "Worker", lambda: Desk(computer))
        patch.setattr(history_files, "connect", _connecting(computer, history_files.connect))
        # So that a compaction of a few steps is cut off between two slices too.
        patch.setattr(history_fold, "SLICE", 2)
        yield


def _current(computer: Computer) -> Any:
    assert computer.current is not None, "who calls?"
    return computer.current


def _connecting(computer: Computer, connect: Callable[..., Any]) -> Callable[..., Any]:
    """A connection ends with its process; nothing that is not committed outlives it."""

    def connecting(path: str, mode: str) -> Any:
        connection = connect(path, mode)
        _current(computer).closers.append(connection.close)
        return connection

    return connecting
