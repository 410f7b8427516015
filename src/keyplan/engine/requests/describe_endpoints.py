"""DescribeEndpoints: its request has no members."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Structure

SHAPE = Structure("DescribeEndpointsInput", {})
