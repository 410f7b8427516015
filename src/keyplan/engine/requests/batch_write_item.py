"""BatchWriteItem: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.acceptor import acceptor
from keyplan.dynamodb.shapes.constraints import key_fault
from keyplan.dynamodb.shapes.model import LATE_ITEM, Layer, List, Map, Structure
from keyplan.dynamodb.shapes.rendering import shown
from keyplan.engine.requests import members
from keyplan.errors import ValidationError

_WRITE = Structure(
    "WriteRequest",
    {
        "PutRequest": Structure("PutRequest", {"Item": LATE_ITEM}, required=("Item",)),
        "DeleteRequest": Structure("DeleteRequest", {"Key": LATE_ITEM}, required=("Key",)),
    },
)
_REQUEST_ITEMS = Map(List(_WRITE), min=1, max=limits.BATCH_WRITE_ITEMS)
_NAMED_ITEMS = Map(_REQUEST_ITEMS.value, keys=members.MAP_TABLE_NAME)
_is_surely_name = acceptor(members.MAP_TABLE_NAME, wire=True)
_REQUESTS_OF_A_TABLE = [messages.max_length(limits.BATCH_WRITE_ITEMS), messages.min_length(1)]

SHAPE = Structure(
    "BatchWriteItemInput",
    {
        "RequestItems": _REQUEST_ITEMS,
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "ReturnItemCollectionMetrics": members.RETURN_ITEM_COLLECTION_METRICS,
    },
    required=("RequestItems",),
    layer=Layer.FRONT,
)


def check(request: dict[str, Any]) -> None:
    """Names of tables and how many writes each has (only now: other faults come alone), then each write, then all."""
    items = request["RequestItems"]
    faults = []
    if not all(map(_is_surely_name, items)):
        fault = key_fault(_NAMED_ITEMS, items, "requestItems")
        if fault is not None:
            faults.append(fault)
    if not all(1 <= len(requests) <= limits.BATCH_WRITE_ITEMS for requests in items.values()):
        text = messages.map_values(_REQUESTS_OF_A_TABLE)
        faults.append(messages.constraint(shown(_NAMED_ITEMS, items), "requestItems", text))
    if faults:
        raise ValidationError(messages.detected(faults))
    writes = 0
    for requests in items.values():
        for write in requests:
            if (write.get("PutRequest") is None) is (write.get("DeleteRequest") is None):
                raise ValidationError(messages.SEVERAL_WRITES_IN_ONE)
        writes += len(requests)
    if writes > limits.BATCH_WRITE_ITEMS:
        raise ValidationError(messages.too_many_items("BatchWriteItem"))
