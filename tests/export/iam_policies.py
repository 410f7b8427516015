"""What a policy allows: its Allow statements held against requests, as IAM evaluates them.

Only what exported policies contain: actions, resources with wildcards, StringLike and StringEquals with
ForAllValues and ForAnyValue, Null, and policy variables.

Sources: IAM user guide, "Single-valued vs. multivalued context keys" (ForAllValues is true of a missing key,
ForAnyValue false), "IAM JSON policy elements: Condition operators: Null", "IAM policy elements: Variables and tags";
DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control" (what each key holds).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from keyplan.design.schema import Schema

ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/"
_KEYS = (
    "dynamodb:LeadingKeys",
    "dynamodb:SecondPartitionKeyValues",
    "dynamodb:ThirdPartitionKeyValues",
    "dynamodb:FourthPartitionKeyValues",
)
_PARTS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}


@dataclass(frozen=True)
class AccessRequest:
    """One action that a request needs, on one resource, with the context's keys."""

    action: str
    resource: str
    context: Mapping[str, tuple[str, ...]]


def allows(policy: Mapping[str, Any], request: AccessRequest, principal: Mapping[str, str] | None = None) -> bool:
    """Whether some statement allows it. `principal`: the variables that are known of the caller."""
    return any(_matches(statement, request, principal or {}) for statement in policy["Statement"])


def _matches(statement: Mapping[str, Any], request: AccessRequest, principal: Mapping[str, str]) -> bool:
    assert statement["Effect"] == "Allow"
    if f"dynamodb:{request.action}" not in statement["Action"]:
        return False
    if not any(_matches_pattern(pattern, request.resource, {}) for pattern in statement["Resource"]):
        return False
    return all(
        _holds(operator, request.context.get(key), actual_key, principal)
        for operator, keys in statement.get("Condition", {}).items()
        for key, actual_key in keys.items()
    )


def _holds(operator: str, actual: Sequence[str] | None, condition_values: Any, principal: Mapping[str, str]) -> bool:
    values = condition_values if isinstance(condition_values, list) else [condition_values]
    quantifier, _, test = operator.rpartition(":")
    if test == "Null":
        return (not actual) == (values == ["true"])
    assert test in {"StringLike", "StringEquals"}, operator

    def fits(value: str) -> bool:
        if test == "StringEquals":
            return value in values
        return any(_matches_pattern(pattern, value, principal) for pattern in values)

    if quantifier == "ForAllValues":
        return all(map(fits, actual or ()))
    assert quantifier in {"ForAnyValue", ""}, operator
    return any(map(fits, actual or ()))


def _matches_pattern(pattern: str, value: str, variables: Mapping[str, str]) -> bool:
    matcher = _matcher(pattern, tuple(variables.items()))
    return matcher is not None and matcher.fullmatch(value) is not None


@cache
def _matcher(pattern: str, variables: tuple[tuple[str, str], ...]) -> re.Pattern[str] | None:
    values, regex = dict(variables), ""
    for variable, sign in re.findall(r"\$\{([^{}]*)\}|(.)", pattern, re.DOTALL):
        if variable in {"*", "?", "$"}:
            regex += re.escape(variable)
        elif variable:
            if variable not in values:
                return None
            regex += re.escape(values[variable])
        else:
            regex += {"*": ".*", "?": "."}.get(sign, re.escape(sign))
    return re.compile(regex, re.DOTALL)


# Permissions that a request requires.


def access_requests(
    operation: str, request: Mapping[str, Any], schemas: Mapping[str, Schema]
) -> Iterator[list[AccessRequest]]:
    """Yield the permissions of a request twice: for each item separately, and for all items of one action together.

    AWS's documentation does not say which of the two the service checks.
    """
    single = list(_single(operation, request, schemas))
    yield single
    contexts: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for member in single:
        context = contexts.setdefault((member.action, member.resource), {})
        for key, values in member.context.items():
            context[key] = tuple(dict.fromkeys((*context.get(key, ()), *values)))
    yield [AccessRequest(action, resource, context) for (action, resource), context in contexts.items()]


def _single(operation: str, request: Mapping[str, Any], schemas: Mapping[str, Schema]) -> Iterator[AccessRequest]:
    if operation in {"TransactWriteItems", "TransactGetItems"}:
        for action in request["TransactItems"]:
            ((kind, members),) = action.items()
            yield _item({"Get": "GetItem", **_PARTS}[kind], members, schemas, operation)
    elif "RequestItems" in request:
        for members in _batched(request["RequestItems"]):
            yield _item(operation, members, schemas)
    elif operation in {"Query", "Scan"}:
        yield _range(operation, request, schemas)
    elif operation.endswith("Item"):
        yield _item(operation, request, schemas)
    else:
        yield AccessRequest(operation, _resource(request), {})


def _batched(by_table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for table, requests in by_table.items():
        if isinstance(requests, list):
            yield from ({"TableName": table, **members} for write in requests for members in write.values())
        else:
            yield from ({"TableName": table, "Key": key} for key in requests["Keys"])


def _resource(request: Mapping[str, Any]) -> str:
    """Return the table or stream that is described or read; a list of streams is allowed for any table, or for none."""
    return str(request["StreamArn"]) if "StreamArn" in request else ARN + request["TableName"]


def _item(
    action: str, members: Mapping[str, Any], schemas: Mapping[str, Schema], enclosing: str | None = None
) -> AccessRequest:
    table = members["TableName"]
    item = members.get("Key") or members["Item"]
    context = {_KEYS[0]: (_text(item[schemas[table].partition]),)}
    if enclosing is not None:
        context["dynamodb:EnclosingOperation"] = (enclosing,)
    if action in {"GetItem", "BatchGetItem"}:
        context["dynamodb:Select"] = ("ALL_ATTRIBUTES",)
    return AccessRequest(action, ARN + table, context)


def _range(operation: str, request: Mapping[str, Any], schemas: Mapping[str, Schema]) -> AccessRequest:
    table, name = request["TableName"], request.get("IndexName")
    index = None if name is None else schemas[table].index(name)
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
    context: dict[str, tuple[str, ...]] = {"dynamodb:Select": (_select(request),)}
    context["dynamodb:Attributes"] = tuple(names.values())
    if operation == "Query":
        matches = re.findall(r"([#\w]+) = (:\w+)", request["KeyConditionExpression"])
        equal = {names.get(placeholder, placeholder): values[value] for placeholder, value in matches}
        partition = (schemas[table].partition,) if index is None else index.partition
        context |= {key: (_text(equal[placeholder]),) for key, placeholder in zip(_KEYS, partition, strict=False)}
    return AccessRequest(operation, ARN + table + ("" if name is None else f"/index/{name}"), context)


def _select(request: Mapping[str, Any]) -> str:
    if "Select" in request:
        return str(request["Select"])
    if "ProjectionExpression" in request:
        return "SPECIFIC_ATTRIBUTES"
    return "ALL_PROJECTED_ATTRIBUTES" if "IndexName" in request else "ALL_ATTRIBUTES"


def _text(value: Mapping[str, Any]) -> str:
    (content,) = value.values()
    return content if isinstance(content, str) else content.hex()
