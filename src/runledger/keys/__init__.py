"""Identity: the names and keys of steps, the keys made from a call, the digests of inputs and of code.

What only a decorator needs, ``keys.rule`` and ``keys.code``, is not imported here: most steps are none.
"""

from __future__ import annotations

from runledger.keys.identity import check_key, check_name, idempotency_key
from runledger.keys.inputs import call_inputs, value_inputs

__all__ = [
    "call_inputs",
    "check_key",
    "check_name",
    "idempotency_key",
    "value_inputs",
]
