"""What a source says of tables, whichever source it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyplan.design.schema import Index, StreamView, TableClass
from keyplan.design.workload import Billing

Item = Mapping[str, Mapping[str, Any]]
"""An item as the service's JSON has it: {"PK": {"S": "USER#1"}}."""


@dataclass(frozen=True)
class Figures:
    """How many items a table has, and how large they are."""

    count: int
    average_bytes: int
    in_index: Mapping[str, int] = field(default_factory=dict)
    """By index: how many items it has."""


@dataclass(frozen=True)
class SourceEntity:
    """A kind of items that a source tells of."""

    name: str
    attributes: tuple[str, ...]
    """Its attributes beside the primary key."""
    samples: tuple[Item, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    """By attribute of the primary key: what the source calls it, perhaps in the form USER#UserId."""


@dataclass(frozen=True)
class SourceTable:
    """A table, and what is known of its items."""

    name: str
    key: tuple[str, ...]
    """The attributes of its primary key: partition key, and the sort key if there is one."""
    types: Mapping[str, str]
    """The type of each attribute that is known: S, N, B for keys, others for other attributes."""
    indexes: tuple[Index, ...]
    billing: Billing
    stream: StreamView | None = None
    ttl: str | None = None
    table_class: TableClass = "STANDARD"
    point_in_time_recovery: bool = False
    deletion_protection: bool = False
    entities: tuple[SourceEntity, ...] = ()
    figures: Figures | None = None
    gaps: tuple[str, ...] = ()
    """What the source says of it that a design cannot, a sentence each."""

    @property
    def key_attributes(self) -> tuple[str, ...]:
        """The attributes of all keys, those of the primary key first."""
        of_indexes = (name for index in self.indexes for name in index.attributes)
        return tuple(dict.fromkeys((*self.key, *of_indexes)))


@dataclass(frozen=True)
class Source:
    """All tables of a source."""

    title: str
    """What it is, for the first line of the file: shop.json, a NoSQL Workbench model."""
    tables: tuple[SourceTable, ...]
    gaps: tuple[str, ...] = ()
    """What was left out of the source as a whole."""
    about: str = ""
    """What its authors say it is about."""
