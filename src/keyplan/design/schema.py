"""Schemas of tables and indexes: names, keys, projections, TTL, streams and capacity.

Source for the parameters of requests: API reference, operation CreateTable and data type
CreateGlobalSecondaryIndexAction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from keyplan.design.arguments import as_tuple, check_flags, check_text, checked_call, invalid_option
from keyplan.design.errors import UNKNOWN_PLACE, Place, calling_place, refuse
from keyplan.design.workload import Billing, OnDemand, Provisioned

StreamView = Literal["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "UNSTATED"]
"""The item images that stream records contain.

UNSTATED means that the design declares a stream but not its view type.
"""
IMAGES: dict[str, frozenset[str]] = {
    "KEYS_ONLY": frozenset(),
    "NEW_IMAGE": frozenset({"new"}),
    "OLD_IMAGE": frozenset({"old"}),
    "NEW_AND_OLD_IMAGES": frozenset({"new", "old"}),
}
"""Maps each stream view type to the item images that its records contain."""
TableClass = Literal["STANDARD", "STANDARD_INFREQUENT_ACCESS"]
Projection = Literal["all", "keys"]
KeyNames = str | Sequence[str]


def check_choice(option: str, value: object, choices: Any) -> None:
    """Raise DesignError unless a value is None or one of the values of the Literal type `choices`."""
    values = get_args(choices)
    if value is not None and value not in values:
        refuse(f"{option}={value!r} is not valid", f"write one of {', '.join(map(repr, values))}")


@dataclass(frozen=True)
class Index:
    """A global (GSI) or local (LSI) secondary index."""

    name: str
    kind: Literal["GSI", "LSI"]
    partition: tuple[str, ...]
    """The names of the partition key attributes."""
    sort: tuple[str, ...]
    """The names of the sort key attributes. Empty if the index has no sort key."""
    project: Projection | tuple[str, ...] | None
    """The projected non-key attributes: "all", "keys" (none of them), or their names. None if the design does not
    declare the projection.
    """
    billing: Provisioned | None = None
    place: Place = UNKNOWN_PLACE

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the key attributes, starting with the partition key."""
        return (*self.partition, *self.sort)

    def projects(self, attribute: str, table_key: Sequence[str]) -> bool:
        """Return True if the index contains an attribute of the table's items.

        `table_key` contains the names of the table's key attributes, which every index contains. An index whose
        projection is not declared is assumed to contain all attributes.
        """
        if attribute in self.attributes or attribute in table_key or self.project in {"all", None}:
            return True
        return isinstance(self.project, tuple) and attribute in self.project


@checked_call
def GSI(  # noqa: N802 - the field's own name for it
    name: str,
    *,
    pk: KeyNames,
    sk: KeyNames | None = None,
    project: Projection | Sequence[str] | None = "all",
    billing: Provisioned | None = None,
) -> Index:
    """Declare a global secondary index with a partition key and an optional sort key.

    `pk` and `sk` are names of attributes. Each key can consist of up to four attributes. `project` is "all", "keys", or
    the names of additional attributes to project. None means that the projection is unknown. `billing` is the capacity
    of the index, if the table has provisioned capacity.
    """
    check_text("name", name)
    if not (billing is None or isinstance(billing, Provisioned)):
        raise invalid_option(
            "billing", billing, "not a capacity of an index", "write billing=Provisioned(read=..., write=...)"
        )
    return Index(
        name, "GSI", _key_names("pk", pk), _key_names("sk", sk), _projection(project), billing, calling_place()
    )


@checked_call
def LSI(name: str, *, sk: str, project: Projection | Sequence[str] | None = "all") -> Index:  # noqa: N802
    """Declare a local secondary index, which combines the table's partition key with the sort key `sk`.

    `project` is "all", "keys", or the names of additional attributes to project. None means that the projection is
    unknown. A local secondary index can be created only together with its table.
    """
    check_text("name", name)
    check_text("sk", sk)
    return Index(name, "LSI", (), (sk,), _projection(project), None, calling_place())


def _key_names(option: str, names: KeyNames | None) -> tuple[str, ...]:
    """Return the attribute names of an index key. Raises DesignError for a partition key without attributes."""
    attributes = (
        () if names is None else as_tuple(option, names, str, f'write {option}="owner", or several: ["owner", "day"]')
    )
    if option == "pk" and not attributes:
        raise invalid_option(
            option, names, "not a list of attributes", 'name the attribute of its partition key: pk="owner"'
        )
    for name in attributes:
        check_text(option, name)
    return attributes


def _projection(project: Projection | Sequence[str] | None) -> Projection | tuple[str, ...] | None:
    if project is None:
        return None
    if isinstance(project, str):
        if project not in {"all", "keys"}:
            refuse(
                f"project={project!r} is not a projection",
                f'write project="all", project="keys", or a list: project=["{project}"]',
            )
        return "keys" if project == "keys" else "all"
    attributes: tuple[str, ...] = as_tuple("project", project, str, 'write project=["title", "points"]')
    if not attributes:
        raise invalid_option(
            "project", project, "not a list of attributes", 'write project="keys" to project only keys'
        )
    return attributes


@checked_call
@dataclass(frozen=True)
class TTL:
    """A time to live setting. An item expires at the time stored in the attribute `attribute`, in epoch seconds."""

    attribute: str
    means: str = ""
    """A description of what the application expects when an item expires, in addition to the deletion of the item."""
    sets: Mapping[str, object] = field(default_factory=dict)
    """The field values that the design expects an item to have after it expires.

    DynamoDB does not set such values. It only deletes the item.
    """

    def __post_init__(self) -> None:
        check_text("ttl", self.attribute)
        check_text("means", self.means)
        if not isinstance(self.sets, Mapping):
            raise invalid_option("sets", self.sets, "not a mapping", 'write sets={"status": "expired"}')


@dataclass(frozen=True, eq=False)
class Schema:
    """The schema of a table."""

    name: str
    partition: str
    sort: str | None
    indexes: tuple[Index, ...]
    ttls: tuple[TTL, ...]
    stream: StreamView | None
    billing: Billing
    table_class: TableClass
    point_in_time_recovery: bool
    deletion_protection: bool
    discriminator: str | None
    """The attribute that names the entity of each item. None if the keys identify the entity."""
    literal: bool
    """Whether requests contain only the conditions that the patterns declare, without additional conditions for expiry
    or for items of other entities.
    """
    place: Place

    def __post_init__(self) -> None:
        """Raise DesignError, at the line that declares the table, if an option is invalid."""
        check_text("name", self.name)
        check_text("pk", self.partition)
        check_text("sk", self.sort, may_be_none=True)
        check_text("discriminator", self.discriminator, may_be_none=True)
        check_choice("stream", self.stream, StreamView)
        check_choice("table_class", self.table_class, TableClass)
        check_flags(
            point_in_time_recovery=self.point_in_time_recovery,
            deletion_protection=self.deletion_protection,
            literal=self.literal,
        )
        if not isinstance(self.billing, Billing):
            refuse(
                f"billing={self.billing!r} is not a billing mode",
                "write billing=OnDemand() or billing=Provisioned(read=..., write=...)",
            )

    def __repr__(self) -> str:
        return f"<Schema {self.name}>"

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the primary key attributes, starting with the partition key."""
        return (self.partition,) if self.sort is None else (self.partition, self.sort)

    @property
    def ttl(self) -> str | None:
        """The name of the TTL attribute, or None if the table has no time to live setting."""
        return self.ttls[0].attribute if self.ttls else None

    def index(self, name: str) -> Index | None:
        """Return the index with this name, or None if the table does not have such an index."""
        return next((index for index in self.indexes if index.name == name), None)

    def label_of(self, index: Index | None) -> str:
        """Return the name of an index, or of the table if `index` is None, for use in messages."""
        return f"table {self.name}" if index is None else f"index {index.name}"

    def place_of(self, index: Index | None) -> Place:
        """Return the source location of the declaration of an index, or of the table if `index` is None."""
        return self.place if index is None else index.place

    def key_attributes(self) -> tuple[str, ...]:
        """Return the names of all key attributes of the table and its indexes."""
        attributes = dict.fromkeys(self.key)
        for index in self.indexes:
            attributes.update(dict.fromkeys(index.attributes))
        return tuple(attributes)

    @property
    def provisioned(self) -> Provisioned | None:
        """The provisioned capacity of the table, or None if it has another billing mode."""
        return self.billing if isinstance(self.billing, Provisioned) else None


Request = dict[str, Any]


def index_request(index: Index, schema: Schema) -> Request:
    """Return the definition of an index for a CreateTable request or, for a global index, an UpdateTable request."""
    request: Request = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.partition, index.sort),
        "Projection": _projection_request(index),
    }
    if index.kind == "GSI" and schema.provisioned is not None:
        request["ProvisionedThroughput"] = capacity_units(index.billing or schema.provisioned)
    warm = warm_throughput(schema)
    if index.kind == "GSI" and warm is not None:
        request["WarmThroughput"] = warm
    return request


def key_schema(partition: Sequence[str], sort: Sequence[str]) -> list[Request]:
    """Return the KeySchema parameter of a request, starting with the partition key."""
    return [{"AttributeName": name, "KeyType": "HASH"} for name in partition] + [
        {"AttributeName": name, "KeyType": "RANGE"} for name in sort
    ]


def capacity_units(capacity: Provisioned) -> Request:
    """Return the ProvisionedThroughput parameter of a request."""
    return {"ReadCapacityUnits": capacity.read, "WriteCapacityUnits": capacity.write}


def warm_throughput(schema: Schema) -> Request | None:
    """Return the WarmThroughput parameter of a request, or None if it equals the default for a new table."""
    if not isinstance(schema.billing, OnDemand) or schema.billing.served == OnDemand().served:
        return None
    read, write = schema.billing.served
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}


def _projection_request(index: Index) -> Request:
    if isinstance(index.project, tuple):
        return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.project)}
    return {"ProjectionType": "KEYS_ONLY" if index.project == "keys" else "ALL"}
