"""Exports a design's tables as a Terraform configuration in JSON syntax (.tf.json).

Sources: developer.hashicorp.com/terraform/language/syntax/json (blocks, expressions) and .../resources/syntax
(identifiers, lifecycle); registry.terraform.io/providers/hashicorp/aws, resource aws_dynamodb_table (arguments), and
the provider's change log (versions that added them).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from keyplan.design.declaring.design import Design
from keyplan.export.resources import TableResource, in_json, unique_identifier

TYPE = "aws_dynamodb_table"
_ANY_VERSION, _NEXT_MAJOR = (5, 0, 0), "7.0.0"
_WARM_VERSION = (6, 13, 0)
"""The first provider version that supports warm_throughput."""
_KEY_SCHEMA_VERSION = (6, 37, 0)
"""The first provider version that handles index keys with several attributes correctly.

The argument key_schema was added in 6.29.0, but every plan contained changes, even directly after the configuration had
been applied (issue 46513). Before 6.37.0, the removal of such an index removed all indexes of the table (issue 46601).
"""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def configuration(design: Design, tables: Sequence[TableResource]) -> str:
    """Return the Terraform configuration for the tables of a design as JSON."""
    resources = {identifier(table.table.name): _table(table) for table in tables}
    provider = {"source": "hashicorp/aws", "version": f">= {_version(tables)}, < {_NEXT_MAJOR}"}
    return in_json(
        {
            "//": f"Tables of the design {design.name}",
            "terraform": {"required_providers": {"aws": provider}},
            "resource": {TYPE: resources},
            "output": {name: output for table in tables for name, output in _outputs(table)},
        }
    )


def identifier(name: str) -> str:
    """Return the Terraform identifier of a table: its name, if this is a valid identifier, or an identifier derived
    from it.
    """
    return unique_identifier(name, _plain, str)


def _plain(name: str) -> str:
    if _IDENTIFIER.fullmatch(name):
        return name
    return "table_" + re.sub(r"[^A-Za-z0-9_-]", "_", name)


def literal(text: str) -> str:
    """Escape ${ and %{ in a string, because they start a template sequence in Terraform."""
    return text.replace("${", "$${").replace("%{", "%%{")


def _version(tables: Sequence[TableResource]) -> str:
    """Return the lowest provider version that supports all arguments in the configuration."""
    versions = [_ANY_VERSION]
    versions += [_WARM_VERSION for table in tables if "WarmThroughput" in table.request]
    versions += [_KEY_SCHEMA_VERSION for table in tables if _has_long_keys(table)]
    return ".".join(map(str, max(versions)))


def _has_long_keys(table: TableResource) -> bool:
    """Return True if an index has several partition key attributes or several sort key attributes.

    All indexes of the table must then use key_schema.
    """
    return any(len(index.partition) > 1 or len(index.sort) > 1 for index in table.table.schema.indexes)


def _table(table: TableResource) -> dict[str, Any]:
    request = table.request
    block: dict[str, Any] = {
        "name": request["TableName"],
        **_key(request["KeySchema"]),
        "attribute": [
            {"name": literal(attribute["AttributeName"]), "type": attribute["AttributeType"]}
            for attribute in request["AttributeDefinitions"]
        ],
        "billing_mode": request["BillingMode"],
        **_capacity(request),
    }
    long_keys = _has_long_keys(table)
    if globals_ := request.get("GlobalSecondaryIndexes"):
        block["global_secondary_index"] = [_global_index(index, long_keys=long_keys) for index in globals_]
    if locals_ := request.get("LocalSecondaryIndexes"):
        block["local_secondary_index"] = [_local_index(index) for index in locals_]
    if "StreamSpecification" in request:
        block |= {"stream_enabled": True, "stream_view_type": request["StreamSpecification"]["StreamViewType"]}
    if table.ttl is not None:
        block["ttl"] = {"attribute_name": literal(table.ttl), "enabled": True}
    if table.recovers:
        block["point_in_time_recovery"] = {"enabled": True}
    if "TableClass" in request:
        block["table_class"] = request["TableClass"]
    if request.get("DeletionProtectionEnabled"):
        block["deletion_protection_enabled"] = True
    return {**block, "lifecycle": {"prevent_destroy": True}}


def _key(key_schema: Sequence[Mapping[str, str]]) -> dict[str, str]:
    roles = {"HASH": "hash_key", "RANGE": "range_key"}
    return {roles[element["KeyType"]]: literal(element["AttributeName"]) for element in key_schema}


def _capacity(request: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if throughput := request.get("ProvisionedThroughput"):
        arguments |= {
            "read_capacity": throughput["ReadCapacityUnits"],
            "write_capacity": throughput["WriteCapacityUnits"],
        }
    if warm_throughput := request.get("WarmThroughput"):
        arguments["warm_throughput"] = {
            "read_units_per_second": warm_throughput["ReadUnitsPerSecond"],
            "write_units_per_second": warm_throughput["WriteUnitsPerSecond"],
        }
    return arguments


def _global_index(index: Mapping[str, Any], *, long_keys: bool) -> dict[str, Any]:
    key_schema = index["KeySchema"]
    key: dict[str, Any] = _key(key_schema)
    if long_keys:
        key = {
            "key_schema": [
                {"attribute_name": literal(element["AttributeName"]), "key_type": element["KeyType"]}
                for element in key_schema
            ]
        }
    return {"name": index["IndexName"], **key, **_projection(index), **_capacity(index)}


def _local_index(index: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": index["IndexName"], "range_key": _key(index["KeySchema"])["range_key"], **_projection(index)}


def _projection(index: Mapping[str, Any]) -> dict[str, Any]:
    projection = index["Projection"]
    arguments: dict[str, Any] = {"projection_type": projection["ProjectionType"]}
    if "NonKeyAttributes" in projection:
        arguments["non_key_attributes"] = [literal(name) for name in projection["NonKeyAttributes"]]
    return arguments


def _outputs(table: TableResource) -> Iterator[tuple[str, dict[str, str]]]:
    name, resource_id = table.name, identifier(table.table.name)
    outputs = [("name", "name", "Name of table"), ("arn", "arn", "ARN of table")]
    if table.table.schema.stream is not None:
        outputs.append(("stream", "stream_arn", "ARN of the stream of table"))
    for suffix, attribute, description in outputs:
        value = f"${{{TYPE}.{resource_id}.{attribute}}}"
        yield f"{resource_id}_{suffix}", {"description": f"{description} {name}", "value": value}
