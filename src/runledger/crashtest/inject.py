"""Inside the watched program: each call that its ledger makes to the store is reported, and one of them is the last.

``SITECUSTOMIZE`` is put on the program's PYTHONPATH. It waits until the store is imported, so a Python process that has
nothing to do with a ledger pays nothing, and then calls ``install``.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from runledger.crashtest.boundaries import BODY, KILLED, OPENED, OUTSIDE, Boundary, Hit, nth_of, read
from runledger.crashtest.sessions import end_session
from runledger.errors import LedgerError
from runledger.local import checkpoint, compactor
from runledger.local.history import History
from runledger.local.store import LocalStore
from runledger.store import Claim, Claimed, Happened, Move, Note, Settle
from runledger.view import OpenStep

__all__ = ["ENVIRONMENT", "SITECUSTOMIZE", "Plan", "install"]

ENVIRONMENT = "RUNLEDGER_CRASHTEST"
"""The variable that holds the plan, and by which a program can tell that it is being tested."""

SITECUSTOMIZE = '''\
"""Written by `runledger crashtest`."""
import importlib.machinery
import importlib.util
import os
import sys


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "runledger.local.store":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            sys.modules[name] = module
            from runledger.crashtest.inject import install

            install()

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Finder())
_here = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [p for p in sys.path if os.path.abspath(p) != _here]
)
if _spec is not None and _spec.loader is not None:
    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))
'''

MOVES = frozenset({"start", "sprint", "finish"})


class Plan(msgspec.Struct, frozen=True):
    """Where to report (``hits``, a file that exists), the only directory that may be touched, and where to die."""

    hits: str
    root: str
    kill: Boundary | None = None


class Watch:
    """What one process of the program reports."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._seq = itertools.count()

    def report(self, place: str, **facts: Any) -> Hit:
        """Append one line; several processes share the file."""
        hit = Hit(place=place, pid=os.getpid(), seq=next(self._seq), **facts)
        fd = os.open(self.plan.hits, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, msgspec.json.encode(hit) + b"\n")
        finally:
            os.close(fd)
        return hit

    def passes(self, place: str, **facts: Any) -> None:
        """The program comes to a boundary, and goes on only if it is not the one to be killed at."""
        hit = self.report(place, **facts)
        kill = self.plan.kill
        if kill is None or (place, hit.name) != (kill.place, kill.name):
            return
        if nth_of(read(Path(self.plan.hits)), hit) == kill.nth:
            self.report(KILLED, name=hit.name, key=hit.key)
            end_session(os.getsid(0))

    def opened(self, root: str) -> None:
        """A ledger anywhere but in the copy is a real one, and no place for kills."""
        real = os.path.realpath(root)
        if os.path.commonpath([real, self.plan.root]) != self.plan.root:
            self.report(OUTSIDE, root=real)
            end_session(os.getsid(0))
        self.report(OPENED, root=real)

    def about(self, store: LocalStore, request: Any) -> dict[str, Any]:
        """The step that a request is about: asked before it is carried out, since a settled step is open no longer."""
        if type(request) is Claim:
            return {
                "name": request.name,
                "key": request.key,
                "scope": request.scope,
                "idempotent": request.idempotent,
                "probed": request.probed,
            }
        if type(request) is Settle or type(request) is Note:
            step = _open_step(store, request.lsn)
            detail = (request.label or "") if type(request) is Note else ""
            return {} if step is None else {"name": step.name, "key": step.key, "detail": detail}
        return {}

    def before(self, request: Any, about: dict[str, Any]) -> None:
        """A request is about to be carried out."""
        if type(request) is Claim:
            self.passes("before intent", **about)
        elif type(request) is Settle and type(request.outcome) is Happened:
            self.passes("before commit", **about)
        elif type(request) is Move and request.what in MOVES:
            self.passes(f"before {request.what}")

    def after(self, request: Any, about: dict[str, Any], answer: Any) -> None:
        """A request was carried out, and its record is where it should be."""
        if type(request) is Claim and type(answer) is Claimed:
            self.passes(BODY, lsn=answer.lsn, attempt=answer.attempt, run=answer.run, **about)
        elif type(request) is Settle and type(request.outcome) is Happened:
            self.passes("after commit", **about)
        elif type(request) is Note:
            self.passes("after mark" if request.label is not None else "after checkpoint", **about)
        elif type(request) is Move and request.what in MOVES:
            self.passes(f"after {request.what}")


def _open_step(store: LocalStore, lsn: int) -> OpenStep | None:
    """A handle that only commits for another process has not read anything yet."""
    try:
        return store.reader.view.open.get(lsn) or store.known().view.open.get(lsn)
    except LedgerError:
        return None  # the request itself will say so


def install() -> None:
    """Watch this process, if it was told to."""
    told = os.environ.get(ENVIRONMENT)
    if told:
        watch = Watch(msgspec.json.decode(told, type=Plan))
        _watch_requests(watch)
        _watch_compaction(watch)


def _watch_requests(watch: Watch) -> None:
    make, nowait = LocalStore.__init__, LocalStore.nowait

    def init(self: LocalStore, root: str, **options: Any) -> None:
        watch.opened(root)
        make(self, root, **options)

    def without_waiting(
        self: LocalStore,
        request: Any,
        done: Callable[[Any, BaseException | None], None],
        soon: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        about = watch.about(self, request)
        watch.before(request, about)

        def told(answer: Any, error: BaseException | None) -> None:
            if error is None:
                watch.after(request, about, answer)
            done(answer, error)

        nowait(self, request, told, soon)

    _put(LocalStore, "__init__", init)
    _put(LocalStore, "nowait", without_waiting)
    for name in ("claim", "settle", "mark", "transition"):
        _put(LocalStore, name, _watched(watch, getattr(LocalStore, name)))


def _watched(watch: Watch, method: Callable[[LocalStore, Any], Any]) -> Callable[[LocalStore, Any], Any]:
    def call(self: LocalStore, request: Any) -> Any:
        about = watch.about(self, request)
        watch.before(request, about)
        answer = method(self, request)
        watch.after(request, about, answer)
        return answer

    return call


def _watch_compaction(watch: Watch) -> None:
    """The places that the order of a compaction is about: rolled, folded, checkpoint replaced, segments deleted."""
    _put(compactor, "compact", _between(watch, compactor.compact, "before compaction", "after compaction"))
    _put(
        History,
        "fold",
        _between(watch, History.fold, "inside compaction: rolled", "inside compaction: folded"),
    )
    _put(checkpoint, "write", _between(watch, checkpoint.write, None, "inside compaction: checkpoint"))
    _put(compactor, "_drop", _between(watch, compactor._drop, None, "inside compaction: dropped"))  # noqa: SLF001


def _between(watch: Watch, call: Callable[..., Any], before: str | None, after: str) -> Callable[..., Any]:
    def between(*arguments: Any, **options: Any) -> Any:
        if before is not None:
            watch.passes(before)
        answer = call(*arguments, **options)
        watch.passes(after)
        return answer

    return between


def _put(owner: Any, name: str, function: Any) -> None:
    setattr(owner, name, function)
