"""What damage does to a view: records are lost, and what they may have said must not read as "never happened"."""

from __future__ import annotations

import msgspec

from runledger.view import Damage, OpenStep, Run, View, identity_of

__all__ = ["begun", "identified", "looked_at", "lost"]


def lost(view: View, x: Damage) -> None:
    """Lost records: the numbers are used up, and a lost outcome leaves its intent open.

    Whatever step can still be read in the bad bytes becomes an open step in doubt, unless its commit is known.
    """
    view.lsn = x.last
    view.steps += x.intents
    view.damage.append(x)
    if x.moves and view.run is not None:
        view.run.unsure = x.last
    run = view.run.id if view.run is not None else ""
    for lsn, (scope, name, key) in zip(range(x.first, x.last + 1), x.salvaged, strict=False):
        identity = identity_of(scope, run, name, key)
        if identity is not None:
            settled = view.settled.get(identity)
            if identity in view.keys or (settled is not None and settled.status == "committed"):
                continue
            view.settled.pop(identity, None)
        view.open[lsn] = OpenStep(
            lsn=lsn,
            name=name,
            key=key,
            scope=scope,
            run=run,
            attempt=1,
            started="",
            owner="",
            over=True,
            damaged=True,
        )
        if identity is not None:
            view.keys[identity] = lsn


def begun(view: View, run: str) -> None:
    """A record tells of a run whose beginning is among the lost: the keys of its steps are that run's, so it goes on
    under its id, and what else there is to know of it the state file tells."""
    if run and (view.run is None or view.run.id != run):
        view.run = Run(id=run, plan_id="", unsure=view.damage[-1].last)


def identified(view: View, lsn: int) -> None:
    """A good record tells of which step the lost intent ``lsn`` was."""
    view.damage = [
        msgspec.structs.replace(d, sure=d.sure + 1) if d.first <= lsn <= d.last else d for d in view.damage
    ]


def looked_at(view: View, lsn: int, *, named: bool) -> None:
    """Somebody looked: at one step that was lost (``named``), or at everything that was."""
    run = view.run
    if run is not None and not named and any(d.first <= lsn <= d.last >= run.unsure for d in view.damage):
        run.unsure = 0
    view.damage = [d for d in view.damage if not d.first <= lsn <= d.last or (named and d.sure < d.intents)]
