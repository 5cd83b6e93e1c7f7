"""The tools an agent has: files, git, an HTTP client, a mail program. Nothing in here knows of a ledger."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from runledger.demo.git import git
from runledger.demo.plan import Page

__all__ = ["Outside", "Services"]

TIMEOUT = 20.0


@dataclass(frozen=True)
class Services:
    """Where the outside is, as written beside the working tree for whoever works in it."""

    pages: int  # port on 127.0.0.1
    remote: str
    maildir: str
    witness: int = 0

    @staticmethod
    def path(tree: Path) -> Path:
        """Where a tree says how to reach its services."""
        return tree.parent / "services.json"

    @classmethod
    def of(cls, tree: Path) -> Services:
        """The services of a tree."""
        return cls(**json.loads(cls.path(tree).read_text(encoding="utf-8")))

    def save(self, tree: Path) -> None:
        """Put them where the workers of a tree look."""
        self.path(tree).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


class Outside:
    """The world as it is seen from the working tree ``tree``."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.services = Services.of(tree)

    def write(self, path: str, text: str) -> None:
        """Write a file of the working tree; doing it again changes nothing."""
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def push(self, branch: str, subject: str) -> str:
        """Commit what is in the tree and push it; returns the commit. Doing it again is one more of both."""
        git("add", "site", at=self.tree)
        git("commit", "--quiet", "--allow-empty", "--message", subject, at=self.tree)
        git("push", "--quiet", self.services.remote, f"HEAD:refs/heads/{branch}", at=self.tree)
        return git("rev-parse", "HEAD", at=self.tree)

    def pushed(self, branch: str) -> str | None:
        """The commit that the repository has under ``branch``."""
        line = git("ls-remote", self.services.remote, f"refs/heads/{branch}", at=self.tree)
        return line.split()[0] if line else None

    def publish(self, page: Page, idempotency_key: str | None = None) -> str:
        """Publish ``page``; returns its address. Doing it again publishes it again."""
        headers = {"Content-Type": "application/json", "X-Worker": str(os.getpgrp())}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        status, document = self._http("POST", "/pages", json.dumps(asdict(page)), headers)
        if status != 201:
            raise OSError(f"the server answered {status}: {document}")
        return document["url"]

    def published(self, slug: str) -> str | None:
        """The address under which ``slug`` is published."""
        status, document = self._http("GET", f"/pages/{slug}", None, {})
        if status not in {200, 404}:
            raise OSError(f"the server answered {status}: {document}")
        return document["url"] if status == 200 else None

    def send(self, subject: str, body: str, message_id: str | None = None) -> None:
        """Hand a message to the mail program; doing it again delivers it again."""
        header = f"Message-ID: <{message_id}@example.invalid>\n" if message_id else ""
        text = f"From: agent@example.invalid\nTo: team@example.invalid\nSubject: {subject}\n{header}\n{body}"
        program = (sys.executable, "-P", "-m", "runledger.demo.sendmail")
        arguments = (self.services.maildir, str(self.services.witness))
        subprocess.run((*program, *arguments), input=text.encode(), check=True, timeout=TIMEOUT)

    def _http(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.services.pages, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()
