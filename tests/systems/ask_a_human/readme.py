"""The parts of the README that are made: the access patterns of the design, and what each use costs.

python -m tests.systems.ask_a_human.readme     writes them into the README
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.systems.ask_a_human import units
from tests.systems.made import block, patterns_of, readme_of, write

__all__ = ["README", "block", "costs", "patterns"]

README = readme_of("ask_a_human")


def patterns() -> str:
    """The table of access patterns, as `keyplan docs` makes it."""
    return patterns_of("ask_a_human")


def costs() -> str:
    """The table of measured units."""
    with tempfile.TemporaryDirectory() as folder:
        return units.table(Path(folder))


if __name__ == "__main__":
    write(README, patterns=patterns(), costs=costs())
