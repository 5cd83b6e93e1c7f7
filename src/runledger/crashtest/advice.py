"""What to change in a program, in words."""

from __future__ import annotations

__all__ = [
    "ABORTS_WRONG",
    "KEY",
    "LEASE",
    "LOST",
    "NOT_IDEMPOTENT",
    "OUTSIDE",
    "PROBE",
    "PROBE_SILENT",
    "PROBE_WRONG",
    "RUN",
    "STABLE_KEY",
    "STUCK",
    "UNSTEADY",
]

PROBE = (
    "if the outside can be asked, a probe (probe=…, --probe CMD) settles it; "
    "if repeating does no harm, say idempotent; else a person settles it: runledger resolve"
)
PROBE_SILENT = "let the probe answer Happened or NOT_HAPPENED (exit 0 or 1) wherever it can tell"
PROBE_WRONG = "its probe said that it did not happen, and it had: let the probe look at the outside itself"
NOT_IDEMPOTENT = (
    "it is declared idempotent, and repeating it does harm: take that away and add a probe, "
    "or hand its idempotency key on to the outside"
)
ABORTS_WRONG = (
    "something said that it did not happen, and it had: look at aborts_on, --aborts-on and step.abort"
)
KEY = "give it a key: without one a step is recorded, and never skipped"
STABLE_KEY = "make its key from the work itself, not from a time, a random number or a process id"
RUN = (
    "a run that is finished must not be started over by a restart: ask `runledger wake` first, "
    "or use `with ledger.run(plan_id=…)`, which refuses; or scope the keys to the ledger"
)
OUTSIDE = "an effect is outside of the steps: move it into the body of one, after its intent"
LOST = "the restart passes over work: let the ledger alone decide what is done"
STUCK = "the restart must get over what an earlier start left behind: a file that exists, a row that is there"
UNSTEADY = "it ended well once and failed another time, without a kill: that is to be mended first"
LEASE = "its `begin` can only be waited for: a shorter --lease, or `runledger step`, whose owner is known to be dead"
