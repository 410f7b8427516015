"""DescribeTimeToLive: shape of its request; it has no rules between members."""

from __future__ import annotations

from typing import Any

from keyplan.engine.requests import members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure(
    "DescribeTimeToLiveInput", {"TableName": members.NEW_TABLE_NAME}, demanded=members.DEMANDED_TABLE_NAME
)


def check(request: dict[str, Any]) -> None:
    """Nothing beyond the shape."""
