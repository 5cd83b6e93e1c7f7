"""``wake``, ``status``, ``is-running`` and ``heartbeat`` where no brief answers: the ledger itself is read."""

from __future__ import annotations

from typing import Any

from runledger import answers
from runledger.answers import Answer, Sight
from runledger.cli.looking import looked, unusable
from runledger.cli.output import document, paint, result
from runledger.errors import LedgerError

__all__ = ["heartbeat", "is_running", "status", "wake"]


def wake(args: Any) -> int:
    """Print the word and the advice; 0 only where the advice is to resume."""
    try:
        sight = looked()
    except (LedgerError, OSError) as error:
        sight = Sight(unusable(error.message if isinstance(error, LedgerError) else str(error)), None)
    return _said(args, answers.wake(sight))


def status(args: Any) -> int:
    """Print where the run stands; 78 where there is nothing sound to tell of."""
    return _said(args, answers.status(looked()))


def is_running(args: Any) -> int:
    """0 when a run of ours is RUNNING, else 1."""
    answer = answers.is_running(looked())
    return answer.code if args.quiet and not args.json else _said(args, answer)


def _said(args: Any, answer: Answer) -> int:
    if args.json:
        document(answer.facts)
    else:
        result(answer.lines[0].replace(answer.word, paint(answer.word), 1))
        for line in answer.lines[1:]:
            result(line)
    return answer.code


def heartbeat(args: Any) -> int:
    """Move ``last_activity``; says nothing unless asked for JSON."""
    from runledger.cli.writing import moved
    from runledger.store import Move

    lsn, known = moved(Move(what="heartbeat"))
    if args.json:
        run = known.view.run
        document({"lsn": lsn, "last_activity": run.last_activity if run is not None else None})
    return 0
