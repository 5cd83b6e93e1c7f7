"""The witness: the outside tells the driver of each effect, before and after it, and waits for its word.

So a worker is killed at the worst place for real: whoever performed the effect (the web server, git's hook,
the mail program) is held until the driver has killed the worker. The worker itself knows nothing of it.
"""

from __future__ import annotations

import json
import queue
import socket
import socketserver
import threading
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["AFTER", "BEFORE", "Moment", "Witness", "tell"]

BEFORE, AFTER = "before", "after"
PATIENCE = 20.0  # seconds: nobody is held for longer, whatever becomes of the driver


@dataclass(frozen=True)
class Moment:
    """One side of one effect: ``Moment("after", "publish", "sprint-1")``."""

    side: str
    effect: str
    name: str


def tell(port: int, moment: Moment, worker: int) -> None:
    """Report ``moment``, caused by process group ``worker``, and wait for leave to go on; port 0: nobody."""
    if not port:
        return
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        report = [moment.side, moment.effect, moment.name, worker]
        connection.sendall(json.dumps(report).encode() + b"\n")
        connection.recv(1)  # the end of the connection is the leave to go on


class Witness:
    """Hears of every moment; holds those in ``traps``, each the first time it comes, until `release`."""

    def __init__(self, traps: Iterable[Moment] = ()) -> None:
        self.traps = set(traps)
        self.caught: queue.SimpleQueue[tuple[Moment, int]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._leave = threading.Event()
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def release(self) -> None:
        """Let go of what is held now; what is caught later is held again."""
        with self._lock:
            self._leave.set()
            self._leave = threading.Event()

    def close(self) -> None:
        """Let everything go on, and stop listening."""
        self.release()
        self._server.shutdown()
        self._server.server_close()

    def _hear(self, moment: Moment, worker: int) -> None:
        with self._lock:
            leave = self._leave
            if moment not in self.traps:
                return
            self.traps.discard(moment)
            self.caught.put((moment, worker))
        leave.wait(PATIENCE)

    def _handler(self) -> type[socketserver.StreamRequestHandler]:
        witness = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                line = self.rfile.readline()
                if line:  # empty: killed before it could speak
                    side, effect, name, worker = json.loads(line)
                    witness._hear(Moment(side, effect, name), worker)

        return Handler
