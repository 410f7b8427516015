"""Tables as infrastructure resources: their names, their CreateTable requests, the faults that prevent their creation,
and the settings that an export omits.

The settings come from the request that a connection sends to create the table (`create_request`), so that an exported
table has the same settings.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from keyplan import limits
from keyplan.client.tables import create_request
from keyplan.design.declaring.table_faults import table_faults
from keyplan.design.declaring.tables import Table
from keyplan.design.errors import Fault

_TAG_DIGITS = 8
_TAG = re.compile(rf"[0-9a-f]{{{_TAG_DIGITS}}}\Z")
_PREFIX = re.compile(r"[A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class TableResource:
    """A table in an infrastructure template."""

    table: Table
    prefix: str = ""
    """The text that precedes the declared table name, like the table prefix in the URL of a connection."""

    @property
    def name(self) -> str:
        """Return the full name of the table, including the prefix."""
        return self.prefix + self.table.name

    @cached_property
    def request(self) -> dict[str, Any]:
        """Return the CreateTable request that a connection would send."""
        return create_request(self.table, self.name)

    @property
    def ttl(self) -> str | None:
        """Return the name of the TTL attribute, or None."""
        return self.table.schema.ttl

    @property
    def recovers(self) -> bool:
        """Return True if the table declares point-in-time recovery."""
        return self.table.schema.point_in_time_recovery


def resources(tables: Sequence[Table], prefix: str = "") -> list[TableResource]:
    """Return the resources for tables, in the order of the tables.

    Raises DesignError if the declaration of a table has a fault that prevents the table's creation.
    """
    for fault in obstacles(tables):
        raise fault.error()
    return [TableResource(table, prefix) for table in tables]


def obstacles(tables: Sequence[Table]) -> list[Fault]:
    """Return the faults that prevent DynamoDB from creating the tables."""
    return [fault for table in tables for fault in table_faults(table)] + [
        *_unstated_streams(tables),
        *_names(tables),
    ]


def _unstated_streams(tables: Sequence[Table]) -> Iterator[Fault]:
    for table in tables:
        if table.schema.stream == "UNSTATED":
            yield Fault(
                "KP710",
                f"the design does not declare the stream view of table {table.name}",
                'declare stream="NEW_AND_OLD_IMAGES", or another view',
                table.schema.place.at("stream="),
            )


def _names(tables: Sequence[Table]) -> Iterator[Fault]:
    names: dict[str, Table] = {}
    for table in tables:
        if table.name in names:
            location, other_location = table.schema.place, names[table.name].schema.place
            yield Fault("KP109", f"two tables are called {table.name}", "rename one of them", location, other_location)
        names.setdefault(table.name, table)


def is_prefix(prefix: str, tables: Sequence[Table]) -> bool:
    """Return True if the names of all tables are valid with this prefix."""
    return bool(_PREFIX.fullmatch(prefix)) and all(
        len(prefix + table.name) <= limits.TABLE_NAME_MAX for table in tables
    )


def omitted_settings(tables: Sequence[TableResource]) -> Iterator[str]:
    """Yield a note for each declaration that an infrastructure template cannot express."""
    for resource in tables:
        table = resource.table
        yield from _index_notes(table)
        for ttl in table.schema.ttls:
            if ttl.sets:
                names = ", ".join(ttl.sets)
                yield f"expiry of {table.name} is declared to set {names}: the service only deletes items"
        if table.consumers:
            yield _consumer_note(table)


def _index_notes(table: Table) -> Iterator[str]:
    for index in table.schema.indexes:
        if index.project is None:
            yield f"index {index.name} of {table.name} does not declare its projection: exported as ALL"
        if index.billing is not None and not table.schema.provisioned:
            yield f"index {index.name} of {table.name} has provisioned capacity, but its table is on demand: omitted"


def _consumer_note(table: Table) -> str:
    names = ", ".join(consumer.name for consumer in table.consumers)
    text = f"consumers of {table.name} ({names}) run in a keyplan.streams.Runner: they are not exported"
    destinations = sorted({consumer.on_failure for consumer in table.consumers if consumer.on_failure is not None})
    return text + (
        f", and neither are the destinations of failed records ({', '.join(destinations)})" if destinations else ""
    )


# Names within a file.


def unique_identifier(name: str, to_identifier: Callable[[str], str], to_name: Callable[[str], str]) -> str:
    """Return an identifier for a table that is unique in a file and depends only on the table name.

    `to_identifier` converts the name to a valid identifier, and `to_name` converts an identifier back to a name. If the
    conversion back does not restore the name, digits of the name's hash are appended to the identifier.
    """
    candidate = to_identifier(name)
    if to_name(candidate) == name and not _TAG.search(candidate):
        return candidate
    tag = hashlib.sha256(name.encode()).hexdigest()[:_TAG_DIGITS]
    return candidate[: limits.TABLE_NAME_MAX - _TAG_DIGITS] + tag


def in_json(document: Any) -> str:
    """Return a document as indented JSON with ASCII characters. The order of keys is preserved."""
    return json.dumps(document, indent=2) + "\n"
