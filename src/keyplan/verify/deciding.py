"""Conditions held against items, where they may also be such that no request can be made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyplan.design.conditions import Condition
from keyplan.design.conditions_evaluation import holds


def decided(condition: Condition, values: Mapping[str, Any]) -> bool | None:
    """Whether a condition is true of stored values; None where that cannot be told, or no such request can be made."""
    try:
        return holds(condition, values)
    except (TypeError, ValueError):
        return None  # it compares with what cannot be stored, such as a moment without a time zone
