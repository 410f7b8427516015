"""Conditions in write requests, compiled with their values in canonical form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keyplan.dynamodb.expressions.compiled import (
    CompiledCondition,
    check_names,
    check_placeholders,
    check_values,
    compile_condition,
)
from keyplan.dynamodb.expressions.legacy import compile_expected
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.messages import requests as request_messages
from keyplan.dynamodb.values.attribute import check_attribute_names, normalise, normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import InvalidValueError, Item
from keyplan.errors import ConditionalCheckFailedError, ValidationError

_NOTHING: Item = {}


class WriteCondition(NamedTuple):
    """A compiled condition and the values of its placeholders."""

    condition: CompiledCondition
    values: Item

    def require(self, item: Item | None, form: Form, on_failure: str | None) -> None:
        """Raise ConditionalCheckFailedError unless the item satisfies the condition. `item` is None if the item does
        not exist.

        `on_failure` is the request's ReturnValuesOnConditionCheckFailure. If it is "ALL_OLD", the error contains the
        item.
        """
        if self.condition.test(item if item is not None else _NOTHING, self.values):
            return
        if on_failure == "ALL_OLD" and item is not None:
            raise ConditionalCheckFailedError(messages.CONDITION_FAILED, Item=form.item(item))
        raise ConditionalCheckFailedError(messages.CONDITION_FAILED)


def request_values(request: dict[str, Any], form: Form) -> Item | None:
    """Return the request's ExpressionAttributeValues in canonical form, or None if the request has none."""
    return measured_values(request, form)[0]


def measured_values(request: dict[str, Any], form: Form) -> tuple[Item | None, int]:
    """Return the request's ExpressionAttributeValues in canonical form and their size in bytes.

    If the request has none, return None and 0.
    """
    values = request.get("ExpressionAttributeValues")
    return (None, 0) if values is None else normalise_item(values, wire=form.wire)


def request_values_older(request: dict[str, Any], form: Form) -> Item | None:
    """Return the request's ExpressionAttributeValues in canonical form, for operations that use DynamoDB's older
    validation code.

    The error messages of these operations name the invalid placeholder.
    """
    values = request.get("ExpressionAttributeValues")
    if values is None:
        return None
    try:
        return normalise_item(values, wire=form.wire)[0]
    except ValidationError:
        for key, value in values.items():
            try:
                normalise(value, wire=form.wire)
            except ValidationError as error:
                raise ValidationError(messages.value_invalid(older_wording(error), key)) from error
        raise


def older_wording(error: ValidationError) -> str:
    """Return an error's message in the wording of DynamoDB's older validation code."""
    return error.older if isinstance(error, InvalidValueError) else error.message


def write_guard(request: dict[str, Any], form: Form) -> WriteCondition | None:
    """Return the condition of a PutItem or DeleteItem request, or None if the request has no condition.

    Raises ValidationError if the condition is invalid or does not use all placeholders of the request. Such a request
    cannot contain any other expression that uses them.
    """
    text = request.get("ConditionExpression")
    if text is None:
        expected = request.get("Expected")
        if not expected:
            return None
        return WriteCondition(
            compile_expected(normalised_parameters(expected, form), request.get("ConditionalOperator")), _NOTHING
        )
    names, values = request.get("ExpressionAttributeNames"), request_values(request, form)
    condition = compile_condition(text, names, "ConditionExpression")
    condition.check(values)
    check_placeholders(names, values, condition.names_used, condition.values_used)
    return WriteCondition(condition, values or _NOTHING)


def normalised_parameters(parameters: dict[str, Any], form: Form) -> dict[str, Any]:
    """Return the given legacy parameters (Expected, filters, KeyConditions, AttributeUpdates) with their values in
    canonical form.
    """
    check_attribute_names(parameters)
    return {name: _normalised(parameter, form) for name, parameter in parameters.items()}


def _normalised(parameter: dict[str, Any], form: Form) -> dict[str, Any]:
    normalised_parameter = dict(parameter)
    if parameter.get("Value") is not None:
        normalised_parameter["Value"], _ = normalise(parameter["Value"], wire=form.wire)
    if parameter.get("AttributeValueList") is not None:
        normalised_parameter["AttributeValueList"] = [
            normalise(value, wire=form.wire)[0] for value in parameter["AttributeValueList"]
        ]
    return normalised_parameter


def check_placeholders_usable(
    request: Mapping[str, Any], expression_parameters: Sequence[str], *, value_expressions: Sequence[str]
) -> None:
    """Raise ValidationError if the request defines placeholders but does not have an expression that could use them.

    `expression_parameters` are the expression parameters that the request contains. `value_expressions` are the
    parameters whose expressions can contain value placeholders.
    """
    if request.get("ExpressionAttributeNames") is not None and not expression_parameters:
        raise ValidationError(request_messages.only_with_expressions("ExpressionAttributeNames"))
    if request.get("ExpressionAttributeValues") is not None and not any(
        name in expression_parameters for name in value_expressions
    ):
        raise ValidationError(request_messages.only_with_expressions("ExpressionAttributeValues"))


def check_placeholder_maps(request: Mapping[str, Any]) -> None:
    """Raise ValidationError for an empty placeholder map or an invalid placeholder name."""
    check_names(request.get("ExpressionAttributeNames"))
    check_values(request.get("ExpressionAttributeValues"))
