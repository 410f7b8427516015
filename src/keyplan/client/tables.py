"""Request programs that create missing tables and compare existing tables with their declarations.

A request program is a generator that yields requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from keyplan.client.errors import TableDiffersError, TableMissingError, UnavailableError
from keyplan.client.requests import Context, Program, Request, Wait, send
from keyplan.design.declaring.table_faults import table_faults
from keyplan.design.entities import EntitySpec
from keyplan.design.schema import Schema, capacity_units, index_request, key_schema, warm_throughput
from keyplan.errors import ServiceError

_FIRST_POLL_S, _MAX_POLL_S = 0.05, 1.0
_POLLS = 600
_READY = frozenset({"ACTIVE", "UPDATING"})


class Declared(Protocol):
    """The interface of a declared table with its entities."""

    @property
    def schema(self) -> Schema:
        """The schema of the table."""

    @property
    def entities(self) -> Sequence[EntitySpec]:
        """The entities whose items the table contains."""


@dataclass(frozen=True)
class PlanTable:
    """A table with its entities, for functions that expect a declared table."""

    schema: Schema
    entities: Sequence[EntitySpec]


def create_request(table: Declared, name: str) -> Request:
    """Return the CreateTable request for a declared table. `name` is the physical name of the table."""
    schema = table.schema
    types = key_types(table)
    request: Request = {
        "TableName": name,
        "KeySchema": key_schema((schema.partition,), schema.key[1:]),
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": types.get(attribute, "S")}
            for attribute in schema.key_attributes()
        ],
        **_billing(schema),
    }
    for kind, member in (("GSI", "GlobalSecondaryIndexes"), ("LSI", "LocalSecondaryIndexes")):
        indexes = [index_request(index, schema) for index in schema.indexes if index.kind == kind]
        if indexes:
            request[member] = indexes
    if schema.stream is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": schema.stream}
    warm = warm_throughput(schema)
    if warm is not None:
        request["WarmThroughput"] = warm
    if schema.table_class != "STANDARD":
        request["TableClass"] = schema.table_class
    if schema.deletion_protection:
        request["DeletionProtectionEnabled"] = True
    return request


def key_types(table: Declared) -> dict[str, str]:
    """Return the DynamoDB type of each key attribute, derived from the table's entities."""
    types: dict[str, str] = {}
    for spec in table.entities:
        for stored in spec.fields.values():
            types.setdefault(stored.attribute, stored.type_code)
    for spec in table.entities:
        for bound in (spec.key, *spec.indexes):
            for part in bound.attributes:
                types[part.attribute] = part.type_code
    return types


def _billing(schema: Schema) -> Request:
    if schema.provisioned is None:
        return {"BillingMode": "PAY_PER_REQUEST"}
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity_units(schema.provisioned)}


# Programs.


def create_tables(context: Context, tables: Sequence[Declared], *, wait: bool) -> Program[None]:
    """Create missing tables, and enable the declared settings that CreateTable does not support.

    If `wait` is True, wait until the tables are active. Raises TableDiffersError if an existing table differs from its
    declaration.
    """
    for table in tables:
        for fault in table_faults(table):
            raise fault.error()
    descriptions: dict[str, Mapping[str, Any] | None] = {}
    for table in tables:
        descriptions[context.table(table.schema)] = yield from _create(context, table)
    for name, description in descriptions.items() if wait else ():
        yield from _until_active(context, name, description)
    for table in tables:
        yield from _settings(context, table.schema, wait=wait)
        context.tables.add(table.schema)


def _create(context: Context, table: Declared) -> Program[Mapping[str, Any] | None]:
    """Create a table if it is missing, and return its last known description."""
    name = context.table(table.schema)
    expected = create_request(table, name)
    existing = yield from describe(context, name)
    created: Mapping[str, Any] | None = None
    if existing is None:
        try:
            response = yield from send(context, "CreateTable", expected)
            created = response.get("TableDescription")
        except ServiceError as error:
            if error.code != "ResourceInUseException":
                raise
            existing = yield from describe(context, name)
    faults = [] if existing is None else list(differences(expected, existing))
    if faults:
        raise TableDiffersError(
            f"table {name} exists, but differs from its declaration:\n" + "\n".join(f"  - {fault}" for fault in faults),
            differences=faults,
            entity=table.schema.name,
        )
    return existing or created


def describe(context: Context, name: str) -> Program[Mapping[str, Any] | None]:
    """Return DynamoDB's description of the table with the physical name `name`, or None if it does not exist."""
    try:
        response = yield from send(context, "DescribeTable", {"TableName": name})
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    description: Mapping[str, Any] = response["Table"]
    return description


def _until_active(context: Context, name: str, description: Mapping[str, Any] | None) -> Program[None]:
    """Wait until a table is active. If `description` shows that the table is already active, no request is sent."""
    if description is not None and _is_active(description):
        return
    for poll in range(_POLLS):
        existing = yield from describe(context, name)
        if existing is None:
            raise TableMissingError(f"table {name} was deleted while it was being created")
        if _is_active(existing):
            return
        yield Wait(min(_MAX_POLL_S, _FIRST_POLL_S * 2**poll))
    raise UnavailableError(f"table {name} is not active after {_POLLS} attempts, about {_MAX_POLL_S:g} s apart")


def _is_active(description: Mapping[str, Any]) -> bool:
    return description.get("TableStatus") in _READY and all(
        index.get("IndexStatus", "ACTIVE") in _READY for index in description.get("GlobalSecondaryIndexes", ())
    )


def _settings(context: Context, schema: Schema, *, wait: bool) -> Program[None]:
    """Enable time to live and point-in-time recovery as declared, because CreateTable does not support
    these settings.
    """
    name = context.table(schema)
    if schema.ttl is not None and not (yield from _is_ttl_enabled(context, schema)):
        specification = {"Enabled": True, "AttributeName": schema.ttl}
        try:
            yield from send(context, "UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": specification})
        except ServiceError:
            if not (yield from _is_ttl_enabled(context, schema)):  # another connection may have enabled it
                raise
    if schema.point_in_time_recovery and wait and not context.creates_tables:
        yield from _enable_recovery(context, name)


def _is_ttl_enabled(context: Context, schema: Schema) -> Program[bool]:
    """Return True if time to live is already enabled for the table.

    Raises TableDiffersError if it is enabled with an attribute other than the declared TTL attribute.
    """
    name = context.table(schema)
    response = yield from send(context, "DescribeTimeToLive", {"TableName": name})
    existing = response["TimeToLiveDescription"]
    if existing.get("TimeToLiveStatus", "DISABLED") in {"DISABLED", "DISABLING"}:
        return False
    if existing.get("AttributeName") != schema.ttl:
        problem = f"its TTL attribute is {existing.get('AttributeName')}, but {schema.ttl} is declared"
        raise TableDiffersError(f"table {name} exists, but {problem}", differences=[problem], entity=schema.name)
    return True


def _enable_recovery(context: Context, name: str) -> Program[None]:
    """Enable point-in-time recovery for a table if it is disabled."""
    if not (yield from _is_recovery_disabled(context, name)):
        return
    request = {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}
    for poll in range(_POLLS):
        try:
            yield from send(context, "UpdateContinuousBackups", request)
        except ServiceError as error:
            if error.code != "ContinuousBackupsUnavailableException":  # raised for a few seconds after creation
                raise
        else:
            return
        yield Wait(min(_MAX_POLL_S, _FIRST_POLL_S * 2**poll))
    raise UnavailableError(f"backups of table {name} are not available after {_POLLS} attempts")


def _is_recovery_disabled(context: Context, name: str) -> Program[bool]:
    """Return True if point-in-time recovery is disabled for a table.

    Return False if the server does not support it, as some DynamoDB-compatible servers do not.
    """
    try:
        response = yield from send(context, "DescribeContinuousBackups", {"TableName": name})
    except ServiceError as error:
        if error.code != "UnknownOperationException":
            raise
        return False
    recovery = response["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return bool(recovery.get("PointInTimeRecoveryStatus") != "ENABLED")


# Comparison with the declaration.


def differences(expected: Mapping[str, Any], existing: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each difference between an existing table and its declaration.

    Indexes that exist but are not declared are ignored.
    """
    if _keys(expected) != _keys(existing):
        yield f"its key is {_keys_text(existing)}, but {_keys_text(expected)} is declared"
    types = {
        attribute["AttributeName"]: attribute["AttributeType"] for attribute in existing.get("AttributeDefinitions", ())
    }
    for attribute in expected["AttributeDefinitions"]:
        type_code = types.get(attribute["AttributeName"])
        if type_code is not None and type_code != attribute["AttributeType"]:
            yield f"{attribute['AttributeName']} is of type {type_code}, but {attribute['AttributeType']} is declared"
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        existing_indexes = {index["IndexName"]: index for index in existing.get(member, ())}
        for index in expected.get(member, ()):
            yield from _index_differences(index, existing_indexes.get(index["IndexName"]))
    stream = expected.get("StreamSpecification", {}).get("StreamViewType")
    has_stream = existing.get("StreamSpecification", {}).get("StreamViewType")
    if stream is not None and stream != has_stream:
        yield f"its stream is {has_stream or 'off'}, but {stream} is declared"


def _index_differences(expected: Mapping[str, Any], existing: Mapping[str, Any] | None) -> Iterator[str]:
    name = expected["IndexName"]
    if existing is None:
        yield f"it has no index {name}"
        return
    if _keys(expected) != _keys(existing):
        yield f"the key of index {name} is {_keys_text(existing)}, but {_keys_text(expected)} is declared"
    existing_projection, declared_projection = existing["Projection"], expected["Projection"]
    if _projected(existing_projection) != _projected(declared_projection):
        yield (
            f"index {name} projects {_projected(existing_projection)}, but {_projected(declared_projection)} is"
            " declared"
        )


def _keys(description: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(part["AttributeName"], part["KeyType"]) for part in description["KeySchema"]]


def _keys_text(description: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} ({key_type})" for name, key_type in _keys(description))


def _projected(projection: Mapping[str, Any]) -> str:
    if projection["ProjectionType"] == "INCLUDE":
        return "keys and " + ", ".join(sorted(projection["NonKeyAttributes"]))
    return "all" if projection["ProjectionType"] == "ALL" else "keys"
