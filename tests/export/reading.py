"""Resources of infrastructure read back as the requests that make them, and tables drawn at random to write."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from hypothesis import strategies as st

from keyplan.design.declaring.tables import Table
from keyplan.design.schema import GSI, LSI, Index, StreamView, TableClass
from keyplan.design.workload import OnDemand, Provisioned


@dataclass(frozen=True)
class Settings:
    """What the service is asked for."""

    request: dict[str, Any]
    """CreateTable's."""
    ttl: str | None
    recovers: bool


def of_cloudformation(properties: Mapping[str, Any]) -> Settings:
    """Return the settings of CloudFormation properties, which are the request's members with three exceptions."""
    request = dict(properties)
    ttl = request.pop("TimeToLiveSpecification", None)
    recovery = request.pop("PointInTimeRecoverySpecification", None)
    if "StreamSpecification" in request:
        request["StreamSpecification"] = {"StreamEnabled": True, **request["StreamSpecification"]}
    assert ttl is None or ttl["Enabled"] is True
    recovers = recovery is not None and recovery["PointInTimeRecoveryEnabled"]
    return Settings(request, None if ttl is None else ttl["AttributeName"], recovers)


def of_terraform(block: Mapping[str, Any]) -> Settings:
    """Return the settings of a provider's block. Source: expand functions in internal/service/dynamodb."""
    request: dict[str, Any] = {
        "TableName": block["name"],
        "KeySchema": _key(block),
        "AttributeDefinitions": [
            {"AttributeName": _text(attribute["name"]), "AttributeType": attribute["type"]}
            for attribute in block["attribute"]
        ],
        "BillingMode": block["billing_mode"],
        **_capacity(block),
    }
    if "global_secondary_index" in block:
        request["GlobalSecondaryIndexes"] = [
            {"IndexName": index["name"], "KeySchema": _key(index), **_projection(index), **_capacity(index)}
            for index in block["global_secondary_index"]
        ]
    if "local_secondary_index" in block:
        request["LocalSecondaryIndexes"] = [
            {
                "IndexName": index["name"],
                "KeySchema": _key({"hash_key": block["hash_key"], "range_key": index["range_key"]}),
                **_projection(index),
            }
            for index in block["local_secondary_index"]
        ]
    if block.get("stream_enabled"):
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": block["stream_view_type"]}
    for argument, member in (
        ("table_class", "TableClass"),
        ("deletion_protection_enabled", "DeletionProtectionEnabled"),
    ):
        if argument in block:
            request[member] = block[argument]
    ttl = block.get("ttl")
    assert ttl is None or ttl["enabled"] is True
    recovers = bool(block.get("point_in_time_recovery", {}).get("enabled"))
    return Settings(request, None if ttl is None else _text(ttl["attribute_name"]), recovers)


def _text(text: str) -> str:
    """Return the value of a Terraform string, which must not contain a template."""
    assert re.search(r"(?<!\$)\$\{|(?<!%)%\{", text.replace("$${", "").replace("%%{", "")) is None, text
    return text.replace("$${", "${").replace("%%{", "%{")


def _key(block: Mapping[str, Any]) -> list[dict[str, str]]:
    if "key_schema" in block:
        assert "hash_key" not in block, "the provider takes one of both"
        return [
            {"AttributeName": _text(element["attribute_name"]), "KeyType": element["key_type"]}
            for element in block["key_schema"]
        ]
    properties = [{"AttributeName": _text(block["hash_key"]), "KeyType": "HASH"}]
    if "range_key" in block:
        properties.append({"AttributeName": _text(block["range_key"]), "KeyType": "RANGE"})
    return properties


def _capacity(block: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if "read_capacity" in block:
        throughput = {"ReadCapacityUnits": block["read_capacity"], "WriteCapacityUnits": block["write_capacity"]}
        properties["ProvisionedThroughput"] = throughput
    if "warm_throughput" in block:
        warm = block["warm_throughput"]
        properties["WarmThroughput"] = {
            "ReadUnitsPerSecond": warm["read_units_per_second"],
            "WriteUnitsPerSecond": warm["write_units_per_second"],
        }
    return properties


def _projection(block: Mapping[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = {"ProjectionType": block["projection_type"]}
    if "non_key_attributes" in block:
        properties["NonKeyAttributes"] = [_text(name) for name in block["non_key_attributes"]]
    return {"Projection": properties}


NAMES = st.text("abcAZ019_.-", min_size=3, max_size=12)
_ATTRIBUTES = st.sampled_from(["pk", "sk", "a", "b", "c d", "${e}", "%{f}", "g$", "tür", '"h"'])
_PROJECTIONS = st.sampled_from(["all", "keys", None]) | st.lists(_ATTRIBUTES, min_size=1, max_size=3, unique=True)
_CAPACITY = st.builds(Provisioned, read=st.integers(1, 9), write=st.integers(1, 9))


def _index(
    name: str, partition: Sequence[str], sort: Sequence[str], project: Any, billing: Provisioned | None
) -> Index:
    return GSI(name, pk=partition, sk=sort, project=project, billing=billing)


_GLOBAL = st.builds(
    _index,
    NAMES,
    st.lists(_ATTRIBUTES, min_size=1, max_size=4),
    st.lists(_ATTRIBUTES, max_size=4),
    _PROJECTIONS,
    st.none() | _CAPACITY,
)
_LOCAL = st.builds(lambda name, sort, project: LSI(name, sk=sort, project=project), NAMES, _ATTRIBUTES, _PROJECTIONS)
TABLES = st.builds(
    Table,
    NAMES,
    pk=_ATTRIBUTES,
    sk=st.none() | _ATTRIBUTES,
    indexes=st.lists(_GLOBAL | _LOCAL, max_size=4),
    ttl=st.none() | _ATTRIBUTES,
    stream=st.none() | st.sampled_from([view for view in get_args(StreamView) if view != "UNSTATED"]),
    billing=_CAPACITY | st.builds(OnDemand, warm_read=st.sampled_from([1, 12_000, 30_000])),
    table_class=st.sampled_from(get_args(TableClass)),
    point_in_time_recovery=st.booleans(),
    deletion_protection=st.booleans(),
)
"""Tables of every kind of setting, whether or not the service would make them."""
