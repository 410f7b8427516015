"""Benchmarks begin their measurements with `gc.collect` and `gc.freeze`, and end them with `gc.unfreeze`."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True)
def stays_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep all collected tests exempt from garbage collection, which each measurement would go through otherwise."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
