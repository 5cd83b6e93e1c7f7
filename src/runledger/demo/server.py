"""The web server of the outside, a process of its own: ``python -m runledger.demo.server DATABASE WITNESS``.

``POST /pages`` publishes: each one that arrives is a row, committed before the answer. An ``Idempotency-Key``
is noted and, as with most services, nothing is made of it. ``GET /pages/<slug>`` is 200 or 404. It prints its
port first, and leaves when its standard input ends, so it does not outlive whoever started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer

from runledger.demo.witness import AFTER, BEFORE, Moment, tell

__all__ = ["serve"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS publications (
    id INTEGER PRIMARY KEY, slug TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, idempotency_key TEXT
)
"""


class PageServer(TCPServer):
    """One request at a time, in the order of arrival: a GET sees the POST before it, even one of the dead."""

    allow_reuse_address = True

    def __init__(self, database: str, witness: int) -> None:
        super().__init__(("127.0.0.1", 0), PageHandler)
        self.database = sqlite3.connect(database)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.execute(SCHEMA)
        self.witness = witness

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that died in the middle of its request is an everyday thing here."""


class PageHandler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = 5.0

    def do_POST(self) -> None:
        if self.path != "/pages":
            self._answer(404, {"error": "no such place"})
            return
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        page = json.loads(raw)
        worker = int(self.headers.get("X-Worker", "0"))
        tell(self.server.witness, Moment(BEFORE, "publish", page["slug"]), worker)
        with self.server.database as database:
            database.execute(
                "INSERT INTO publications (slug, title, body, idempotency_key) VALUES (?, ?, ?, ?)",
                (page["slug"], page["title"], page["body"], self.headers.get("Idempotency-Key")),
            )
        tell(self.server.witness, Moment(AFTER, "publish", page["slug"]), worker)
        self._answer(201, {"url": self._url(page["slug"])})

    def do_GET(self) -> None:
        slug = self.path.removeprefix("/pages/")
        query = "SELECT title, body FROM publications WHERE slug = ? ORDER BY id DESC LIMIT 1"
        row = self.server.database.execute(query, (slug,)).fetchone()
        if row is None:
            self._answer(404, {"error": "no such page"})
        else:
            self._answer(200, {"url": self._url(slug), "title": row[0], "body": row[1]})

    def _url(self, slug: str) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/pages/{slug}"

    def _answer(self, status: int, document: dict[str, str]) -> None:
        body = json.dumps(document).encode()
        with contextlib.suppress(ConnectionError):  # the one who asked may be dead by now
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent: the database is the log."""


def serve(database: str, witness: int) -> None:
    """Serve until standard input ends."""

    def leave_with_parent() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    with PageServer(database, witness) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=leave_with_parent, daemon=True).start()
        server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
