"""The load of the design's patterns in calls per month."""

from __future__ import annotations

from typing import Final

from keyplan import Rate

OFTEN: Final = Rate.monthly(3_000)
"""A hundred calls per day, for frequently used pages."""
SOME: Final = Rate.monthly(300)
FEW: Final = Rate.monthly(60)
