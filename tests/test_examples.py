"""What the pages show is run: Python blocks, console sessions, in a folder of their own.

A block is run if the line before it says so: `<!-- run -->`, or `<!-- file: NAME -->` for a file that the page tells
its reader to save. In the output that a page shows, `…` stands for anything.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^<!-- (run|file: (\S+)) -->\n```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(ROOT.glob("docs/**/*.md")) if BLOCK.search(page.read_text("utf-8"))]


def shell(command: str, folder: Path) -> str:
    """What a terminal shows of a command."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(  # noqa: S602 - the commands are those of the pages
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )
    shown = ended.stdout.decode()
    killed = ended.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    return f"{shown}Killed\n" if killed and "Killed" not in shown else shown  # some shells say it


def session(text: str, folder: Path) -> None:
    """Run each command of a console session, and compare what it shows with what the page shows."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        wanted = "".join(".*" if piece == "…" else re.escape(piece) for piece in re.split("(…)", shown))
        got = shell(command, folder)
        assert re.fullmatch(wanted, got, re.DOTALL), f"$ {command}\n{got}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From top to bottom, in one folder; Python blocks share their names, as a reader's session would."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)  # where a dataclass looks for its own module
    for block in BLOCK.finditer(text):
        _, file, language, content = block.groups()
        line = text.count("\n", 0, block.start(4))
        if file:
            (tmp_path / file).write_text(content)
        elif language == "console":
            session(content, tmp_path)
        else:
            exec(compile("\n" * line + content, str(page), "exec"), module.__dict__)  # noqa: S102 - our own pages
