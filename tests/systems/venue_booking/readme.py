"""The parts of the venue booking system's README that are made: the access patterns of its design, and what they cost.

python -m tests.systems.venue_booking.readme     writes them into the README
"""

from __future__ import annotations

from tests.systems.made import block, patterns_of, readme_of, write
from tests.systems.venue_booking import units

__all__ = ["README", "block", "costs", "patterns"]

README = readme_of("venue_booking")


def patterns() -> str:
    """The table of access patterns, as `keyplan docs` makes it."""
    return patterns_of("venue_booking")


def costs() -> str:
    """The table of measured units."""
    return units.table()


if __name__ == "__main__":
    write(README, patterns=patterns(), costs=costs())
