"""A plain model of tables: the generated items, in the order of their keys, to evaluate plans over without the engine.

An item's place follows the rule of `keyplan.dynamodb.values.keybytes`: partitions in the order of a hash, items of a
partition in the order of the sort key, entries of a global index with one key in the order of a hash of their item's
key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyplan.cost.units import entry_of
from keyplan.design.schema import Index, Schema
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.keybytes import escaped, joined, partition_prefix, scalar_key, tie_hash
from keyplan.dynamodb.values.sizes import item_bytes
from keyplan.dynamodb.values.types import Item


@dataclass(frozen=True)
class Entry:
    """An item, or what an index holds of it, at its place."""

    place: bytes
    size: int
    item: Any
    """What is held there."""
    whole: Any
    """The item of the table that it stands for."""


def canonical(item: Mapping[str, Any]) -> Item:
    """An item, or part of one, in the form that sizes are counted of."""
    return normalise_item(item, wire=False)[0]


def table_place(schema: Schema, item: Item) -> bytes:
    """Where an item lies in its table."""
    place = partition_prefix(_scalar(item[schema.partition]))
    return place if schema.sort is None else place + _scalar(item[schema.sort])


def place_in(schema: Schema, index: Index | None, item: Item) -> bytes:
    """Where an item's entry lies in an index, or the item in its table."""
    own = table_place(schema, item)
    if index is None:
        return own
    parts = [_scalar(item[name]) for name in index.partition]
    place = partition_prefix(parts[0] if len(parts) == 1 else joined(parts))
    place += b"".join(escaped(_scalar(item[name])) for name in index.sort)
    return place + (tie_hash(own) if index.kind == "GSI" else b"") + own


def _scalar(value: Mapping[str, Any]) -> bytes:
    return scalar_key(*next(iter(value.items())))


class Shelf:
    """One table: its items now, and each index's entries."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._items: dict[bytes, Item] = {}
        self._sorted: dict[str | None, list[Entry]] = {}

    def at(self, key: Mapping[str, Any]) -> Item | None:
        """The item of a primary key."""
        return self._items.get(self._place(key))

    def put(self, key: Mapping[str, Any], item: Item | None) -> None:
        """What is there now; None for nothing."""
        place = self._place(key)
        self._sorted.clear()
        if item is None:
            self._items.pop(place, None)
        else:
            self._items[place] = item

    def _place(self, key: Mapping[str, Any]) -> bytes:
        return table_place(self.schema, canonical({name: key[name] for name in self.schema.key}))

    def entries(self, index: Index | None) -> Sequence[Entry]:
        """What the table, or an index, holds, in its order."""
        name = None if index is None else index.name
        if name not in self._sorted:
            self._sorted[name] = sorted(self._entries(index), key=lambda entry: entry.place)
        return self._sorted[name]

    def _entries(self, index: Index | None) -> Iterator[Entry]:
        for item in self._items.values():
            held = item if index is None else entry_of(self.schema, index, item)
            if held is not None:
                yield Entry(place_in(self.schema, index, item), item_bytes(held), held, item)
