"""``runledger report``: the course of the run, from its journal."""

from __future__ import annotations

from runledger.timeline.report import SCHEMA, as_json, report

__all__ = ["SCHEMA", "as_json", "report"]
