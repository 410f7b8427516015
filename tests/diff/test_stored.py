"""What is said of stored items is so: items as the old design writes them, read and written again by the new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.diff.pairs import BASE, PAIRS, Pair, compared
from tests.diff.samples import is_read, pairs_of, stored

from keyplan.client.codec import Reader
from keyplan.design.entities import EntitySpec
from keyplan.design.requests.items import ItemBuilder
from keyplan.diff.comparison import Comparison

LOSING = {"type changed", "field missing", "values narrowed"}
"""Changes after which some stored item is not read."""


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_stored_items_are_readable_unless_a_change_is_reported(pair: Pair, tmp_path: Path) -> None:
    comparison = compared(tmp_path, BASE, pair.source)
    for old, new in pairs_of(comparison):
        kinds = {change.kind for change in comparison.changes if change.subject == new.name}
        assert is_read(new, stored(comparison.old, old.name)) == (not kinds & LOSING), new.name


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_stored_items_have_the_new_keys_unless_a_change_is_reported(pair: Pair, tmp_path: Path) -> None:
    comparison = compared(tmp_path, BASE, pair.source)
    subjects = {change.subject for change in comparison.changes_of("key changed", "entity renamed")}
    for old, new in pairs_of(comparison):
        items = stored(comparison.old, old.name)
        if old.schema.key == new.schema.key and is_read(new, items):
            again = [ItemBuilder(new).item(Reader(new).entity(item)) for item in items]
            assert keys(comparison, new, again) == keys(comparison, new, items) or new.name in subjects, new.name


def keys(comparison: Comparison, new: EntitySpec, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the key attributes of items in the table and all indexes, and the attribute that names the entity."""
    schema = new.schema
    names = {*schema.key_attributes(), schema.discriminator}
    names |= {name for table in comparison.old.tables for name in table.schema.key_attributes()}
    return [{name: value for name, value in item.items() if name in names} for item in items]
