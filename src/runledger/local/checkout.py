"""The branch that is checked out around a directory, read from git's own files without starting git."""

from __future__ import annotations

import os

__all__ = ["current_branch"]


def current_branch(root: str) -> str | None:
    """The branch's name; None outside a checkout, or where no branch is checked out."""
    at = os.path.realpath(root)
    while True:
        git = os.path.join(at, ".git")
        try:
            if os.path.isfile(git):
                with open(git, encoding="utf-8", errors="replace") as file:
                    git = os.path.join(at, file.read(4096).partition("gitdir:")[2].strip())
            with open(os.path.join(git, "HEAD"), encoding="utf-8", errors="replace") as file:
                head = file.read(4096).strip()
        except OSError:
            parent = os.path.dirname(at)
            if parent == at:
                return None
            at = parent
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None
