"""Foreign text is shown without being obeyed, and quoted words come back from a shell byte for byte."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from runledger.text import escape, shell_quote

BASH = shutil.which("bash")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain text, é 😀 \\ '", "plain text, é 😀 \\ '"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\x00\x1b[31m\x7f", "\\x00\\x1b[31m\\x7f"),
        ("\x80\x9b\x9f", "\\x80\\x9b\\x9f"),
        ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
        ("\u2028\u2029\u061c", "\\u2028\\u2029\\u061c"),
        ("\ud800 \udfff", "\\ud800 \\udfff"),
        ("👩\u200d💻\xa0\xad", "👩\u200d💻\xa0\xad"),
    ],
)
def test_escape(text: str, shown: str) -> None:
    """Controls, overrides of direction, separators and lone surrogates are spelt out, the rest stays."""
    assert escape(text) == shown


def test_escape_leaves_nothing_that_acts() -> None:
    """Of all characters none is left that starts a line, a control sequence or another direction."""
    shown = escape("".join(map(chr, range(0x110000))))
    shown.encode()
    assert len(shown.splitlines()) == 1
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in shown)
    assert escape(shown) == shown


ARGUMENTS = [
    "",
    "plain",
    "two words",
    "it's",
    '"$HOME" `id` \\ !x *?[a]{b,c} ~ # & | ; < > ( )',
    "-n",
    "--reason=x",
    "é 😀",
    "a\nb",
    "a\n",
    "\n",
    "\t\x1b[31m'\\\x7f1",
    "\x01234",
    "\x9b\u202e\u20287",
    "\udc80\udcff broken",
]


@pytest.mark.parametrize("text", ARGUMENTS, ids=ascii)
def test_a_quoted_word_comes_back_from_the_shell(text: str) -> None:
    """What is pasted into a shell reaches the command as the same bytes, and shows nothing that acts."""
    quoted = shell_quote(text)
    assert escape(quoted) == quoted
    if quoted.startswith("$'"):
        assert BASH, "bash is what reads this form wherever it is"
        shell = BASH
    else:
        shell = "sh"
    found = subprocess.run(
        [shell, "-c", f"printf %s {quoted}" if not text.startswith("-") else f"printf -- {quoted}"],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    assert found.stdout == text.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize("text", ["plain", "two words", "it's", "é", "-x", ""])
def test_plain_words_are_quoted_in_the_plain_way(text: str) -> None:
    """Only control characters need more than what every sh reads."""
    assert shell_quote(text) == shlex.quote(text)


def test_a_surrogate_that_no_argument_can_hold_is_still_text() -> None:
    """Half a pair that stands for no byte leads to no error: the line is for reading."""
    assert shell_quote("\ud800") == "$'\\355\\240\\200'"
