"""Benchmarks end their measurements with `gc.unfreeze`, which would slow down the tests after them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def frozen_again() -> Iterator[None]:
    """Exempt all that was collected and imported from garbage collection again, as the root's conftest.py does."""
    yield
    gc.freeze()
