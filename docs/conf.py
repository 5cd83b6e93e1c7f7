"""The site's build: strict, from Markdown, with every list of names derived from the code."""

from __future__ import annotations

import sys
from pathlib import Path

from runledger.version import VERSION

sys.path.insert(0, str(Path(__file__).parent))

project = "runledger"
author = "The runledger maintainers"
release = version = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "_derive"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_derive", "adr/template.md"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"runledger {release}"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_copyright = False
