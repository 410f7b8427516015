"""Prices for every test of documents."""

from __future__ import annotations

import pytest
from tests.export.prices import fixed

from keyplan.cost.prices import PriceBook


@pytest.fixture
def book() -> PriceBook:
    return fixed()
