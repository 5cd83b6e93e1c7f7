"""The verdict: what ran twice and whether anybody said that it may, what is in doubt, what is lost, what to change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from runledger.crashtest import advice
from runledger.crashtest.boundaries import BODY, Hit
from runledger.crashtest.driver import DONE, IN_DOUBT, NOT_REACHED, STUCK, Trial

__all__ = ["Finding", "judge"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that came of kills: ``kills`` says of which.

    Attributes:
        kind: ``ran_twice``, ``lost``, ``stuck`` (violations), ``ran_again``, ``in_doubt``, ``not_reached``.
        name: of the step; empty where it is of none.
        what: what was seen.
        change: what in the program to change; empty where nothing needs to be.
    """

    kind: str
    violation: bool
    name: str
    what: str
    change: str
    kills: list[str]


class _Seen(NamedTuple):
    """A finding of one trial."""

    kind: str
    name: str
    what: str
    change: str


VIOLATIONS = frozenset({"ran_twice", "lost", "stuck"})


def judge(reference: Trial, trials: Iterable[Trial]) -> list[Finding]:
    """What the trials show, the worst first; equal findings of several kills are one."""
    kills: defaultdict[_Seen, list[str]] = defaultdict(list)
    for trial in trials:
        for seen in dict.fromkeys(_of_trial(reference, trial)):
            kills[seen].append(str(trial.boundary))
    found = [
        Finding(s.kind, s.kind in VIOLATIONS, s.name, s.what, s.change, where) for s, where in kills.items()
    ]
    order = ["ran_twice", "lost", "stuck", "in_doubt", "ran_again", "not_reached"]
    return sorted(found, key=lambda finding: order.index(finding.kind))


def _of_trial(reference: Trial, trial: Trial) -> Iterator[_Seen]:
    twice = list(_ran_twice(reference, trial))
    twice += list(_counted(reference, trial, twice))
    yield from twice
    for step in trial.open if trial.ended == IN_DOUBT else ():
        if step.owner.lease:
            yield _Seen("in_doubt", step.name, "held by nothing but its lease", advice.LEASE)
        elif step.probed:
            yield _Seen("in_doubt", step.name, "in doubt: its probe could not tell", advice.PROBE_SILENT)
        else:
            yield _Seen("in_doubt", step.name, "in doubt, by design: it has no probe", advice.PROBE)
    if trial.ended == DONE:
        yield from _lost(reference, trial)
        for name, hits in _bodies(trial.hits).items():
            if any(n > 1 for n in Counter(map(_identity, hits)).values()) and not twice:
                how = (
                    "declared idempotent"
                    if hits[0].idempotent
                    else "its earlier attempt was known not to have happened"
                )
                yield _Seen("ran_again", name, f"ran again: {how}", "")
    elif trial.ended == STUCK and trial.starts == 1:
        yield _Seen("stuck", "", f"failed before it came to the kill: exit {trial.code}", advice.UNSTEADY)
    elif trial.ended == STUCK:
        what = f"did not end well after {trial.starts} starts: exit {trial.code}"
        yield _Seen("stuck", "", what, advice.STUCK)
    elif trial.ended == NOT_REACHED:
        yield _Seen("not_reached", "", "the program did not come there this time, and ended well", "")


def _ran_twice(reference: Trial, trial: Trial) -> Iterator[_Seen]:
    """Work that has no identity which outlives the restart: the ledger took the second time for something else."""
    usual, now = _bodies(reference.hits), _bodies(trial.hits)
    for name, hits in now.items():
        before = {_identity(hit) for hit in usual.get(name, [])}
        ran = {_identity(hit): hit for hit in hits}
        if len(ran) <= len(before):
            continue
        if all(hit.key is None for hit in ran.values()):
            if not all(hit.idempotent for hit in ran.values()):
                yield _Seen("ran_twice", name, "ran twice: it has no key", advice.KEY)
        elif len({hit.run for hit in ran.values() if hit.scope == "run"}) > 1:
            yield _Seen("ran_twice", name, "ran twice: the restart began another run", advice.RUN)
        else:
            yield _Seen(
                "ran_twice", name, "ran twice: under another key after the restart", advice.STABLE_KEY
            )


def _counted(reference: Trial, trial: Trial, twice: list[_Seen]) -> Iterator[_Seen]:
    """What the user's own count saw; where the ledger's view explains it already, it is not told again."""
    if trial.effects is None or reference.effects is None:
        return
    more = [line for line, n in trial.effects.items() if n > max(1 if line else 0, reference.effects[line])]
    total, usual = trial.effects.total(), reference.effects.total()
    if (more or total > usual) and not twice:
        said = f"the count saw {more[0]!r} {trial.effects[more[0]]} times" if more and more[0] else ""
        what = said or f"the count saw {total} effects, not {usual}"
        again = {
            name: hits[0]
            for name, hits in _bodies(trial.hits).items()
            if any(n > 1 for n in Counter(map(_identity, hits)).values())
        }
        if not again:
            yield _Seen("ran_twice", "", f"{what}, and no step ran twice", advice.OUTSIDE)
        for name, hit in again.items():
            change = (
                advice.NOT_IDEMPOTENT
                if hit.idempotent
                else advice.PROBE_WRONG
                if hit.probed
                else advice.ABORTS_WRONG
            )
            yield _Seen("ran_twice", name, what, change)
    elif total < usual and trial.ended == DONE:
        yield _Seen("lost", "", f"the count saw {total} effects, not {usual}", advice.LOST)


def _lost(reference: Trial, trial: Trial) -> Iterator[_Seen]:
    """Steps of the uninterrupted run that were never committed, though the program says that it is done."""
    usual, now = _committed(reference.hits), _committed(trial.hits)
    for name, ids in usual.items():
        if len(now.get(name, ())) < len(ids):
            yield _Seen("lost", name, "never committed, and the program ended well", advice.LOST)


def _bodies(hits: list[Hit]) -> dict[str, list[Hit]]:
    found: defaultdict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        if hit.place == BODY:
            found[hit.name].append(hit)
    return found


def _committed(hits: list[Hit]) -> dict[str, set[object]]:
    """What is known to be committed. A kill may come between the record and its report, so the attempt counts too."""
    found: defaultdict[str, set[object]] = defaultdict(set)
    for hit in hits:
        if hit.place == "before commit":
            found[hit.name].add(hit.key if hit.key is not None else (hit.pid, hit.seq))
    return found


def _identity(hit: Hit) -> tuple[str, str | None, str, int]:
    """What the ledger takes for one and the same step; a step without a key is never the same."""
    return (hit.name, hit.key, hit.run if hit.scope == "run" else "", 0 if hit.key is not None else hit.lsn)
