"""An entity that is stored in another's place."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from keyplan.design import Entity, Items, Table
from keyplan.design.declaring.design import Design
from keyplan.engine.engine import Engine
from keyplan.verify.generate import generators
from keyplan.verify.model import Recorder, StoredEntities
from keyplan.verify.run import load, store
from keyplan.verify.values import ValueGenerator


def test_a_unique_value_that_is_kept_is_kept_for_as_long_as_the_item_and_one_that_is_given_up_is_free() -> None:
    guests = Table("guests", pk="id", ttl="until")

    @guests.entity(unique=["email", "phone"], items=Items(count=1))
    class Guest(Entity):
        id: str
        email: str
        phone: str
        until: datetime | None = None

    design = Design("guests", (guests,))
    (spec,) = guests.entities
    with closing(Engine.memory()) as engine:
        recorder, stock = Recorder(engine), StoredEntities([spec])
        load(design, generators(design, 1, ValueGenerator(1, 0.0)), recorder, stock, lambda *_: None)
        there: Any
        (there,) = stock.all(spec)
        until = datetime(2026, 1, 1, tzinfo=UTC)
        store(spec, there.model_copy(update={"phone": "5", "until": until}), recorder, stock)
        found = engine.call("Scan", {"TableName": "guests"})["Items"]
    assert {item["id"]["S"]: item["until"]["N"] for item in found} == {
        there.id: "1767225600",
        f"UNIQUE#Guest#email#{there.email}": "1767225600",
        "UNIQUE#Guest#phone#5": "1767225600",
    }
    assert len(recorder.model_tables["guests"].entries(None)) == 3
