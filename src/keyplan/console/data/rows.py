"""Items as rows of a table, with columns, groups by partition key, and sorting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from keyplan.console.data.documents import Cell, bytes_of, cell, encoded_key, item_path, key_text, sort_key
from keyplan.console.data.facts import IndexKeys, TableFacts
from keyplan.console.data.search import Search, key_of

_DEFAULT_COLUMNS: Final = 8
_MAX_AVAILABLE: Final = 200


@dataclass(frozen=True)
class Row:
    """An item, displayed as a row of an HTML table."""

    cells: list[Cell | None]
    """The cells of the row in the order of the columns. A cell is None if the item does not have the attribute."""
    key: str
    """The encoded primary key of the item, or an empty string if the result does not contain it."""
    path: str
    """The path of the item's page, relative to the console's root, or an empty string if the key is unknown."""
    key_text: str
    size: int
    hidden_count: int
    """The number of the item's attributes that no column shows."""


@dataclass(frozen=True)
class ItemGroup:
    """The rows with the same partition key, or all rows if they are not grouped."""

    title: Cell | None
    """The cell with the partition key, or None if the rows are not grouped."""
    rows: list[Row]
    pk: str = ""
    """The partition key as text for use in the search form."""


@dataclass(frozen=True)
class Columns:
    """The attributes that occur on a page of items, and the attributes that are shown in columns."""

    visible: list[str]
    available: list[str]
    keys: frozenset[str] = field(default_factory=frozenset)


def columns_of(items: Sequence[Mapping[str, Any]], key_names: Sequence[str], chosen_names: Sequence[str]) -> Columns:
    """Return the columns for a page of items: the key attributes in `key_names`, followed by the attributes in
    `chosen_names`.

    By default, the most frequent attributes are chosen.
    """
    counts = Counter(name for item in items for name in item)
    other_names = sorted((name for name in counts if name not in key_names), key=lambda name: (-counts[name], name))
    chosen_columns = (
        [name for name in chosen_names if name not in key_names] if chosen_names else other_names[:_DEFAULT_COLUMNS]
    )
    available = list(dict.fromkeys([*other_names[:_MAX_AVAILABLE], *chosen_columns]))
    return Columns([*key_names, *chosen_columns], available, frozenset(key_names))


def groups_of(
    items: Sequence[Mapping[str, Any]],
    columns: Columns,
    search: Search,
    index: IndexKeys,
    facts: TableFacts,
) -> list[ItemGroup]:
    """Return the rows of a page of items, in groups with the same partition key.

    The rows form a single group if the page is sorted, if the user has turned grouping off, or if the table or index
    has no sort key.
    """
    if search.sort:
        name, reverse = search.sort.removeprefix("-"), search.sort.startswith("-")
        present = sorted(
            (item for item in items if name in item), key=lambda item: sort_key(item[name]), reverse=reverse
        )
        ordered = [*present, *(item for item in items if name not in item)]
    else:
        ordered = list(items)
    if not index.sk or search.sort or not search.grouped or not items:
        return [ItemGroup(None, [row_of(item, columns, facts) for item in ordered])]
    groups = []
    for _, members in groupby(ordered, key=lambda item: sort_key(item.get(index.pk))):
        collection = list(members)
        first = collection[0].get(index.pk)
        title = None if first is None else cell(first)
        pk = "" if first is None else key_text(first)
        groups.append(ItemGroup(title, [row_of(item, columns, facts) for item in collection], pk))
    return groups


def row_of(item: Mapping[str, Any], columns: Columns, facts: TableFacts | None) -> Row:
    """Return an item as a row.

    `facts` describes the item's table. If `facts` is None, the row does not link to the page of the item.
    """
    key = None if facts is None else key_of(item, facts.keys)
    return Row(
        [cell(item[name]) if name in item else None for name in columns.visible],
        encoded_key(key) if key else "",
        item_path(facts.name, key) if key and facts is not None else "",
        " / ".join(cell(value).text for value in key.values()) if key else "",
        bytes_of(item),
        sum(name not in columns.visible for name in item),
    )
