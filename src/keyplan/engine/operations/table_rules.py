"""Constraints on keys, indexes, projections, streams and capacity, shared by CreateTable and UpdateTable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import tables as messages
from keyplan.engine.tables.throughput import MAXIMA, PROVISIONED
from keyplan.errors import ValidationError

_TABLE_CLASSES = ("STANDARD", "STANDARD_INFREQUENT_ACCESS")


def names_of(schema: Iterable[dict[str, Any]]) -> list[str]:
    """Return the attribute names in a key schema or in attribute definitions, in order."""
    return [element["AttributeName"] for element in schema]


def check_table_keys(schema: Sequence[dict[str, Any]], definitions: Sequence[str]) -> None:
    """Raise ValidationError unless the key schema has one HASH key and at most one RANGE key, and both have attribute
    definitions.
    """
    keys = names_of(schema)
    undefined = any(key not in definitions for key in keys)
    if len(keys) == 1 and undefined and definitions:
        raise ValidationError(messages.keys_undefined(keys, definitions))
    # If a name occurs twice in the schema but is defined only once, a definition counts as missing.
    is_repeated = len(keys) > 1 and keys[0] == keys[1] and len(definitions) == 1
    if undefined or is_repeated:
        raise ValidationError(messages.KEY_UNDEFINED)
    _check_pair(schema)


def check_definitions(definitions: Sequence[str]) -> None:
    """Raise ValidationError if an attribute is defined more than once."""
    for position, name in enumerate(definitions):
        if name in definitions[:position]:
            raise ValidationError(messages.definition_twice(name))


def _check_pair(schema: Sequence[dict[str, Any]]) -> None:
    keys, kinds = names_of(schema), [element["KeyType"] for element in schema]
    if len(keys) > 1 and keys[0] == keys[1]:
        raise ValidationError(messages.KEY_NAMES_SAME)
    if kinds[0] != "HASH":
        raise ValidationError(messages.FIRST_KEY_NOT_HASH)
    if len(kinds) > 1 and kinds[1] != "RANGE":
        raise ValidationError(messages.SECOND_KEY_NOT_RANGE)


def check_defined(schema: Sequence[dict[str, Any]], definitions: Sequence[str]) -> None:
    """Raise ValidationError if an index key attribute has no attribute definition."""
    keys = names_of(schema)
    if any(key not in definitions for key in keys):
        raise ValidationError(messages.keys_undefined(keys, definitions))


def check_local_index(index: dict[str, Any], table_hash: str) -> None:
    """Raise ValidationError unless a local index has the HASH key of its table, a RANGE key and a valid projection.
    `table_hash` is the name of the table's HASH key.
    """
    schema, name = index["KeySchema"], index["IndexName"]
    _check_pair(schema)
    if len(schema) == 1:
        raise ValidationError(messages.local_index_without_range(name))
    index_hash = schema[0]["AttributeName"]
    if index_hash != table_hash:
        raise ValidationError(messages.local_index_other_hash(name, index_hash, table_hash))
    check_projection(index["Projection"])


def check_distinct_keys(index: dict[str, Any]) -> None:
    """Raise ValidationError if the key schema of a global index contains the same attribute more than once."""
    keys = names_of(index["KeySchema"])
    if len(set(keys)) < len(keys):
        raise ValidationError(messages.KEY_NAMES_REPEATED)


def check_global_index(index: dict[str, Any]) -> None:
    """Raise ValidationError unless a global index has one to four HASH keys, up to four RANGE keys and a valid
    projection.

    All key attributes must be different.
    """
    check_distinct_keys(index)
    schema = index["KeySchema"]
    kinds = [element["KeyType"] for element in schema]
    if kinds[0] != "HASH":
        raise ValidationError(messages.FIRST_KEY_NOT_HASH)
    if kinds != sorted(kinds):  # HASH sorts before RANGE
        raise ValidationError(messages.HASH_AFTER_RANGE)
    for role in ("HASH", "RANGE"):
        if kinds.count(role) > limits.KEY_ATTRIBUTES_PER_ROLE:
            raise ValidationError(messages.too_many_key_attributes(role))
    check_projection(index["Projection"])


def check_projection(projection: dict[str, Any]) -> None:
    """Raise ValidationError if the projection is invalid.

    NonKeyAttributes are required for the projection type INCLUDE and not allowed for other types.
    """
    kind: str | None = projection.get("ProjectionType")
    attribute_names: list[str] | None = projection.get("NonKeyAttributes")
    if kind is None:
        raise ValidationError(messages.PROJECTION_TYPE_MISSING)
    if kind != "INCLUDE" and attribute_names is not None:
        raise ValidationError(messages.non_key_attributes_unwanted(kind))
    if kind == "INCLUDE" and attribute_names is None:
        raise ValidationError(messages.NON_KEY_ATTRIBUTES_MISSING)
    names: set[str] = set()
    for name in attribute_names or ():
        if name in names:
            raise ValidationError(messages.projected_twice(name))
        names.add(name)


def check_stream(specification: dict[str, Any] | None, *, of_new_table: bool) -> None:
    """Raise ValidationError if the stream specification is invalid.

    A view type is required to enable the stream and not allowed otherwise. The error message for a new table
    (`of_new_table` is True) differs from the message for an existing table.
    """
    if specification is None:
        return
    enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if enabled and view is None:
        raise ValidationError(messages.NEW_STREAM_VIEW_MISSING if of_new_table else messages.STREAM_VIEW_MISSING)
    if not enabled and view is not None:
        raise ValidationError(messages.NEW_STREAM_VIEW_UNWANTED if of_new_table else messages.STREAM_VIEW_UNWANTED)


def check_table_class(table_class: str | None) -> None:
    """Raise ValidationError for an unknown table class. The error message differs from the message for other enum
    parameters.
    """
    if table_class is not None and table_class not in _TABLE_CLASSES:
        raise ValidationError(messages.TABLE_CLASS_UNKNOWN)


_MAX_UNITS = 1_000_000_000_000  # the service's technical limit, far above any quota
_UNITS = ("ReadCapacityUnits", "WriteCapacityUnits")


def with_billing_mode(request: dict[str, Any]) -> dict[str, Any]:
    """Return the request with the parameter TableThroughputMode, an alias of BillingMode, renamed to BillingMode.

    If the request has both parameters, the value of BillingMode is used. The alias was observed in DynamoDB in August
    2026. The public service model does not contain it.
    """
    if "TableThroughputMode" not in request:
        return request
    rest = {name: value for name, value in request.items() if name != "TableThroughputMode"}
    return {**rest, "BillingMode": request.get("BillingMode") or request["TableThroughputMode"]}


def check_table_capacity(request: dict[str, Any], billing_mode: str) -> None:
    """Raise ValidationError unless the provisioned and maximum capacity units in the request match the billing mode of
    a new table.
    """
    throughput = request.get("ProvisionedThroughput")
    if billing_mode == PROVISIONED:
        if throughput is None:
            raise ValidationError(messages.UNITS_MISSING)
        _check_no_maxima(request.get("OnDemandThroughput"))
    elif throughput is not None:
        raise ValidationError(messages.UNITS_UNWANTED)
    check_bounds(throughput)


def check_switch(request: dict[str, Any], billing_mode: str) -> None:
    """Raise ValidationError unless the provisioned capacity units in the request match the new billing mode of a table.

    Capacity units are required for PROVISIONED and not allowed for PAY_PER_REQUEST.
    """
    throughput = request.get("ProvisionedThroughput")
    if billing_mode == PROVISIONED and throughput is None:
        raise ValidationError(messages.SWITCH_UNITS_MISSING)
    if billing_mode != PROVISIONED and throughput is not None:
        raise ValidationError(messages.SWITCH_UNITS_UNWANTED)
    check_bounds(throughput)


def check_index_capacity(index: dict[str, Any], billing_mode: str) -> None:
    """Raise ValidationError unless the provisioned and maximum capacity units of a new index match the billing mode of
    its table.
    """
    throughput, name = index.get("ProvisionedThroughput"), index["IndexName"]
    if billing_mode == PROVISIONED:
        if throughput is None:
            raise ValidationError(messages.index_units_missing(name))
        _check_no_maxima(index.get("OnDemandThroughput"), name)
    if billing_mode != PROVISIONED and throughput is not None:
        raise ValidationError(messages.index_units_unwanted(name))
    check_bounds(throughput, name)


def _check_no_maxima(maxima: dict[str, Any] | None, index: str | None = None) -> None:
    for member in MAXIMA:
        if (maxima or {}).get(member) is not None:
            raise ValidationError(messages.maximum_unwanted(member, index))


def check_bounds(throughput: dict[str, Any] | None, index: str | None = None) -> None:
    """Raise ValidationError if the provisioned capacity units exceed the highest number that DynamoDB accepts for any
    account.

    `index` is the name of the index to which the capacity units belong, or None for a table.
    """
    excess = _beyond_bounds(throughput)
    if excess is not None:
        member, units = excess
        raise ValidationError(messages.out_of_bounds(units, member, index))


def check_known_index(throughput: dict[str, Any] | None) -> None:
    """Raise ValidationError if the provisioned capacity units for an existing index exceed the highest number that
    DynamoDB accepts.

    DynamoDB performs this check after it has found the table.
    """
    if _beyond_bounds(throughput) is not None:
        raise ValidationError(messages.INDEX_UPDATE_BLOCKED)


def _beyond_bounds(throughput: dict[str, Any] | None) -> tuple[str, int] | None:
    """Return the name and value of the first capacity member that exceeds the highest number that DynamoDB accepts. If
    none of them does, return None.
    """
    for member in _UNITS:
        if throughput is not None and throughput[member] > _MAX_UNITS:
            return member, throughput[member]
    return None
