"""How many examples or seeds a law is tested with."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """Return `count` under the thorough profile, and proportionally fewer under the others."""
    return max(1, count * settings().max_examples // 100)
