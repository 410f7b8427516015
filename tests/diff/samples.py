"""Items as a version of the small design writes them, and whether another version reads them."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import Any

from pydantic import ValidationError

from keyplan.client.codec import Reader
from keyplan.client.errors import UnreadableItemError
from keyplan.design.declaring.design import Design
from keyplan.design.entities import EntitySpec
from keyplan.design.requests.items import ItemBuilder
from keyplan.diff.comparison import Comparison
from keyplan.diff.entities import match_entities
from keyplan.diff.tables import match_tables

SAMPLES: dict[str, list[dict[str, Any]]] = {
    "Task": [
        {"user": "ada", "task": "1", "due": date(2026, 1, 31), "state": "open", "points": -5, "until": 1},
        {"user": "ada", "task": "2", "due": date(2026, 2, 1), "state": "done", "place": {"city": "Ulm"}, "note": "x"},
    ],
    "User": [{"user": "ada", "email": "ada@example.org"}],
    "Log": [{"log_id": "x7", "at": 1}],
}
SAMPLES["Line"] = SAMPLES["Log"]
"""Values of each entity, by its name in any version."""


def stored(design: Design, name: str) -> list[dict[str, Any]]:
    """Items as the old design writes them."""
    spec = next(entity for entity in design.entities if entity.name == name)
    return [ItemBuilder(spec).item(spec.model.model_validate(values)) for values in SAMPLES[name]]


def written(spec: EntitySpec, **values: Any) -> list[dict[str, Any]]:
    """Return the samples as an entity writes them, with other values if the entity accepts them."""
    entries = []
    for sample in SAMPLES[spec.name]:
        with suppress(ValidationError):
            entries.append(ItemBuilder(spec).item(spec.model.model_validate({**sample, **values})))
    return entries


def pairs_of(comparison: Comparison) -> list[tuple[EntitySpec, EntitySpec]]:
    """Entities that both designs have, in tables that both have."""
    tables = match_tables(comparison.old.tables, comparison.new.tables).pairs
    return [pair for old, new in tables for pair in match_entities(old, new).pairs]


def is_read(spec: EntitySpec, items: list[dict[str, Any]]) -> bool:
    """Whether an entity reads items."""
    try:
        return all(Reader(spec).entity(item) for item in items)
    except UnreadableItemError:
        return False
