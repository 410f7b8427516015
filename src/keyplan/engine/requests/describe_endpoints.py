"""DescribeEndpoints: its request has no members."""

from __future__ import annotations

from typing import Any

from keyplan.engine.shapes.model import Structure

SHAPE = Structure("DescribeEndpointsInput", {})


def check(request: dict[str, Any]) -> None:
    """Nothing beyond the shape."""
