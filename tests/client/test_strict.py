"""Entities whose models take only exact types, or anything: they are read again as they were written."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from pydantic import ConfigDict

import keyplan
from keyplan import Entity, ItemKey, ItemWrite, Table, item

things = Table("things", pk="id")


@things.entity()
class Thing(Entity):
    model_config = ConfigDict(strict=True)
    id: UUID
    day: date
    at: datetime
    cents: Decimal
    pair: tuple[int, str]
    tags: set[int]
    whatever: Any


@things.put(Thing)
def save(new: Thing) -> ItemWrite:
    return item(new)


@things.get(Thing)
def thing_of(id: UUID) -> ItemKey:
    return item(id=id)


@things.update(Thing)
def change(id: UUID, whatever: Any) -> ItemWrite:
    return item(id=id).set(whatever=whatever)


@pytest.mark.parametrize("whatever", [None, 1, "a", [None], {"a": b"x"}])
def test_written_items_are_read_back(whatever: Any) -> None:
    entity = Thing(
        id=UUID(int=1),
        day=date(2026, 1, 1),
        at=datetime(2026, 1, 1, tzinfo=UTC),
        cents=Decimal(5),
        pair=(1, "a"),
        tags=set(),
        whatever=whatever,
    )
    db = keyplan.connect(":memory:")
    db.create_tables(things)
    db.run(save(entity))
    assert db.run(thing_of(entity.id)) == entity
    assert db.run(change(entity.id, None)).whatever is None
    assert db.run(change(entity.id, whatever)) == entity
