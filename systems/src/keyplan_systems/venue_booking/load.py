"""The expected load of the access patterns, in calls per month."""

from __future__ import annotations

from typing import Final

from keyplan import Rate

FREQUENT: Final = Rate.monthly(3_000)
"""Rate for access patterns of frequently used pages: 100 calls per day."""
OCCASIONAL: Final = Rate.monthly(300)
RARE: Final = Rate.monthly(60)
