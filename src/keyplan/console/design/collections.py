"""Item collections, which contain the items of one partition in sort key order."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from keyplan.client.codec import EntityMatcher
from keyplan.client.tables import key_types
from keyplan.console.data.documents import item_path
from keyplan.console.design.picture import COLORS
from keyplan.cost.units import entry_of
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import OWNER, EntitySpec
from keyplan.design.schema import Index, Schema
from keyplan.dynamodb.values.attribute import item_bytes
from keyplan.verify.model import canonical, position_in

Item = Mapping[str, Any]
SHOWN_CHARACTERS: Final = 64
"""The maximum number of characters that a table cell shows. Its tooltip shows more."""
_TOOLTIP_CHARACTERS: Final = 600
_KEY_CHARACTERS: Final = 300
ITEMS_SHOWN: Final = 8
"""The number of a collection's items that are shown before the user expands the collection."""


@dataclass(frozen=True)
class AttributeCell:
    """A table cell that shows an attribute of an item."""

    name: str
    type: str
    """The DynamoDB type descriptor of the attribute: S, N, B, BOOL, NULL, SS, NS, BS, L or M."""
    text: str
    tooltip: str = ""
    """A longer version of the text, if `text` is truncated."""


@dataclass(frozen=True)
class ItemRow:
    """An item, shown as a row of a collection."""

    entity: str
    """The name of the item's entity, or an empty string if the item does not belong to an entity."""
    color: int | None
    sort: tuple[AttributeCell, ...]
    cells: tuple[AttributeCell, ...]
    bytes: int
    path: str
    """The path of the item's page, relative to the console's root."""

    def find_cell(self, name: str) -> AttributeCell | None:
        """Return the cell of the attribute with the given name, or None if the item does not have it."""
        return next((cell for cell in self.cells if cell.name == name), None)


@dataclass(frozen=True)
class Collection:
    """The items that share a partition key."""

    partition: tuple[AttributeCell, ...]
    rows: tuple[ItemRow, ...]

    @property
    def visible_rows(self) -> tuple[ItemRow, ...]:
        """Return the items that are shown before the user expands the collection."""
        return self.rows[:ITEMS_SHOWN]

    @property
    def bytes(self) -> int:
        """Return the total size of the collection's items in bytes."""
        return sum(row.bytes for row in self.rows)


class EntityFinder:
    """Determines the entity of an item from the format of the item's key."""

    def __init__(self, specs: Sequence[EntitySpec]) -> None:
        self._reader: Callable[[Any], Any] | None = EntityMatcher(specs, specs).reader if specs else None
        self._colors = {spec: number % COLORS for number, spec in enumerate(specs)}

    def entity_of(self, item: Item) -> tuple[str, int | None]:
        """Return the name and the color number of an item's entity.

        For an item that reserves a unique value, return "unique value" and None. For any other item that does not
        belong to an entity, return an empty string and None.
        """
        if OWNER in item:
            return "unique value", None
        reader = None if self._reader is None else self._reader(item)
        return ("", None) if reader is None else (reader.spec.name, self._colors[reader.spec])


def collections(schema: Schema, index: Index | None, items: Iterable[Item], entities: EntityFinder) -> list[Collection]:
    """Group items or index entries into collections, in the order of the first item of each collection.

    The items of a collection need not be adjacent in `items`, because other engines can return them in any order.
    """
    partition = (schema.partition,) if index is None else index.partition
    sort = schema.key[1:] if index is None else index.sort

    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(repr([item.get(name) for name in partition]), []).append(item)
    return [
        Collection(
            tuple(_key(name, group[0]) for name in partition if name in group[0]),
            tuple(_row(item, entities, schema, {*partition, *sort}, sort) for item in group),
        )
        for group in groups.values()
    ]


def _row(item: Item, entities: EntityFinder, schema: Schema, keys: set[str], sort: Sequence[str]) -> ItemRow:
    name, color = entities.entity_of(item)
    path = item_path(schema.name, {part: item[part] for part in schema.key}) if item.keys() >= set(schema.key) else ""
    other_cells = tuple(cell(attribute, value) for attribute, value in item.items() if attribute not in keys)
    return ItemRow(
        name, color, tuple(_key(part, item) for part in sort if part in item), other_cells, _size(item), path
    )


def _size(item: Item) -> int:
    return item_bytes(canonical(item))


def entries(schema: Schema, index: Index | None, items: Iterable[Item]) -> list[Item]:
    """Return the items, or their entries in an index, in the order of query results.

    Items that are not in the index are omitted.
    """
    stored = [canonical(item) for item in items]
    pairs = [(entry, item) for item in stored if (entry := item if index is None else entry_of(schema, index, item))]
    return [entry for entry, item in sorted(pairs, key=lambda pair: position_in(schema, index, pair[1]))]


def partition_request(table: Table, index: Index | None, values: Sequence[str]) -> dict[str, Any]:
    """Return the Query parameters that select one partition. `values` are the texts that a user entered for its key."""
    names = (table.schema.partition,) if index is None else index.partition
    types = key_types(table)
    typed = {
        name: {types.get(name, "S"): _typed(types.get(name, "S"), text)}
        for name, text in zip(names, values, strict=True)
    }
    return {
        "KeyConditionExpression": " AND ".join(f"#k{number} = :k{number}" for number in range(len(names))),
        "ExpressionAttributeNames": {f"#k{number}": name for number, name in enumerate(names)},
        "ExpressionAttributeValues": {f":k{number}": value for number, value in enumerate(typed.values())},
    }


def _typed(type_code: str, text: str) -> str | bytes:
    return b64decode(text) if type_code == "B" else text


def sort_by_variety(unsorted: Sequence[Collection]) -> list[Collection]:
    """Return the collections, sorted by their number of different entities and then by their number of items,
    descending.
    """
    return sorted(
        unsorted, key=lambda collection: (-len({row.entity for row in collection.rows}), -len(collection.rows))
    )


def columns(item_collections: Sequence[Collection]) -> list[str]:
    """Return the names of the attributes that occur in the collections, starting with the most frequent attribute."""
    counts: dict[str, int] = {}
    for collection in item_collections:
        for row in collection.rows:
            for cell_of_row in row.cells:
                counts[cell_of_row.name] = counts.get(cell_of_row.name, 0) + 1
    return sorted(counts, key=lambda name: -counts[name])


def _key(name: str, item: Item) -> AttributeCell:
    return cell(name, item[name], max_characters=_KEY_CHARACTERS)


def cell(name: str, value: Mapping[str, Any], max_characters: int = SHOWN_CHARACTERS) -> AttributeCell:
    """Return the table cell for an attribute, with a text of at most `max_characters` characters."""
    ((type_code, content),) = value.items()
    text = content_text(type_code, content)
    if len(text) <= max_characters:
        return AttributeCell(name, type_code, text)
    return AttributeCell(name, type_code, f"{text[:max_characters]}\u2026", text[:_TOOLTIP_CHARACTERS])


def content_text(type_code: str, content: Any) -> str:
    """Return an attribute value as text. `type_code` is its DynamoDB type, and `content` is the value
    without the type.
    """
    if type_code in {"S", "N"}:
        return str(content)
    if type_code == "B":
        return b64encode(content).decode() if isinstance(content, (bytes, bytearray)) else str(content)
    if type_code == "BOOL":
        return "true" if content else "false"
    if type_code == "NULL":
        return "null"
    return orjson.dumps(_plain(type_code, content), default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _plain(type_code: str, content: Any) -> Any:
    if type_code in {"SS", "NS", "BS"}:
        return [content_text(type_code[0], part) for part in content]
    if type_code == "L":
        return [_plain(*next(iter(part.items()))) for part in content]
    if type_code == "M":
        return {name: _plain(*next(iter(part.items()))) for name, part in content.items()}
    return bool(content) if type_code == "BOOL" else None if type_code == "NULL" else content_text(type_code, content)
