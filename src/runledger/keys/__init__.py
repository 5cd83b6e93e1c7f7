"""Identity: the names and keys of steps, the keys made from a call, the digests of inputs and of code."""

from __future__ import annotations

from runledger.keys.code import code_fingerprint
from runledger.keys.identity import check_key, check_name, idempotency_key
from runledger.keys.inputs import call_inputs, value_inputs
from runledger.keys.rule import KeyRule

__all__ = [
    "KeyRule",
    "call_inputs",
    "check_key",
    "check_name",
    "code_fingerprint",
    "idempotency_key",
    "value_inputs",
]
