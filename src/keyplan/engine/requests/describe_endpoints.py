"""DescribeEndpoints: its request has no members."""

from __future__ import annotations

from keyplan.engine.shapes.model import Structure

SHAPE = Structure("DescribeEndpointsInput", {})
