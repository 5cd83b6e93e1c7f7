"""Making the brief: what a reader that begins now would answer, with what that rests on.

Order: what it rests on is taken first, then the journal is read on and the state file looked at. So whatever changes in
between makes the brief void, never wrong. Anything out of the ordinary makes none: damage, a torn tail, records that no
sync covered, a state file that is not ours as it stands, a lease that runs down.
"""

from __future__ import annotations

import os
import re
import threading
from zlib import crc32

import msgspec
from msgspec.structs import replace

from runledger import answers
from runledger.answers import Sight
from runledger.clock import parse
from runledger.errors import LedgerError
from runledger.local import brief as briefs
from runledger.local.brief import MOMENT
from runledger.local.frame import all_checked
from runledger.local.journal import Journal
from runledger.local.known import copied, living
from runledger.local.mending import is_sound
from runledger.local.pulse import Beat, Splice
from runledger.local.reader import Reader
from runledger.local.snapshot import Snapshot
from runledger.local.standing import fate_of, in_doubt_of
from runledger.run_state import RUNNING
from runledger.state_file import render
from runledger.status import status_of
from runledger.store import Known
from runledger.view import Owner, Run, View

__all__ = ["renew"]

MOST = 20
"""Open steps, and owners, of which a brief tells."""

Facts = dict[str, list[str]]

_encode = msgspec.json.Encoder().encode
_ANOTHER_TIME, _ANOTHER_LSN = "1999-12-31T23:59:59Z", 98765432123456789
_ACTIVITY = re.compile(rb'"last_activity"\s*:\s*"([^"]{20})"')
_LEDGER = re.compile(rb'"lsn"\s*:\s*([0-9]+)\s*,\s*"digest"\s*:\s*"(crc32:[0-9a-f]{8})"')


def renew(reader: Reader, io: threading.RLock) -> None:
    """Leave the answers of this moment behind, where all is in order. Never fails: it is an aid to readers."""
    try:
        with io:
            facts = _facts(reader)
        if facts is not None and reader.files.ledger is not None:
            briefs.write(reader.files.ledger, facts)
    except (LedgerError, UnicodeError):
        return


def _facts(reader: Reader) -> Facts | None:
    reader.refresh()
    journal, view = reader.journal, copied(reader.view)
    run = view.run
    if journal is None or run is None or reader.lost_history() or not _is_plain(journal, view):
        return None
    end = journal.offset
    files = briefs.files_now(reader.files, end)
    owners = [_owner(reader, owner) for owner in _owners(view)]
    rests = {
        "end": [str(end)],
        "file": briefs.facts_of(files),
        "history": [briefs.history_now(reader.files)],
        "owner": [fact for fact in owners if fact is not None],
        "branch": [briefs.branch_now(reader.files.root)] if run.declared_branch else [],
    }
    reader.refresh()
    if journal.offset != end or None in owners or not _is_written(journal, files[-1]):
        return None
    known = _known(reader, view)
    told = None if known is None else _told(Sight(status_of(known, reader.files.root), known))
    if known is None or told is None:
        return None
    return {**rests, **told, **_beat(reader, known, rests["owner"], files[0])}


# --- what it rests on ---------------------------------------------------------------------------------------


def _is_plain(journal: Journal, view: View) -> bool:
    """Whether all is known, on the disk, and does not change by itself."""
    run, steps = view.run, view.open.values()
    if run is None or not run.known or view.damage or len(steps) > MOST or len(view.owners) > MOST:
        return False
    if any(step.lease is not None or step.damaged or not (step.by or step.over) for step in steps):
        return False
    return journal.torn is None and journal.clean and not journal.sealed and journal.durable >= journal.lsn


def _is_written(journal: Journal, tail: briefs.File) -> bool:
    """Whether what was read of the last segment still stands there, and nothing behind it."""
    if journal.file is None or tail.stat is None or journal.file.stat().ino != tail.stat.ino:
        return False
    lines = tail.data[: journal.offset - tail.begin].split(b"\n")
    sound = all_checked(lines[1:-1], journal.seed)  # of the first there may be half
    header = tail.begin > 0 or is_sound(lines[0], 0)
    filler = journal.file.pread(tail.stat.size - journal.offset, journal.offset)
    return header and sound and not filler.strip(b"\n")


def _owners(view: View) -> list[Owner]:
    """The owners whose fate is asked for: those that never left, and those of open steps whose call is not over."""
    of_steps = (step.by for step in view.open.values() if step.by is not None and not step.over)
    return list({owner.id: owner for owner in (*view.owners.values(), *of_steps)}.values())


def _owner(reader: Reader, owner: Owner) -> str | None:
    """What tells later whether an owner's fate is still the same; None where that may look otherwise from outside."""
    fields = (owner.id, owner.boot, owner.pidns, owner.host)
    if any(not field or not field.isascii() or not field.isprintable() or " " in field for field in fields):
        return None
    fact = briefs.owner_now(reader.files, owner.id, owner.pid, owner.start, owner.boot, owner.pidns)
    return fact if " held " in fact or owner.pid != os.getpid() else None


def _known(reader: Reader, view: View) -> Known | None:
    """What a reader that begins now knows, where the state file is ours as it stands."""
    assert reader.files.run is not None
    snapshot = Snapshot(reader.files.run)
    if snapshot.look(view, keep=False) or snapshot.problem is not None:
        return None
    owners = reader.files.owners
    fates = {step.lsn: fate_of(step, owners, "", set()) for step in view.open.values()}
    return Known(view, fates, living(view, owners, ""), None, None, [], snapshot.lsn, None)


# --- what it tells ------------------------------------------------------------------------------------------


def _told(sight: Sight) -> Facts | None:
    """The answers, with a mark where the moment belongs; None where its place cannot be told."""
    status = sight.status
    moment = answers.moment_of(status)
    told = answers.status(sight)
    lines, members = "\n".join(told.lines), _encode(status).decode()
    if lines.count("\n".join(moment.lines())) != 1 or members.count(moment.members()) != 1:
        return None
    facts = {
        "state": [status.state],
        "lsn": [str(moment.lsn)],
        "shown": [str(moment.shown)],
        "activity": [moment.activity],
        "epoch": [str(parse(moment.activity))],
        "status": lines.replace("\n".join(moment.lines()), MOMENT).split("\n"),
        "status-code": [str(told.code)],
        "status-json": [members.replace(moment.members(), MOMENT)],
    }
    for name, answer in (("wake", answers.wake(sight)), ("is-running", answers.is_running(sight))):
        facts[name] = answer.lines
        facts[f"{name}-code"] = [str(answer.code)]
        facts[f"{name}-json"] = [_encode(answer.facts).decode()]
    return facts


# --- what a heartbeat needs ---------------------------------------------------------------------------------


def _beat(reader: Reader, known: Known, owners: list[str], state: briefs.File) -> Facts:
    """What a next heartbeat is made of; nothing where it has more to do, such as to bury an owner."""
    view, journal, run = known.view, reader.journal, known.view.run
    if run is None or run.state != RUNNING or journal is None or journal.header is None:
        return {}
    splice = _splice(view, run, known, state.data)
    if splice is None or any(not fact.endswith(" held runs") for fact in owners):
        return {}
    beat = Beat(
        run=_encode(run.id).decode(),
        seed=journal.seed,
        ledger=crc32(view.ledger.encode()),
        end=journal.offset,
        limit=reader.segment_bytes,
        steps=view.steps,
        durable=journal.durable,
    )
    return {"beat": [beat.fact], "splice": [splice.fact]}


def _splice(view: View, run: Run, known: Known, text: bytes) -> Splice | None:
    """Where the values stand that a heartbeat changes; None unless changing them gives what ``render`` would."""
    activity, ledger = list(_ACTIVITY.finditer(text)), list(_LEDGER.finditer(text))
    if len(activity) != 1 or len(ledger) != 1:
        return None
    splice = Splice(activity[0].start(1), ledger[0].start(1), len(ledger[0][1]), ledger[0].start(2))
    another = replace(view, lsn=_ANOTHER_LSN, run=replace(run, last_activity=_ANOTHER_TIME))
    due = render(another, in_doubt_of(view, lambda step: known.fates[step.lsn]))
    made, _ = splice.put(text, _ANOTHER_TIME, _ANOTHER_LSN, crc32(view.ledger.encode()))
    return splice if due is not None and made == due.encode() else None
