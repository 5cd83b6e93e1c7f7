"""The planted bugs: each is a way in which ledgers have really lost facts, and small enough to be overlooked."""

from __future__ import annotations

from tests.mutants import syncs, verdicts
from tests.mutants.planting import Mutant

__all__ = ["MUTANTS"]

MUTANTS: dict[str, Mutant] = {**syncs.MUTANTS, **verdicts.MUTANTS}
