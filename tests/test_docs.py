"""What the pages and the README say is true of the code, and leads somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from _derive import errors as derived_errors
from runledger.errors import LedgerError

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
SOURCES = sorted(ROOT.glob("src/**/*.py"))

FORBIDDEN = {
    "another project's name on PyPI": re.compile(
        r"\b(pip|uv|pipx)3?( \S+)* (install|add) [^\n`]*\brunledger\b(?!-engine)"
    ),
    "a path of somebody's machine": re.compile(rf"{re.escape(str(ROOT))}|/(home|root|Users)/\w"),
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#[^)]*)?\)")
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
CALL = re.compile(r"\brunledger ((?:(?:sprint|bench) )?[a-z][a-z-]*)")


def named(path: Path) -> str:
    """How a parametrised test shows a file."""
    return str(path.relative_to(ROOT))


def commands() -> dict[str, str]:
    """Each command with its help, as the parser has them."""
    from _derive import cli

    return {parser.prog.removeprefix("runledger "): said for parser, said in cli.commands()}


def blocks(language: str) -> Iterator[tuple[str, int, str]]:
    """Every code block of a language: its page, its line and its text."""
    for page in PAGES:
        text = page.read_text("utf-8")
        for block in BLOCK.finditer(text):
            if block[1] == language:
                yield named(page), text.count("\n", 0, block.start(2)), block[2]


@pytest.mark.parametrize("path", [*PAGES, *SOURCES], ids=named)
@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_forbidden_text(path: Path, what: str) -> None:
    """No page and no source names another project's package, or a path on somebody's machine."""
    assert FORBIDDEN[what].search(path.read_text("utf-8")) is None


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file that is there; Sphinx looks at the anchors."""
    dead = [to for to in LINK.findall(page.read_text("utf-8")) if to and not (page.parent / to).exists()]
    assert dead == []


def test_python_blocks_compile() -> None:
    """Every Python block on a page is Python, `await` at its top included."""
    found = list(blocks("python"))
    assert found
    for page, line, text in found:
        compile("\n" * line + text, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


def test_every_command_says_what_it_does() -> None:
    """The derived reference has a line of help for each command."""
    said = commands()
    assert said
    assert [name for name, help_text in said.items() if not help_text.strip()] == []


def test_no_page_names_a_command_that_is_not_there() -> None:
    """Each `runledger WORD` in a page's code or in an error's hint is a command that the parser knows."""
    code = [span for page in PAGES for span in SPAN.findall(page.read_text("utf-8"))]
    code += [text for language in ("sh", "console") for _, _, text in blocks(language)]
    code += [error.default_hint for error in derived_errors.classes()]
    words = {word for text in code for word in CALL.findall(text)}
    assert words
    assert words - set(commands()) == set()


def test_exit_codes_are_all_explained() -> None:
    """The hand-written table of exit codes has a row for each code that an error carries."""
    page = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    codes = {error.exit_code for error in derived_errors.classes()}
    assert codes <= {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert 2 not in codes


def test_every_error_is_listed_under_a_slug_of_its_own() -> None:
    """The derived table has each public error once, and no slug stands for two causes."""
    rows = re.findall(r"^\| `(\w+)` \| `([a-z-]+)` \|", derived_errors.markdown(), re.MULTILINE)
    assert {name for name, _ in rows} == {
        e.__name__ for e in derived_errors.classes() if e is not LedgerError
    }
    assert len({slug for _, slug in rows}) == len(rows)
