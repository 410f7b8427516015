"""Expired items that stand in the way of an update that may create: they are removed, so that it begins anew.

A put replaces the whole of an expired item. An update would keep what it does not change, and wake the rest.
"""

from __future__ import annotations

from keyplan.client.codec import reader_of
from keyplan.client.context import Context
from keyplan.client.outcomes import CONDITION
from keyplan.client.sending import send
from keyplan.client.steps import Program, Request
from keyplan.design.plan import Plan
from keyplan.design.requests_guards import NOW, expiry_of
from keyplan.design.requests_items import Item
from keyplan.design.requests_sources import Arguments
from keyplan.errors import ServiceError


def is_in_the_way(plan: Plan, arguments: Arguments, found: Item | None) -> bool:
    """Whether an update that may create found an item that has expired."""
    if plan.operation != "UpdateItem" or plan.exists != "may" or found is None:
        return False
    return reader_of(plan.entity).has_expired(found, arguments[NOW])


def clear(context: Context, plan: Plan, arguments: Arguments, request: Request) -> Program[None]:
    """Remove the expired item of an update's request, if it is still there and still expired."""
    delete = {
        "TableName": request["TableName"],
        "Key": request["Key"],
        "ConditionExpression": "#ttl <= :now",
        "ExpressionAttributeNames": {"#ttl": expiry_of(plan.entity)},
        "ExpressionAttributeValues": {":now": {"N": str(arguments[NOW])}},
    }
    try:
        yield from send(context, "DeleteItem", delete)
    except ServiceError as error:
        if error.code != CONDITION:  # else another was there first
            raise
