"""How often the patterns of the design are used, calls a month."""

from __future__ import annotations

from typing import Final

from keyplan import Rate

OFTEN: Final = Rate.monthly(3_000)
"""A hundred a day: what many people look at."""
SOME: Final = Rate.monthly(300)
FEW: Final = Rate.monthly(60)
