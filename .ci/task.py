"""The project's own commands, for a machine that has only Python and git.

    python3 .ci/task.py demo      set up, then run `runledger demo`
    python3 .ci/task.py check     set up, then every check and every test, the quickest first
    python3 .ci/task.py soak      set up, then the tests that take minutes
    python3 .ci/task.py bench     set up, then the benchmarks

What follows the name is passed on: `demo --json`, `check types docs`, `check tests -k fold`, `soak -x`.
Set-up makes `.venv` at the top of the checkout and installs there; it is skipped while pyproject.toml, the
checkout's place and the Python stay the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "set-up-by-task.json"
OLDEST = (3, 11)

# What each kind of set-up installs; `--group` needs a pip of 2025.
INSTALLS = {
    "run": ["--editable", "."],
    "dev": ["--editable", ".", "--group", "dev"],
}

# In this order, so that what is quickest to find is found first.
STAGES = {
    "lint": ["ruff", "check"],
    "format": ["ruff", "format", "--check"],
    "spelling": ["codespell_lib"],
    "packaging": ["validate_pyproject", "pyproject.toml"],
    "types": ["mypy"],
    "docs": ["sphinx", "--fail-on-warning", "--keep-going", "--quiet", "docs", "build/docs"],
    "tests": ["pytest"],
}


def say(text: str) -> None:
    """Tell the reader what happens now; results of the tools themselves stay as they are."""
    print(f"[task] {text}", file=sys.stderr, flush=True)


def require_python() -> None:
    """Stop with the exact next command where this Python cannot do the set-up."""
    again = " ".join(sys.argv[1:])
    if sys.version_info < OLDEST:
        sys.exit(
            f"[task] Python {OLDEST[0]}.{OLDEST[1]} or later is needed, this is {sys.version.split()[0]}.\n"
            f"[task] With a newer one installed: python{OLDEST[0]}.{OLDEST[1]} .ci/task.py {again}"
        )
    if os.name != "posix":
        sys.exit("[task] runledger needs a POSIX system (its locks are flock): Linux, macOS or WSL.")
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        sys.exit(
            "[task] This Python cannot make a virtual environment (it has no ensurepip).\n"
            f"[task] On Debian and Ubuntu: sudo apt-get install {package} && python3 .ci/task.py {again}"
        )


def set_up(kind: str) -> None:
    """Make `.venv` and install there, unless that was done already for this very pyproject.toml."""
    project = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    # Moved or of another Python, every path inside is stale; with nothing installed it is half made.
    maker = {"root": str(ROOT), "python": sys.version, "prefix": sys.base_prefix}
    stamp = json.loads(STAMP.read_text()) if STAMP.exists() else None
    if stamp is None and VENV.exists():
        sys.exit(
            f"[task] {VENV} is there but was not made by this script. Move it away, then run this again."
        )
    if stamp is not None and (stamp["maker"] != maker or not stamp["installed"]):
        shutil.rmtree(VENV)
        stamp = None
    if stamp is None:
        require_python()
        say("setting up .venv")
        VENV.mkdir()
        # Written first: whatever stops the set-up, the next one knows that the folder is its own.
        STAMP.write_text(json.dumps({"maker": maker, "installed": {}}))
        run([sys.executable, "-m", "venv", str(VENV)])
        run([str(PYTHON), "-m", "pip", "install", "-qq", "--upgrade", "pip>=25.1"])
        stamp = {"maker": maker, "installed": {}}
    if stamp["installed"].get(kind) != project:
        say("installing into .venv (once, until pyproject.toml changes)")
        run([str(PYTHON), "-m", "pip", "install", "-qq", *INSTALLS[kind]])
        stamp["installed"][kind] = project
        STAMP.write_text(json.dumps(stamp))


def run(command: list[str]) -> None:
    """Run a command in the project's folder; where it fails, so does this script, with its exit code."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if code:
        say(f"FAILED with exit code {code}: {' '.join(command)}")
        sys.exit(code if code > 0 else 128 - code)


def tool(command: list[str]) -> list[str]:
    """The command line of a tool that is installed in the environment."""
    return [str(PYTHON), "-m", *command]


def check(words: list[str]) -> None:
    """Run the stages that are named, or all; options behind them go to the last one's tool."""
    names = [word for word in words if word in STAGES]
    options = words[len(names) :]
    if words[: len(names)] != names or (options and not names):
        sys.exit(
            f"[task] The stages are: {' '.join(STAGES)}. Options come last and go to the last stage named."
        )
    began = time.monotonic()
    for name in names or STAGES:
        say(f"stage {name}")
        run(tool(STAGES[name]) + (options if names and name == names[-1] else []))
    say(f"all passed in {time.monotonic() - began:.0f} s: {' '.join(names or STAGES)}")


def main(words: list[str]) -> None:
    """Do what the first word says."""
    task, rest = (words[0], words[1:]) if words else ("", [])
    if task == "demo":
        set_up("run")
        os.chdir(ROOT)
        os.execv(VENV / "bin" / "runledger", ["runledger", "demo", *rest])
    elif task == "check":
        set_up("dev")
        check(rest)
    elif task == "soak":
        set_up("dev")
        run(tool(["pytest", "-m", "soak", "-n", "0", "--timeout", "3600", *rest]))
    elif task == "bench":
        set_up("dev")
        run(tool(["pytest", "bench", "-n", "0", "--benchmark-enable", *rest]))
    else:
        sys.exit(str(__doc__))


if __name__ == "__main__":
    main(sys.argv[1:])
