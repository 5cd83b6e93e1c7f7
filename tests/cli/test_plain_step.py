"""The plain form of ``step`` is read without a parser: to the same arguments as argparse reads, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runledger.cli import plain_step
from runledger.cli.parser import parse
from runledger.errors import UsageError

OPTIONS = ["--key", "--inputs", "--probe", "--aborts-on", "--timeout", "--idempotent", "--json"]
VALUES = ["pay", "k 1", "a=b", "", "-", "-1", "-x", "é", "\udcff", "@file", "step", "[--key K]", "3,4"]
PARTS = (
    st.sampled_from(OPTIONS)
    | st.sampled_from(VALUES)
    | st.sampled_from(["--", "-h", "--help", "--ke", "--nothing", "--json=1", "-k", "--idempotent="])
    | st.builds("{}={}".format, st.sampled_from(OPTIONS), st.sampled_from([*VALUES, "--", "--key"]))
    | st.text(max_size=4)
)
PAIRS = st.tuples(st.sampled_from(OPTIONS[:5]), st.sampled_from(VALUES)).map(list) | PARTS.map(
    lambda part: [part]
)
OWN = st.lists(PAIRS, max_size=5).map(lambda lists: [word for words in lists for word in words])
NAMED = st.tuples(OWN, st.sampled_from([*VALUES[:3], "é"]), OWN).map(
    lambda parts: [*parts[0], parts[1], *parts[2]]
)
COMMANDS = st.sampled_from([["--", "true"], ["--", "sh", "-c", "x -- y", "--json"], ["--"], ["--", "--"], []])


@given(NAMED | OWN, COMMANDS, st.booleans())
def test_same_as_argparse(own: list[str], command: list[str], as_json: bool) -> None:  # noqa: FBT001  # it is drawn
    """Whatever is read without argparse, argparse reads to the same names and values."""
    words = [*own, *command]
    plain = plain_step.read(words, as_json=as_json)
    if plain is not None:
        said, parsed = parse(["step", *words], as_json=as_json)
        assert said.name == "step"
        assert vars(plain) == vars(parsed)


@pytest.mark.parametrize(
    "line",
    [
        "pay -- true",
        "pay --key k -- true",
        "--key=k pay --json -- true --help",
        "--idempotent --probe p --inputs i pay --aborts-on 3,4 --timeout 5m --key k -- sh -c true",
    ],
)
def test_is_plain(line: str) -> None:
    """What scripts write needs no parser."""
    assert plain_step.read(line.split(), as_json=False) is not None


@pytest.mark.parametrize(
    "line", ["", "pay", "pay --", "-- true", "pay pay -- true", "pay --key -- true", "--ke k pay -- true"]
)
def test_is_not(line: str) -> None:
    """What is wrong is told by argparse."""
    assert plain_step.read(line.split(), as_json=False) is None
    with pytest.raises(UsageError):
        parse(["step", *line.split()], as_json=False)
