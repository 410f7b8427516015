"""The made parts of a system's README: which they are, what the design says, and how they are written."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from keyplan.check.checking import check
from keyplan.cost.estimate import estimate
from keyplan.cost.prices import book
from keyplan.design.design import Design
from keyplan.export.markdown import document


def readme_of(system: str) -> Path:
    """A system's README."""
    return Path(str(import_module(f"keyplan_systems.{system}").__file__)).with_name("README.md")


def patterns_of(system: str) -> str:
    """The table of a system's access patterns, as `keyplan docs` makes it."""
    design = Design.load(f"keyplan_systems.{system}.design")
    made = document(design, check(design).findings, estimate(design, book("us-east-1")))
    _, found, rest = made.partition("## Access patterns\n\n")
    assert found, "keyplan docs has a section of access patterns"
    return rest.partition("\n\n")[0] + "\n"


def block(text: str, name: str) -> str:
    """A made part of a README."""
    found = re.search(_pattern(name), text, re.DOTALL)
    assert found is not None, f"README has no part {name}"
    return found[2]


def write(readme: Path, **parts: str) -> None:
    """Write made parts into a README, by their names."""
    text = readme.read_text()
    for name, content in parts.items():
        text = re.sub(_pattern(name), lambda found, new=content: found[1] + new + found[3], text, flags=re.DOTALL)
    readme.write_text(text)


def _pattern(name: str) -> str:
    return rf"(<!-- made: {name} -->\n)(.*?)(<!-- end -->)"
