"""How the pages look. The pictures take their colours from here, by name."""

from __future__ import annotations

__all__ = ["COLOURS", "CSS"]

# Name: placeholder in a drawn SVG, light, dark. The contrast of text is at least 4.5, of lines and bars at least 3.
_PALETTE = {
    "ink": ("#010101", "#1c2128", "#e6edf3"),
    "faint": ("#020202", "#57606a", "#9aa5b1"),
    "grid": ("#030303", "#dfe3e8", "#30363d"),
    "paper": ("#040404", "#ffffff", "#0d1117"),
    "panel": ("#050505", "#f6f8fa", "#161b22"),
    "one": ("#010203", "#0b63ce", "#6cb6ff"),
    "two": ("#010204", "#b04a00", "#ffa657"),
    "three": ("#010205", "#1a7f37", "#56d364"),
    "four": ("#010206", "#8250df", "#d2a8ff"),
    "alarm": ("#010207", "#c21d2c", "#ff7b72"),
    "calm": ("#010208", "#6295d1", "#33679e"),
}

COLOURS = {name: placeholder for name, (placeholder, _, _) in _PALETTE.items()}


def _variables(which: int) -> str:
    return ";".join(f"--{name}:{colours[which]}" for name, colours in _PALETTE.items())


CSS = f"""
:root{{{_variables(1)};color-scheme:light dark}}
@media (prefers-color-scheme:dark){{:root{{{_variables(2)}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;max-width:64rem;padding:1rem clamp(.8rem,3vw,2rem) 4rem;background:var(--paper);color:var(--ink);
font:1rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}}
h1{{font-size:1.6rem;line-height:1.2;margin:.6rem 0}}
h2{{font-size:1.2rem;margin:2.4rem 0 .4rem}}
p{{margin:.5rem 0;max-width:46rem}}
.lede p:first-child{{font-size:1.1rem}}
nav ul{{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;margin:.8rem 0}}
a{{color:var(--one)}}
code{{font:.92em ui-monospace,monospace;background:var(--panel);padding:.05em .3em;border-radius:.25em}}
figure{{margin:1rem 0}}
figcaption{{color:var(--faint);font-size:.9rem;max-width:46rem}}
svg{{display:block;width:100%;height:auto;stroke-linejoin:round}}
svg text{{font-family:system-ui,sans-serif}}
.skip{{position:absolute;left:-99rem}}
.skip:focus{{position:static}}
.narrow{{display:none}}
@media (max-width:40rem){{.wide{{display:none}}.narrow{{display:block}}}}
details{{margin:.6rem 0}}
summary{{cursor:pointer;color:var(--one);padding:.3rem 0}}
.scroll{{overflow-x:auto;border:1px solid var(--grid);border-radius:.4rem}}
table{{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.9rem}}
caption{{text-align:left;padding:.5rem .7rem;color:var(--faint)}}
th,td{{padding:.35rem .7rem;border-top:1px solid var(--grid);text-align:right;vertical-align:top;
overflow-wrap:break-word;white-space:nowrap}}
th:first-child,.words{{text-align:left}}
.long{{white-space:normal;min-width:11rem;max-width:24rem}}
thead th{{background:var(--panel);font-weight:600;vertical-align:bottom}}
tbody th{{font-weight:500}}
@media (max-width:40rem){{table{{font-size:.8rem}}th,td{{padding:.3rem .45rem}}.long{{min-width:9rem}}}}
:focus-visible{{outline:3px solid var(--one);outline-offset:2px}}
@media print{{.narrow{{display:none}}details>*{{display:block}}}}
"""
