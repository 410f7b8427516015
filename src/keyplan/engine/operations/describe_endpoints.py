"""DescribeEndpoints: return the endpoint of the service for the engine's Region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DescribeEndpointsInput", {})


_CACHE_MINUTES = 1440


def run(database: Database, _request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeEndpoints: return the endpoint, and the number of minutes for which clients may cache it."""
    address = f"dynamodb.{database.settings.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": _CACHE_MINUTES}]}
