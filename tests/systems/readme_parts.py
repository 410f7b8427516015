"""Generated parts of the systems' READMEs: the access patterns of the design, and their cost.

python -m tests.systems.readme_parts     writes them into the READMEs
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from keyplan.check.checking import check
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.export.markdown import document

SYSTEMS = ("ask_a_human", "forum", "thinking_trainer", "todo", "venue_booking")


def readme_of(system: str) -> Path:
    """Return the path of a system's README."""
    return Path(str(import_module(f"keyplan_systems.{system}").__file__)).with_name("README.md")


def patterns_of(system: str) -> str:
    """Return the table of a system's access patterns, as `keyplan docs` generates it."""
    design = Design.load(f"keyplan_systems.{system}.design")
    output = document(design, check(design).findings, estimate(design, book("us-east-1")))
    _, results, rest = output.partition("## Access patterns\n\n")
    assert results, "keyplan docs has a section of access patterns"
    return rest.partition("\n\n")[0] + "\n"


def costs_of(system: str) -> str:
    """Return the table of a system's costs."""
    table: str = import_module(f"tests.systems.{system}.units").table()
    return table


def block(system: str, name: str) -> str:
    """Return a generated part of a system's README."""
    match = re.search(_pattern(name), readme_of(system).read_text("utf-8"), re.DOTALL)
    assert match is not None, f"README has no part {name}"
    return match[2]


def _pattern(name: str) -> str:
    return rf"(<!-- generated: {name} -->\n)(.*?)(<!-- end -->)"


def _filled(text: str, name: str, content: str) -> str:
    return re.sub(_pattern(name), lambda results: results[1] + content + results[3], text, flags=re.DOTALL)


if __name__ == "__main__":
    for system in SYSTEMS:
        text = readme_of(system).read_text("utf-8")
        for name, content in (("patterns", patterns_of(system)), ("costs", costs_of(system))):
            text = _filled(text, name, content)
        readme_of(system).write_text(text, "utf-8")
