"""The parts of the to-do system's README that are made: the access patterns of its design, and what they cost.

python -m tests.systems.todo.readme     writes them into the README
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.systems.made import block, patterns_of, readme_of, write
from tests.systems.todo import units

__all__ = ["README", "block", "costs", "patterns"]

README = readme_of("todo")


def patterns() -> str:
    """The table of access patterns, as `keyplan docs` makes it."""
    return patterns_of("todo")


def costs() -> str:
    """The table of measured units."""
    with tempfile.TemporaryDirectory() as folder:
        return units.table(Path(folder))


if __name__ == "__main__":
    write(README, patterns=patterns(), costs=costs())
