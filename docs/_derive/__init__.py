"""A Sphinx extension: a line `<!-- derived: NAME -->` in a page becomes what the code says of NAME.

Each module beside this one that has a `markdown()` answers to its own name. Nothing of it is kept in the
repository, so that no list of names can lag behind the code.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

__all__ = ["expand", "setup"]

_MARKER = re.compile(r"^<!-- derived: (\w+) -->$", re.MULTILINE)


def expand(text: str) -> str:
    """The page's text with each marker replaced; an unknown name ends the build."""
    return _MARKER.sub(lambda marker: str(import_module(f"_derive.{marker[1]}").markdown()), text)


def _on_source_read(_app: object, _page: str, source: list[str]) -> None:
    source[0] = expand(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _on_source_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
