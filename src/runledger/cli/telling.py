"""One report in the form that was asked for: text, JSON, Markdown, and beside any of them an HTML file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runledger.cli.output import document, note, result
from runledger.errors import DiskRefused

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from runledger.pictures.document import Document

__all__ = ["add_forms", "ready", "tell"]


def add_forms(parser: ArgumentParser) -> None:
    """The options of every command that ends in a report."""
    parser.add_argument("--markdown", action="store_true", help="Markdown instead of text")
    parser.add_argument(
        "--html", metavar="FILE", help="also write one HTML file, with pictures, that needs nothing else"
    )


def ready(args: Any) -> None:
    """Refuse at once what would fail at the end.

    Raises:
        UsageError: pictures are asked for, and what draws them is not installed.
    """
    if args.html is not None:
        from runledger.pictures.charts import available

        available()


def tell(args: Any, said: Document) -> None:
    """Write it out."""
    if args.html is not None:
        _write(args.html, said)
    if args.json:
        document(said.data)
    elif args.markdown:
        from runledger.pictures.document import as_markdown

        result(as_markdown(said).rstrip("\n"))
    else:
        from runledger.pictures.document import as_text

        width = shutil.get_terminal_size((100, 24)).columns
        for line in as_text(said, max(40, min(width, 120))):
            result(line)


def _write(path: str, said: Document) -> None:
    """Whole or not at all: an earlier file stays until the new one is complete."""
    from runledger.pictures.page import as_html

    text = as_html(said)
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(text, "utf-8")
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise DiskRefused(
            f"cannot write {path}: {error.strerror}",
            hint="The report itself is complete: leave --html away, or name another place.",
            path=path,
            errno=error.errno,
        ) from error
    note(f"the pictures are in {path}")
