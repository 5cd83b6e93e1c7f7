"""The quick commands, answered from the brief: nothing that reads a ledger is loaded."""

from __future__ import annotations

import sys
import time

from runledger.local import brief as briefs
from runledger.local.brief import MOMENT, Brief
from runledger.local.files import Files, find_root
from runledger.text import escape, escape_json

TYPE_CHECKING = False  # as ``typing`` has it: that module alone costs as much as a bare interpreter
if TYPE_CHECKING:
    from runledger.moment import Moment

__all__ = ["answered"]

_CODES = frozenset({0, 1, 76, 77, 78})
"""What the quick commands end with; whoever else may write a brief has no other say."""


def answered(name: str, *, as_json: bool, quiet: bool) -> int | None:
    """Answer and return the exit code; None where the ledger itself must be asked, and nothing was printed."""
    try:
        said = _said(name, as_json=as_json, quiet=quiet)
    except Exception:  # noqa: BLE001 - whatever it is, whoever reads the ledger itself says so; errors.py is not loaded
        return None
    if said is None:
        return None
    code, text = said
    sys.stdout.flush()
    sys.stdout.buffer.write(text)
    return code


def _said(name: str, *, as_json: bool, quiet: bool) -> tuple[int, bytes] | None:
    files = Files(find_root(None))
    try:
        if name == "heartbeat":
            return _beaten(files, as_json=as_json)
        brief = briefs.read(files)
    finally:
        files.close()
    if brief is None:
        return None
    code = int(brief[f"{name}-code"])
    if code not in _CODES:
        return None
    if quiet and not as_json:
        return code, b""
    if not as_json and (sys.stdout.isatty() or sys.stdout.encoding.lower() not in ("utf-8", "utf8")):
        return None  # colours, and letters that cannot be shown, are not kept ready
    text = brief[f"{name}-json"] if as_json else "\n".join(brief.all(name))
    if MOMENT in text:
        moment = _moment(brief)
        text = text.replace(MOMENT, moment.members() if as_json else "\n".join(moment.lines()))
    if as_json:
        return code, escape_json(text.encode()) + b"\n"
    return code, "".join(f"{escape(line)}\n" for line in text.split("\n")).encode()


def _moment(brief: Brief) -> Moment:
    from runledger.moment import Moment, aged

    epoch = brief["epoch"]
    seconds = None if epoch == "None" else max(0.0, time.time() - float(epoch))
    age_s, stale = aged(seconds, running=brief["state"] == "RUNNING")
    return Moment(int(brief["lsn"]), int(brief["shown"]), brief["activity"], age_s, stale=stale)


def _beaten(files: Files, *, as_json: bool) -> tuple[int, bytes] | None:
    from runledger.local.pulse import beat

    recorded = beat(files)
    if recorded is None:
        return None
    lsn, at = recorded
    return 0, f'{{"lsn":{lsn},"last_activity":"{at}"}}\n'.encode() if as_json else b""
