"""Drawing with Matplotlib: what is common to all charts, and the SVG that goes into a page."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runledger.errors import UsageError
from runledger.pictures.style import COLOURS
from runledger.text import escape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["available", "drawing", "plain_axes", "svg"]

WIDE, NARROW = 9.6, 3.9
"""Inches, at 100 to an inch about the pixels of a laptop's page and of a phone's."""

_NAMES = {placeholder: f"var(--{name})" for name, placeholder in COLOURS.items()}
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "runledger",
    "font.size": 10.5,
    "text.parse_math": False,
    "axes.edgecolor": COLOURS["faint"],
    "axes.labelcolor": COLOURS["ink"],
    "xtick.color": COLOURS["faint"],
    "ytick.color": COLOURS["faint"],
    "text.color": COLOURS["ink"],
    "grid.color": COLOURS["grid"],
    "grid.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.8,
}


def available() -> None:
    """Raises UsageError where the charts' library is not installed."""
    try:
        import matplotlib as mpl  # noqa: F401 - asked whether it is there
    except ImportError:
        raise UsageError(
            "the pictures of --html need Matplotlib, which is not installed",
            hint="To install it: pip install 'runledger-engine[charts]'. Without it: --json, --markdown, or the text.",
        ) from None


@contextmanager
def drawing(height: float, *, narrow: bool) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes; ``height`` in inches."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(NARROW if narrow else WIDE, height), dpi=72, layout="constrained")
        yield figure, figure.add_subplot()


def plain_axes(axes: Axes, *, grid: str = "y") -> None:
    """The look that all charts share."""
    axes.grid(visible=True, axis=grid)  # type: ignore[arg-type]  # one of three words
    axes.tick_params(length=3)


def svg(figure: Figure, told: Mapping[str, str]) -> str:
    """The figure as an SVG element; ``told`` says in words what the parts with these ids are, which can be focused."""
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(
        r"<metadata>.*?</metadata>\s*|<defs>\s*<style.*?</style>\s*</defs>\s*", "", text, flags=re.DOTALL
    )
    text = re.sub(r'<svg([^>]*?) width="[^"]*"', r"<svg\1", text, count=1)
    text = re.sub(r'<svg([^>]*?) height="[^"]*"', r'<svg role="group"\1', text, count=1)
    text = re.sub(r"#0[0-9]0[0-9]0[0-9]", lambda found: _NAMES.get(found[0], found[0]), text)
    text = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", text)

    def name(found: re.Match[str]) -> str:
        words = told.get(found[1])
        if words is None:
            return found[0]
        said = html.escape(escape(words).encode("utf-8", "backslashreplace").decode())
        return f'<g id="{found[1]}" tabindex="0" role="img" aria-label="{said}"><title>{said}</title>'

    return re.sub(r'<g id="([^"]*)">', name, text)
