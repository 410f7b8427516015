"""The common representation of imported tables, which resembles the table properties in CloudFormation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from keyplan.design.schema import Index, Projection, StreamView, TableClass
from keyplan.design.workload import Billing, OnDemand, Provisioned
from keyplan.importers.nodes import Node

Item = Mapping[str, Mapping[str, Any]]
"""An item in the JSON form of DynamoDB, such as {"PK": {"S": "USER#1"}}."""


@dataclass(frozen=True)
class TableStatistics:
    """The number and average size of the items in a table."""

    count: int
    average_bytes: int
    in_index: Mapping[str, int] = field(default_factory=dict)
    """The number of items in each index, by index name."""


@dataclass(frozen=True)
class SourceField:
    """A field that the source declares."""

    name: str
    """The name of the field in the imported source."""
    annotation: str
    """The type annotation of the field as Python source."""
    is_required: bool = False
    default: str | None = None
    """The default value of the field as Python source. None if the field has no default, or if its default is None."""
    stored: str | None = None
    """The storage format of a datetime, such as epoch_s or iso_ms, or None for the default format."""


@dataclass(frozen=True)
class SourceEntity:
    """A kind of item that the source declares, or that was detected in its sample items."""

    name: str
    attributes: tuple[str, ...]
    """The names of the item's attributes, except those of the primary key."""
    samples: tuple[Item, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    """The alias of each primary key attribute in the source. An alias can be a template such as USER#UserId."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """The key templates, such as USER#{user_id}, that the source determines exactly, by attribute name."""
    template_rows: tuple[Item, ...] = ()
    """Sample items whose keys are templates, such as {"PK": {"S": "USER#{user_id}"}}."""
    fields: Mapping[str, SourceField] = field(default_factory=dict)
    """The fields that the source declares for this kind of item, by attribute name."""
    version: str | None = None
    """The name of the attribute that contains the version of an item, or None."""
    is_guessed: bool = False
    """True if this kind of item was derived from the keys of sample items, because the source does not declare it."""
    discriminator: str | None = None
    """The value that the table's discriminator attribute has in this kind of item, or None if the source does not
    declare it.
    """


@dataclass(frozen=True)
class SourceCollection:
    """A group of entities whose items one query reads from a partition, such as an ElectroDB collection."""

    name: str
    index: str | None
    entities: tuple[str, ...]
    prefix: str
    """The text at the start of the sort keys, or "" if all items of the partition belong to the collection."""


@dataclass(frozen=True)
class SourceConsumer:
    """A function that reads the stream of a table."""

    name: str
    description: str
    events: tuple[str, ...]
    """The keyplan change types that the function receives: Inserted, Modified, Removed or Expired."""
    batch: int
    retries: int | None
    """The maximum number of retries, or None if the function retries until the stream record expires."""
    on_failure: str | None
    bisect: bool
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceTable:
    """An imported table, with all information about it in the source."""

    name: str
    key: tuple[str, ...]
    """The partition key attribute and, if the table has one, the sort key attribute."""
    types: Mapping[str, str]
    """The DynamoDB types of the attributes whose type is known. Key attributes have the type S, N or B."""
    indexes: tuple[Index, ...]
    billing: Billing
    stream: StreamView | None = None
    ttl: str | None = None
    table_class: TableClass = "STANDARD"
    point_in_time_recovery: bool = False
    deletion_protection: bool = False
    entities: tuple[SourceEntity, ...] = ()
    discriminator: str | None = None
    """The name of the attribute that contains the kind of each item, or None if the source does not declare it."""
    collections: tuple[SourceCollection, ...] = ()
    consumers: tuple[SourceConsumer, ...] = ()
    figures: TableStatistics | None = None
    gaps: tuple[str, ...] = ()
    """A sentence for each setting of the table that a design cannot express."""
    guesses: tuple[str, ...] = ()
    """A sentence for each assumption about information that the source does not contain."""

    @property
    def key_attributes(self) -> tuple[str, ...]:
        """The names of the key attributes of the table and its indexes. Those of the primary key come first."""
        of_indexes = (name for index in self.indexes for name in index.attributes)
        return tuple(dict.fromkeys((*self.key, *of_indexes)))


@dataclass(frozen=True)
class ImportSource:
    """The tables that were imported from a source such as a template, and a description of the source."""

    title: str
    """The description of the source in the first line of the generated file, such as "shop.json, a NoSQL Workbench
    model".
    """
    tables: tuple[SourceTable, ...]
    gaps: tuple[str, ...] = ()
    """A sentence for each setting that does not belong to a table and that a design cannot express."""
    description: str = ""
    """The description that the source contains, or an empty string."""


_IMPORTED_MEMBERS = frozenset({
    "AttributeDefinitions", "BillingMode", "DeletionProtectionEnabled", "GlobalSecondaryIndexes", "KeySchema",
    "LocalSecondaryIndexes", "PointInTimeRecoverySpecification", "ProvisionedThroughput", "StreamSpecification",
    "TableClass", "TableName", "TimeToLiveSpecification", "WarmThroughput",
})  # fmt: skip
_INDEX_MEMBERS = frozenset({"IndexName", "KeySchema", "Projection", "ProvisionedThroughput", "WarmThroughput"})
_UNSUPPORTED_MEMBERS = {
    "ContributorInsightsSpecification": "contributor insights are not part of a design",
    "GlobalTableSettingsReplicationMode": "replication is not part of a design",
    "GlobalTableSourceArn": "replication is not part of a design",
    "GlobalTableWitnesses": "replication is not part of a design",
    "ImportSourceSpecification": "an import from S3 is not part of a design",
    "KinesisStreamSpecification": "a Kinesis stream is not part of a design",
    "MultiRegionConsistency": "replication is not part of a design",
    "OnDemandThroughput": "maximum on-demand throughput is not part of a design",
    "ReadOnDemandThroughputSettings": "maximum on-demand throughput is not part of a design",
    "Replicas": "replication is not part of a design",
    "ResourcePolicy": "a policy of the table is not part of a design",
    "SSEDescription": "encryption is not part of a design",
    "SSESpecification": "encryption is not part of a design",
    "Tags": "tags are not part of a design",
    "VectorIndexes": "a design has no vector indexes",
    "WriteOnDemandThroughputSettings": "maximum on-demand throughput is not part of a design",
}
_RECOVERY_DAYS = 35
"""The default recovery period in days (API reference, PointInTimeRecoverySpecification)."""
_STREAMS: tuple[str, ...] = tuple(view for view in get_args(StreamView) if view != "UNSTATED")


def source_table(table: Node, name: str, gaps: Sequence[str] = ()) -> SourceTable:
    """Convert the properties of a table to a SourceTable with the given name. Raises ImportSourceError if they are
    invalid.
    """
    types = _types(table)
    key = _key(table, types)
    if len(key[0]) != 1 or len(key[1]) > 1:
        raise table.need("KeySchema").fail("a table's key has one HASH attribute, and optionally one RANGE attribute")
    other_indexes = list(_other_indexes(table))
    all_gaps = [*gaps, *_unsupported_gaps(table, _IMPORTED_MEMBERS), *other_indexes]
    billing = _billing(table, all_gaps)
    protected, table_class = table.get("DeletionProtectionEnabled"), table.get("TableClass")
    source = SourceTable(
        name=name,
        key=(*key[0], *key[1]),
        types=types,
        indexes=tuple(_indexes(table, types, billing, all_gaps)),
        billing=billing,
        stream=_stream(table, all_gaps),
        ttl=_ttl(table, types, all_gaps),
        table_class="STANDARD"
        if table_class is None
        else cast("TableClass", table_class.one_of(*get_args(TableClass))),
        point_in_time_recovery=_recovery(table, all_gaps),
        deletion_protection=protected is not None and protected.flag(),
        gaps=tuple(all_gaps),
    )
    if not other_indexes:
        _check_definitions(table, source)
    return source


def _other_indexes(table: Node) -> Iterator[str]:
    """Yield a sentence for each index that is neither a global nor a local secondary index.

    The key attributes of these indexes are also in the table's AttributeDefinitions, but cannot be identified there.

    Source: CloudFormation Template Reference, "AWS::DynamoDB::Table SearchSchemaElement".
    """
    for member, value in table.mapping().items():
        if not member.endswith("Indexes") or member in _IMPORTED_MEMBERS or not isinstance(value, list):
            continue
        for entry in table.elements(member):
            name = entry.need("IndexName").text()
            yield f"index {name!r} is omitted: {member} indexes are not part of a design"


def _types(table: Node) -> dict[str, str]:
    types: dict[str, str] = {}
    for definition in table.need("AttributeDefinitions").items():
        name, type_code = (
            definition.need("AttributeName").text(),
            definition.need("AttributeType").one_of("S", "N", "B"),
        )
        if types.setdefault(name, type_code) != type_code:
            raise definition.fail(f"{name!r} is defined as {types[name]} and as {type_code}")
    return types


def _key(holder: Node, types: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two tuples with the names of the partition key attributes and the sort key attributes in a KeySchema."""
    parts: dict[str, list[str]] = {"HASH": [], "RANGE": []}
    for element in holder.need("KeySchema").items():
        name = element.need("AttributeName").text()
        if name not in types:
            raise element.fail(f"{name!r} is part of the key, but AttributeDefinitions do not define its type")
        parts[element.need("KeyType").one_of("HASH", "RANGE")].append(name)
    if not parts["HASH"]:
        raise holder.need("KeySchema").fail("no attribute has KeyType HASH, the partition key")
    return tuple(parts["HASH"]), tuple(parts["RANGE"])


def _check_definitions(table: Node, source: SourceTable) -> None:
    unused = [name for name in source.types if name not in source.key_attributes]
    if unused:
        names = ", ".join(map(repr, unused))
        raise table.need("AttributeDefinitions").fail(
            f"{names}: defined, but not used in a key, which the service rejects"
        )


def _indexes(table: Node, types: Mapping[str, str], billing: Billing, gaps: list[str]) -> Iterator[Index]:
    for index in table.elements("GlobalSecondaryIndexes"):
        name = index.need("IndexName").text()
        partition, sort = _key(index, types)
        throughput = _provisioned(index) if isinstance(billing, Provisioned) else None
        gaps += [
            f"index {name!r}: {gap}"
            for gap in (*_unsupported_gaps(index, _INDEX_MEMBERS), *_warm_throughput_gaps(index, billing))
        ]
        yield Index(name, "GSI", partition, sort, _projection(index), throughput)
    for index in table.elements("LocalSecondaryIndexes"):
        name = index.need("IndexName").text()
        partition, sort = _key(index, types)
        if len(sort) != 1:
            raise index.need("KeySchema").fail("a local index has one RANGE attribute, its sort key")
        gaps += [f"index {name!r}: {gap}" for gap in _unsupported_gaps(index, _INDEX_MEMBERS)]
        yield Index(name, "LSI", partition, sort, _projection(index))


def _projection(index: Node) -> Projection | tuple[str, ...]:
    projection = index.need("Projection")
    projection_type = projection.need("ProjectionType").one_of("ALL", "KEYS_ONLY", "INCLUDE")
    if projection_type != "INCLUDE":
        return "all" if projection_type == "ALL" else "keys"
    names = tuple(attribute.text() for attribute in projection.elements("NonKeyAttributes"))
    if not names:
        raise projection.fail("ProjectionType is INCLUDE, and NonKeyAttributes is empty")
    return names


def _billing(table: Node, gaps: list[str]) -> Billing:
    mode = table.get("BillingMode")
    if (mode.one_of("PROVISIONED", "PAY_PER_REQUEST") if mode is not None else "PROVISIONED") == "PROVISIONED":
        billing = _provisioned(table)
        if _warm_throughput(table, billing) is not None:
            gaps.append("WarmThroughput: a design sets it only for on-demand tables")
        return billing
    if any(units and units.value not in (0, "0") for units in _units(table)):
        gaps.append("ProvisionedThroughput: an on-demand table has none")
    warm = _warm_throughput(table, OnDemand())
    return OnDemand() if warm is None else OnDemand(warm_read=warm[0], warm_write=warm[1])


def _provisioned(holder: Node) -> Provisioned:
    throughput = holder.get("ProvisionedThroughput")
    if throughput is None:
        raise holder.fail("it has no ProvisionedThroughput, and its table is not PAY_PER_REQUEST")
    read, write = (throughput.need(f"{operation}CapacityUnits").integer(1) for operation in ("Read", "Write"))
    return Provisioned(read=read, write=write)


def _units(table: Node) -> list[Node | None]:
    return [table.at("ProvisionedThroughput", f"{operation}CapacityUnits") for operation in ("Read", "Write")]


def _warm_throughput(holder: Node, billing: Billing) -> tuple[int, int] | None:
    """Return the warm throughput for reads and writes.

    Return None if it does not exceed the default warm throughput of the billing mode.
    """
    warm = holder.get("WarmThroughput")
    if warm is None:
        return None
    default_units = (
        (billing.warm_read, billing.warm_write) if isinstance(billing, OnDemand) else (billing.read, billing.write)
    )
    declared = (warm.get(f"{operation}UnitsPerSecond") for operation in ("Read", "Write"))
    read, write = (
        max(default, 0 if units is None else units.integer())
        for default, units in zip(default_units, declared, strict=True)
    )
    return None if (read, write) == default_units else (read, write)


def _warm_throughput_gaps(index: Node, billing: Billing) -> Iterator[str]:
    """Yield a sentence if an index has a different warm throughput than its table, because a design cannot express
    this.
    """
    if isinstance(billing, Provisioned):
        throughput = _provisioned(index)
        if _warm_throughput(index, throughput) is not None:
            yield "WarmThroughput: a design sets it only for on-demand tables"
        return
    warm = _warm_throughput(index, OnDemand()) or (OnDemand().warm_read, OnDemand().warm_write)
    if warm != (billing.warm_read, billing.warm_write):
        yield (
            f"WarmThroughput {warm[0]} read and {warm[1]} write: in a design, each index has the warm throughput of"
            " its table"
        )


def _recovery(table: Node, gaps: list[str]) -> bool:
    recovery = table.get("PointInTimeRecoverySpecification")
    if recovery is None:
        return False
    days, enabled = recovery.get("RecoveryPeriodInDays"), recovery.get("PointInTimeRecoveryEnabled")
    if days is not None and days.value not in (_RECOVERY_DAYS, str(_RECOVERY_DAYS)):
        gaps.append(f"RecoveryPeriodInDays: a design only enables recovery, for {_RECOVERY_DAYS} days")
    return enabled is not None and enabled.flag()


def _stream(table: Node, gaps: list[str]) -> StreamView | None:
    stream = table.get("StreamSpecification")
    if stream is not None and stream.get("ResourcePolicy") is not None:
        gaps.append("StreamSpecification.ResourcePolicy: a policy of the stream is not part of a design")
    if stream is None or ((enabled := stream.get("StreamEnabled")) is not None and not enabled.flag()):
        return None
    return cast("StreamView", stream.need("StreamViewType").one_of(*_STREAMS))


def _ttl(table: Node, types: Mapping[str, str], gaps: list[str]) -> str | None:
    expiry = table.get("TimeToLiveSpecification")
    if expiry is None:
        return None
    enabled, attribute_name = expiry.get("Enabled"), expiry.get("AttributeName")
    if enabled is not None and not enabled.flag():
        if attribute_name is not None:
            gaps.append(
                f"TimeToLiveSpecification names {attribute_name.text()!r} but is not enabled: items do not expire"
            )
        return None
    attribute = expiry.need("AttributeName").text()
    if types.get(attribute, "N") != "N":
        gaps.append(
            f"ttl {attribute!r}: it is a key attribute of type {types[attribute]}, which cannot be a ttl attribute"
        )
        return None
    return attribute


def _unsupported_gaps(holder: Node, imported_members: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for each member of `holder` that is not in `imported_members`, because a design cannot express
    it.
    """
    for member in holder.mapping():
        if member not in imported_members:
            yield f"{member}: {_UNSUPPORTED_MEMBERS.get(member, 'unknown member')}"
