"""Rules that several operations' requests share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keyplan.dynamodb.expressions.compiled import check_names as check_name_placeholders
from keyplan.dynamodb.expressions.compiled import check_values as check_value_placeholders
from keyplan.dynamodb.messages import expressions as expression_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.values.attribute import check_attribute_names
from keyplan.errors import ValidationError


def enveloped(error: ValidationError) -> ValidationError:
    """The fault in the envelope of PutItem, UpdateItem and DeleteItem."""
    return ValidationError(messages.enveloped(error.message), **error.members)


def check_mixture(request: Mapping[str, Any], expressions: Sequence[str], others: Sequence[str]) -> list[str]:
    """Refuse expressions beside the parameters they replaced; the expressions that are given."""
    given = [name for name in expressions if request.get(name) is not None]
    if given:
        mixed = [name for name in others if request.get(name) is not None]
        if mixed:
            raise ValidationError(messages.mixed_parameters(mixed, given))
    return given


def check_placeholders_wanted(
    request: Mapping[str, Any], given: Sequence[str], *, value_expressions: Sequence[str]
) -> None:
    """Refuse placeholders where no expression could use them."""
    if request.get("ExpressionAttributeNames") is not None and not given:
        raise ValidationError(messages.only_with_expressions("ExpressionAttributeNames"))
    if request.get("ExpressionAttributeValues") is not None and not any(name in given for name in value_expressions):
        raise ValidationError(messages.only_with_expressions("ExpressionAttributeValues"))


def check_placeholders(request: Mapping[str, Any]) -> None:
    """Refuse empty maps of placeholders and placeholders that cannot stand in an expression."""
    check_name_placeholders(request.get("ExpressionAttributeNames"))
    check_value_placeholders(request.get("ExpressionAttributeValues"))


def check_attributes_to_get(request: Mapping[str, Any]) -> None:
    """Raise ValidationError for a name that is empty or too long, and for an attribute that is named twice."""
    seen: set[str] = set()
    check_attribute_names(request.get("AttributesToGet") or ())
    for name in request.get("AttributesToGet") or ():
        if name in seen:
            raise ValidationError(expression_messages.attribute_twice(name))
        seen.add(name)


def check_select(request: Mapping[str, Any]) -> None:
    """Refuse a Select that does not fit the projection parameters or the lack of an index.

    Query and Scan put the fault in an envelope; Scan does so since September 2026, Region by Region.
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
    """Refuse a ConditionalOperator with nothing to combine."""
    if request.get("ConditionalOperator") is None:
        return
    combined = request.get(conditions)
    if not combined:
        raise ValidationError(expression_messages.CONDITIONAL_OPERATOR_ALONE)
    if len(combined) == 1:
        raise ValidationError(expression_messages.CONDITIONAL_OPERATOR_SINGLE)
