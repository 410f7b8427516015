"""What requests say of a table and its indexes: keys, projections, capacity, the same when made and when added later.

Source: API reference, CreateTable, CreateGlobalSecondaryIndexAction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyplan.design.schema import Index, Schema
from keyplan.design.workload import OnDemand, Provisioned

Request = dict[str, Any]


def index_request(index: Index, schema: Schema) -> Request:
    """An index, as it is created with its table or, if it is global, in one that is there."""
    made: Request = {
        "IndexName": index.name,
        "KeySchema": key_schema(index.partition, index.sort),
        "Projection": _projection(index),
    }
    if index.kind == "GSI" and schema.provisioned is not None:
        made["ProvisionedThroughput"] = capacity_units(index.billing or schema.provisioned)
    warm = warm_throughput(schema)
    if index.kind == "GSI" and warm is not None:
        made["WarmThroughput"] = warm
    return made


def key_schema(partition: Sequence[str], sort: Sequence[str]) -> list[Request]:
    """The attributes of a key, partition first."""
    return [{"AttributeName": name, "KeyType": "HASH"} for name in partition] + [
        {"AttributeName": name, "KeyType": "RANGE"} for name in sort
    ]


def capacity_units(bought: Provisioned) -> Request:
    """What is bought by the hour."""
    return {"ReadCapacityUnits": bought.read, "WriteCapacityUnits": bought.write}


def warm_throughput(schema: Schema) -> Request | None:
    """What is to be served at once, where that is more than any new table serves."""
    if not isinstance(schema.billing, OnDemand) or schema.billing.served == OnDemand().served:
        return None
    read, write = schema.billing.served
    return {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}


def _projection(index: Index) -> Request:
    if isinstance(index.project, tuple):
        return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(index.project)}
    return {"ProjectionType": "KEYS_ONLY" if index.project == "keys" else "ALL"}
