"""Whatever a result is, every line of the journal and the state file stay JSON by the letter."""

from __future__ import annotations

from pathlib import Path

from tests.support.children import command, ran
from tests.support.outside import Outside
from tests.support.tree import needs_jq, read_by_jq, record_lines, segments, state_file, strict

RESULTS = {
    "nan": "float('nan')",
    "inf": "float('inf')",
    "minus-inf": "[1, float('-inf')]",
    "minus-zero": "-0.0",
    "huge-int": "10**400",
    "decimal-nan": "decimal.Decimal('NaN')",
    "decimal-inf": "{'a': decimal.Decimal('-Infinity')}",
    "complex-nan": "complex('nan')",
    "nan-as-a-key": "{float('nan'): 1}",
    "lone-surrogate": "'\\ud800'",
    "control-characters": "'\\x00\\x1b\\u2028'",
    "huge-float": "1e308 * 1.7",
    "tiny-float": "5e-324",
}
REFUSED = {
    "nan",
    "inf",
    "minus-inf",
    "decimal-nan",
    "decimal-inf",
    "complex-nan",
    "nan-as-a-key",
    "lone-surrogate",
}

LAMBDAS = ", ".join(f"{kind!r}: lambda: {result}" for kind, result in RESULTS.items())

PROGRAM = (
    f"""
import decimal
RESULTS = {{{LAMBDAS}}}
"""
    """
with Ledger.open() as ledger:
    @ledger.step("measure", key="{kind}")
    def measure(kind):
        happen(kind)
        return RESULTS[kind]()
    for kind in RESULTS:
        try:
            got = measure(kind)
            say(kind, type(got).__name__, ascii(got) if type(got) is not int else f"{got:x}")
        except ResultNotStored as refusal:
            say(kind, refusal.slug)
        try:
            with ledger.step("mark", key=kind) as step:
                step.mark("seen", value=RESULTS[kind]())
        except (UsageError, StepInDoubt, StepCommitted):
            pass
"""
)


@needs_jq
def test_every_line_is_strict_json(root: Path) -> None:
    """A strict parser and jq read everything; a value comes back as it was, or is refused and the commit stands.

    The case asks for a refusal before the effect. A result is only known after it: by the contract the commit is
    recorded without it, and the caller is told, now and at each later call.

    https://github.com/SlopDotCash/asi/issues/933
    """
    first, again = ran(PROGRAM, root).lines, ran(PROGRAM, root).lines
    assert again == first
    assert {line.split()[0] for line in first if line.endswith("result-not-stored")} == REFUSED
    assert "minus-zero float -0.0" in first
    assert Outside(root).all() == list(RESULTS)
    for line in record_lines(root):
        strict(line.decode("utf-8"))
    assert len(read_by_jq(*segments(root))) == len(record_lines(root))
    assert read_by_jq(state_file(root), query=".state") == ['"RUNNING"']
    shown = [("show", "measure", kind) for kind in ("nan", "minus-zero", "control-characters")]
    for words in (("replay",), ("status",), ("log",), ("wake",), ("verify",), *shown):
        for line in command(root, *words, "--json").lines:
            strict(line)
    assert command(root, "compact").code == 0
    assert ran(PROGRAM, root).lines == first


def test_a_result_of_a_command_that_is_no_json_is_refused(root: Path) -> None:
    """What ``commit`` and ``resolve`` are given as a result is JSON by the letter too.

    https://github.com/SlopDotCash/asi/issues/933
    """
    token = command(root, "begin", "measure", "--key", "k1").lines[0]
    for text in ("NaN", "[Infinity]", "{", ""):
        refused = command(root, "commit", token, "--result", text)
        assert refused.code == 64, (text, refused)
    assert command(root, "commit", token, "--result", "1.5").code == 0
    assert '"result":1.5' in command(root, "show", "measure", "k1", "--json").lines[0]
