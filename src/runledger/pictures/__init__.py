"""One report, told four ways: text with a plot for a terminal, Markdown, one HTML file, and the JSON that it is of."""

from __future__ import annotations

__all__: list[str] = []
