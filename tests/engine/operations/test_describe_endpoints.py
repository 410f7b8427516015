"""DescribeEndpoints: one endpoint, the region's."""

from __future__ import annotations

from keyplan.engine.engine import Engine


def test_the_endpoint_of_the_region_is_returned() -> None:
    with Engine.memory(region="eu-west-1") as engine:
        assert engine.call("DescribeEndpoints", {}) == {
            "Endpoints": [{"Address": "dynamodb.eu-west-1.amazonaws.com", "CachePeriodInMinutes": 1440}]
        }
