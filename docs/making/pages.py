"""All generated pages, and files in their folders that are no longer generated."""

from __future__ import annotations

import re
from pathlib import Path

from docs.making import commands, errors, rules

from keyplan import Design
from keyplan.export import diagrams, html

DOCS = Path(__file__).parents[1]


def generated_pages() -> dict[str, str]:
    """Return the text of each generated page by its path under docs/."""
    return {**rules.pages(), **commands.pages(), **errors.pages(), "images/tasks.svg": _design_image()}


def _design_image() -> str:
    """Return the picture of the README's design as a standalone SVG file with a namespace, colours and a background."""
    (table,) = Design.load(str(DOCS.parent / "examples" / "tasks.py")).tables
    diagram = diagrams.entities(table, "tasks")
    colours = dict(re.findall(r"(--[\w]+): (#\w+)", html.STYLE.partition("@media")[0]))
    rules_of_diagrams = "\n".join(line for line in html.STYLE.splitlines() if line.startswith(".diagram"))
    style = re.sub(r"var\((--\w+)\)", lambda match: colours[match[1]], rules_of_diagrams)
    head, rest = diagram.split(">", 1)
    background = f'<rect x="-1" y="-1" width="100%" height="100%" style="fill:{colours["--paper"]};stroke:none"/>'
    font = ".diagram text { font-family: ui-monospace, Menlo, Consolas, monospace; }"
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>\n{font}\n{style}\n</style>{background}{rest}\n'


def stale_pages() -> list[Path]:
    """Return the pages in folders of generated pages that are no longer generated."""
    current_paths = {DOCS / name for name in generated_pages()}
    return sorted(set((DOCS / "rules").glob("*.md")) - current_paths)
