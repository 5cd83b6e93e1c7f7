"""``runledger advise``: where to put the boundaries of this very run, from what its journal has seen."""

from __future__ import annotations

from runledger.advice.judge import Advice, advise
from runledger.advice.report import SCHEMA, as_json, report

__all__ = ["SCHEMA", "Advice", "advise", "as_json", "report"]
