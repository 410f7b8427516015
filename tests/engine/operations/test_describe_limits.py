"""DescribeLimits: quotas of a new account."""

from __future__ import annotations

from keyplan.engine.engine import Engine


def test_quotas_are_returned(engine: Engine) -> None:
    assert engine.call("DescribeLimits", {}) == {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }
