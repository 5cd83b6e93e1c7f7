"""One report in the form that was asked for: text, JSON, Markdown, and beside any of them an HTML file."""

from __future__ import annotations

import errno
import os
import shutil
import sys
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
        DiskRefused: there is no such place for them.
    """
    if args.html is not None:
        from runledger.pictures.charts import available

        available()
        target = Path(args.html)
        if target.is_dir():
            raise _refused(args.html, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
        if not target.parent.is_dir():
            raise _refused(args.html, OSError(errno.ENOENT, os.strerror(errno.ENOENT)))


def tell(args: Any, said: Document) -> None:
    """Write it out; the page last, so that nothing else is lost where it cannot be written."""
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
    if args.html is not None:
        sys.stdout.flush()
        _write(args.html, said)


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
        raise _refused(path, error) from error
    note(f"the pictures are in {path}")


def _refused(path: str, error: OSError) -> DiskRefused:
    return DiskRefused(
        f"cannot write {path}: {error.strerror}",
        hint="Name another place, or leave --html away: the report is on standard output too.",
        path=path,
        errno=error.errno,
    )
