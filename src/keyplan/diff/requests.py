"""The requests that change a table while it is used, as they go to the service.

Source: API reference, UpdateTable, UpdateTimeToLive, UpdateContinuousBackups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from keyplan.design.requests_tables import Request, capacity_units, index_request
from keyplan.design.schema import Index, Schema, StreamView
from keyplan.design.workload import OnDemand, Provisioned


def create_index(schema: Schema, index: Index, types: Mapping[str, str], name: str | None = None) -> Request:
    """UpdateTable: a global index of a new design, of another name if one is given."""
    made = index_request(replace(index, name=name or index.name), schema)
    return {
        "TableName": schema.name,
        "AttributeDefinitions": [
            {"AttributeName": one, "AttributeType": types.get(one, "S")} for one in index.attributes
        ],
        "GlobalSecondaryIndexUpdates": [{"Create": made}],
    }


def delete_index(table: str, index: str) -> Request:
    """UpdateTable: without an index."""
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index}}]}


def capacity(table: str, bought: Provisioned) -> Request:
    """UpdateTable: other units of a provisioned table."""
    return {"TableName": table, "ProvisionedThroughput": capacity_units(bought)}


def index_capacity(table: str, index: str, bought: Provisioned) -> Request:
    """UpdateTable: other units of an index of a provisioned table."""
    update = {"IndexName": index, "ProvisionedThroughput": capacity_units(bought)}
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Update": update}]}


def on_demand(table: str) -> Request:
    """UpdateTable: paid by the request."""
    return {"TableName": table, "BillingMode": "PAY_PER_REQUEST"}


def provisioned(old: Schema, new: Schema, bought: Provisioned) -> Request:
    """UpdateTable: paid by the hour, with every index that is there at that moment."""
    own = {index.name: index.billing for index in new.indexes}
    updates = [
        {"Update": {"IndexName": index.name, "ProvisionedThroughput": capacity_units(own.get(index.name) or bought)}}
        for index in old.indexes
        if index.kind == "GSI"
    ]
    request = {"TableName": new.name, "BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity_units(bought)}
    return {**request, "GlobalSecondaryIndexUpdates": updates} if updates else request


def warm(table: str, was: OnDemand, now: OnDemand) -> Request:
    """UpdateTable: more that is served at once; what would be less is left."""
    return {"TableName": table, **_served(was, now)}


def index_warm(table: str, index: str, was: OnDemand, now: OnDemand) -> Request:
    """UpdateTable: more that an index serves at once."""
    update = {"IndexName": index, **_served(was, now)}
    return {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Update": update}]}


def _served(was: OnDemand, now: OnDemand) -> Request:
    read, write = map(max, was.served, now.served)
    return {"WarmThroughput": {"ReadUnitsPerSecond": read, "WriteUnitsPerSecond": write}}


def table_class(table: str, name: str) -> Request:
    """UpdateTable: another class."""
    return {"TableName": table, "TableClass": name}


def protection(table: str, is_on: bool) -> Request:
    """UpdateTable: protected from deletion, or not."""
    return {"TableName": table, "DeletionProtectionEnabled": is_on}


def recovery(table: str, is_on: bool) -> Request:
    """UpdateContinuousBackups: recovery to a point in time, or none."""
    return {"TableName": table, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": is_on}}


def stream(table: str, view: StreamView | None) -> Request:
    """UpdateTable: a stream, or none."""
    told = {"StreamEnabled": False} if view is None else {"StreamEnabled": True, "StreamViewType": view}
    return {"TableName": table, "StreamSpecification": told}


def expiry(table: str, attribute: str, is_on: bool) -> Request:
    """UpdateTimeToLive: expiry by an attribute, or by it no more."""
    return {"TableName": table, "TimeToLiveSpecification": {"Enabled": is_on, "AttributeName": attribute}}
