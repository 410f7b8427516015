"""Prices that do not change, so that documents do not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from keyplan.cost.prices import PriceBook
from keyplan.cost.prices import book as shipped


def fixed() -> PriceBook:
    """Return a price book with fixed prices."""
    prices = {
        "write_unit": 6.25e-7, "read_unit": 1.25e-7, "write_unit_ia": 7.8e-7, "read_unit_ia": 1.55e-7,
        "write_unit_hour": 0.00065, "read_unit_hour": 0.00013, "storage_gb_month": 0.25,
        "storage_gb_month_ia": 0.10, "point_in_time_gb_month": 0.20,
    }  # fmt: skip
    actual_prices = shipped().with_prices(prices)
    return replace(actual_prices, region="test-1", dated=date(2026, 1, 1), free={"storage_gb": 25})
