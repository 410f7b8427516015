"""The expected load of the access patterns, in calls per month."""

from __future__ import annotations

from typing import Final

from keyplan import Rate

OFTEN: Final = Rate.monthly(3_000)
"""Rate for access patterns of frequently used pages: 100 calls per day."""
SOME: Final = Rate.monthly(300)
FEW: Final = Rate.monthly(60)
