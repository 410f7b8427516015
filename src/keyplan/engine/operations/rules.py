"""Constraints on request parameters that several operations share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keyplan.dynamodb.messages import expressions as expression_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.dynamodb.values.attribute import check_attribute_names
from keyplan.engine.items.conditions import check_placeholder_maps, check_placeholders_usable
from keyplan.engine.tables.catalog import WHOLE_TABLE_NAME
from keyplan.errors import AccessDeniedError, ValidationError


def prefixed_error(error: ValidationError) -> ValidationError:
    """Return a copy of the error, with the prefix that DynamoDB adds to error messages of PutItem, UpdateItem and
    DeleteItem.
    """
    return ValidationError(messages.enveloped(error.message), **error.members)


def check_mixture(
    request: Mapping[str, Any], expressions: Sequence[str], legacy_parameters: Sequence[str]
) -> list[str]:
    """Return the names in `expressions` that are parameters of the request.

    Raises ValidationError if the request contains at least one of these parameters and at least one of the
    `legacy_parameters`.
    """
    parameters_given = [name for name in expressions if request.get(name) is not None]
    if parameters_given:
        mixed = [name for name in legacy_parameters if request.get(name) is not None]
        if mixed:
            raise ValidationError(messages.mixed_parameters(mixed, parameters_given))
    return parameters_given


def check_attributes_to_get(request: Mapping[str, Any]) -> None:
    """Raise ValidationError if a name in AttributesToGet is empty, too long or repeated."""
    names: set[str] = set()
    check_attribute_names(request.get("AttributesToGet") or ())
    for name in request.get("AttributesToGet") or ():
        if name in names:
            raise ValidationError(expression_messages.attribute_twice(name))
        names.add(name)


def check_select(request: Mapping[str, Any]) -> None:
    """Raise ValidationError if the request's Select does not match its projection parameters, or requires an index
    although the request does not name an index.

    The message has the same prefix as errors of PutItem. For Scan, DynamoDB introduced this prefix in September 2026,
    one Region after another.
    """
    select = request.get("Select")
    if select is None:
        return
    projections = [name for name in ("AttributesToGet", "ProjectionExpression") if request.get(name) is not None]
    if select == "SPECIFIC_ATTRIBUTES":
        if not projections:
            raise ValidationError(messages.enveloped(messages.SPECIFIC_ATTRIBUTES_MISSING))
    elif projections:
        raise ValidationError(messages.enveloped(messages.projection_with_select(projections[0], select)))
    elif select == "ALL_PROJECTED_ATTRIBUTES" and request.get("IndexName") is None:
        raise ValidationError(messages.enveloped(messages.ALL_PROJECTED_WITHOUT_INDEX))


def check_conditional_operator(request: Mapping[str, Any], conditions: str) -> None:
    """Raise ValidationError if the request has a ConditionalOperator, but fewer than two conditions in the parameter
    named `conditions`.
    """
    if request.get("ConditionalOperator") is None:
        return
    condition_map = request.get(conditions)
    if not condition_map:
        raise ValidationError(expression_messages.CONDITIONAL_OPERATOR_ALONE)
    if len(condition_map) == 1:
        raise ValidationError(expression_messages.CONDITIONAL_OPERATOR_SINGLE)


_OLD_OR_NONE = (None, "ALL_OLD", "NONE")
WITHOUT_RULES = frozenset(
    (
        "TableName",
        "Item",
        "Key",
        "ReturnConsumedCapacity",
        "ReturnItemCollectionMetrics",
        "ReturnValuesOnConditionCheckFailure",
    )
)
"""Parameters of PutItem and DeleteItem that do not depend on other parameters."""

_LEGACY_PARAMETERS = ("AttributeUpdates", "Expected", "ConditionalOperator")


def check_replacing(request: dict[str, Any]) -> None:
    """Raise ValidationError if a PutItem or DeleteItem request contains parameters that cannot be combined."""
    if request.get("ConditionExpression") is None or not request.keys().isdisjoint(_LEGACY_PARAMETERS):
        _check_parameters(request, ("ConditionExpression",), _LEGACY_PARAMETERS[1:])


def check_replacing_late(request: dict[str, Any]) -> None:
    """Raise ValidationError if the ReturnValues, the conditions or the placeholders of a PutItem or DeleteItem request
    are invalid.
    """
    if request.get("ReturnValues") not in _OLD_OR_NONE:
        raise ValidationError(messages.RETURN_VALUES_OLD_OR_NONE)
    check_conditions(request)


def check_updating(request: dict[str, Any]) -> None:
    """Raise ValidationError if an UpdateItem request contains parameters that cannot be combined."""
    if request.get("UpdateExpression") is None or not request.keys().isdisjoint(_LEGACY_PARAMETERS):
        _check_parameters(request, ("UpdateExpression", "ConditionExpression"), _LEGACY_PARAMETERS)


def check_conditions(request: dict[str, Any]) -> None:
    """Raise ValidationError if the legacy conditions or the placeholders of a PutItem, UpdateItem or DeleteItem request
    are invalid.
    """
    check_conditional_operator(request, "Expected")
    check_placeholder_maps(request)


def _check_parameters(
    request: dict[str, Any], expressions: tuple[str, ...], legacy_parameters: tuple[str, ...]
) -> None:
    members = check_mixture(request, expressions, legacy_parameters)
    check_placeholders_usable(request, members, value_expressions=expressions)


_RESOURCE_ARN = re.compile(r"arn:[a-z-]+:(?P<service>[^:]*):[a-z0-9-]*:[0-9]*:(?P<resource>.*)")
_TABLE_RESOURCE = re.compile(rf"table/{WHOLE_TABLE_NAME}(?:/stream/.+)?")
_INDEX_RESOURCE = re.compile(r"table/[^/]+/index/.+")
_TABLE_OF_ANY_NAME = re.compile(r"table/[^/]*")


def check_resource_arn(arn: str) -> None:
    """Raise ValidationError unless the string is the ARN of a table or stream."""
    if not arn.startswith("arn:"):
        raise ValidationError(messages.no_arn(arn))
    parts = _RESOURCE_ARN.fullmatch(arn)
    if parts is None:
        raise ValidationError(messages.invalid_arn(arn))
    resource = parts["resource"]
    if parts["service"] != "dynamodb":
        raise ValidationError(messages.foreign_arn(arn))
    if _TABLE_RESOURCE.fullmatch(resource):
        return
    if _INDEX_RESOURCE.fullmatch(resource):
        raise ValidationError(messages.index_arn(arn))
    raise ValidationError(
        messages.invalid_arn(arn) if _TABLE_OF_ANY_NAME.fullmatch(resource) else messages.foreign_arn(arn)
    )


_TABLE_ARN = re.compile(
    r"arn:(?P<partition>[^:]*):(?P<service>[^:]*):(?P<region>[^:]*):(?P<account>[^:]*):table/(?P<name>[^/]*)(?P<rest>/.*)?"
)
_TABLE_NAME = re.compile(WHOLE_TABLE_NAME)


class TableArn(NamedTuple):
    """The parts of the ARN of a table, or of a resource that belongs to a table, such as an export."""

    region: str
    account: str
    name: str
    rest: str


def parse_table_arn(arn: str) -> TableArn | None:
    """Return the parts of the ARN of a table or of a resource that belongs to a table. Return None for any other
    string.

    Raises AccessDeniedError for an ARN of another service or partition.
    """
    match = _TABLE_ARN.fullmatch(arn)
    if match is None:
        return None
    if match["partition"] != "aws" or match["service"] != "dynamodb":
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    return TableArn(match["region"], match["account"], match["name"], match["rest"] or "")


def check_job_arn(arn: str, kind: str, account: str, invalid: str) -> TableArn:
    """Return the parts of the ARN of an export or import. `kind` is the resource type: "export" or "import".

    Raises AccessDeniedError for an ARN of another account, and ValidationError with the message `invalid` if the string
    is not an ARN of this resource type.
    """
    parts = parse_table_arn(arn)
    if parts is not None and parts.account != account:
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    if parts is None or not _TABLE_NAME.fullmatch(parts.name) or not re.fullmatch(f"/{kind}/[^/]+", parts.rest):
        raise ValidationError(invalid)
    return parts
