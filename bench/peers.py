"""Other products, each as its own documentation uses it; only those take part that are installed."""

from __future__ import annotations

import importlib.util
import logging
import sqlite3
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from bench.contenders import INPUTS, Contender, effect

__all__ = ["PEERS", "Peer", "installed"]


class Peer(Contender):
    """Another product. ``module`` must be importable; ``repeats``: what is done can be asked for again."""

    module: ClassVar[str]
    repeats: ClassVar[bool] = True


class AgentOnce(Peer):
    """agent-once on SQLite: claim, then complete."""

    name = "agent-once"
    module = "once"

    def open(self, directory: Path) -> None:
        self._once = import_module("once").Once(directory / "once.db")

    def step(self, key: str) -> object:
        return self._once.execute(effect, key=key, tool_name="charge")


class LangGraph(Peer):
    """LangGraph: ``@task`` in an ``@entrypoint``, each checkpoint in SQLite before going on; results only."""

    name = "langgraph"
    module = "langgraph.checkpoint.sqlite"
    repeats = False

    def open(self, directory: Path) -> None:
        functions: Any = import_module("langgraph.func")
        saver: Any = import_module(self.module).SqliteSaver
        self._threads = 0
        self._saver = saver(sqlite3.connect(directory / "checkpoints.db", check_same_thread=False))

        def charge(key: str) -> dict[str, Any]:
            return effect()

        task = functions.task(charge)

        def workflow(keys: list[str]) -> None:
            for key in keys:
                task(key).result()

        self._workflow = functions.entrypoint(checkpointer=self._saver)(workflow)

    def steps(self, keys: Sequence[str]) -> None:
        self._threads += 1
        thread = {"configurable": {"thread_id": f"{time.time_ns()}-{self._threads}"}}
        self._workflow.invoke(list(keys), thread, durability="sync")

    def step(self, key: str) -> object:
        self.steps([key])
        return None

    def close(self) -> None:
        self._saver.conn.close()


class Dbos(Peer):
    """DBOS on SQLite: ``@DBOS.step`` in a ``@DBOS.workflow``; results only."""

    name = "dbos"
    module = "dbos"
    repeats = False

    def open(self, directory: Path) -> None:
        logging.disable(logging.CRITICAL)
        dbos: Any = import_module("dbos").DBOS
        self._dbos = dbos
        dbos(
            config={
                "name": "bench",
                "system_database_url": f"sqlite:///{directory}/dbos.sqlite",
                "run_admin_server": False,
                "log_level": "ERROR",
            }
        )

        def charge(key: str) -> dict[str, Any]:
            return effect()

        step = dbos.step(name="charge")(charge)

        def workflow(keys: list[str]) -> None:
            for key in keys:
                step(key)

        self._workflow = dbos.workflow(name="workflow")(workflow)
        dbos.launch()

    def steps(self, keys: Sequence[str]) -> None:
        self._workflow(list(keys))

    def step(self, key: str) -> object:
        self.steps([key])
        return None

    def close(self) -> None:
        self._dbos.destroy()


class DiskCache(Peer):
    """diskcache with synchronous FULL: the intent is set, then the result."""

    name = "diskcache"
    module = "diskcache"

    def open(self, directory: Path) -> None:
        self._cache = import_module("diskcache").Cache(str(directory / "cache"), sqlite_synchronous=2)

    def step(self, key: str) -> object:
        known = self._cache.get(f"commit {key}")
        if known is not None:
            return known
        self._cache.set(f"intent {key}", ("charge", time.time(), INPUTS))
        result = effect()
        self._cache.set(f"commit {key}", result)
        return result

    def close(self) -> None:
        self._cache.close()


class Lmdb(Peer):
    """lmdb with its syncs on: two write transactions."""

    name = "lmdb"
    module = "lmdb"

    def open(self, directory: Path) -> None:
        import msgspec

        self._encode, self._decode = msgspec.json.encode, msgspec.json.decode
        self._store = import_module("lmdb").open(str(directory / "store"), map_size=1 << 30)

    def step(self, key: str) -> object:
        name = key.encode()
        with self._store.begin() as reading:
            known = reading.get(b"commit " + name)
        if known is not None:
            return self._decode(known)
        with self._store.begin(write=True) as writing:
            writing.put(b"intent " + name, self._encode(("charge", time.time(), INPUTS)))
        result = effect()
        with self._store.begin(write=True) as writing:
            writing.put(b"commit " + name, self._encode(result))
        return result

    def close(self) -> None:
        self._store.close()


PEERS: dict[str, type[Peer]] = {kind.name: kind for kind in (AgentOnce, LangGraph, Dbos, DiskCache, Lmdb)}


def installed() -> list[str]:
    """The peers that this Python can import."""
    return [name for name, kind in PEERS.items() if _is_there(kind.module)]


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
