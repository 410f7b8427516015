"""Shelf system as the only system of `keyplan up`."""

from __future__ import annotations

import pytest
from tests.systems.up import notes_system

from keyplan_systems.up import registry


@pytest.fixture
def shelf_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "NAMES", ("shelf",))
    monkeypatch.setattr(registry, "load", lambda _name: notes_system.SYSTEM)
