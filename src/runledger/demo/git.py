"""Real git, deaf to the machine's own configuration."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

__all__ = ["clean_environment", "git"]

IDENTITY = ("-c", "user.name=Demo Agent", "-c", "user.email=agent@example.invalid")
TIMEOUT = 20.0


def clean_environment() -> dict[str, str]:
    """Return this environment without what would lead git or runledger elsewhere, as a git hook does."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "RUNLEDGER_"))}
    return kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}


def git(*arguments: str, at: Path) -> str:
    """Run git in ``at`` and return what it printed; `subprocess.CalledProcessError` when it fails."""
    command = ("git", *IDENTITY, *arguments)
    done = subprocess.run(
        command, cwd=at, env=clean_environment(), timeout=TIMEOUT,
        check=True, text=True, stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    return done.stdout.strip()
