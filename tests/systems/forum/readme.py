"""The parts of the forum's README that are made: the access patterns of its design, and what its uses cost.

python -m tests.systems.forum.readme     writes them into the README
"""

from __future__ import annotations

from tests.systems.forum import units
from tests.systems.made import block, patterns_of, readme_of, write

__all__ = ["README", "block", "costs", "patterns"]

README = readme_of("forum")


def patterns() -> str:
    """The table of access patterns, as `keyplan docs` makes it."""
    return patterns_of("forum")


def costs() -> str:
    """The table of measured units."""
    return units.table()


if __name__ == "__main__":
    write(README, patterns=patterns(), costs=costs())
