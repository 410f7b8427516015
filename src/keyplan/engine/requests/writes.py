"""Rules that the requests of PutItem, DeleteItem and UpdateItem share, in the service's order.

Every fault here is in the envelope, unless a value is nested so deep that the service reads the request
in its older way.
"""

from __future__ import annotations

from typing import Any

from keyplan.engine.requests import rules
from keyplan.engine.shapes.constraints import reads_older
from keyplan.errors import ValidationError
from keyplan.messages import requests as messages

_OLD_OR_NONE = (None, "ALL_OLD", "NONE")
_WITHOUT_RULES = frozenset(
    (
        "TableName",
        "Item",
        "Key",
        "ReturnConsumedCapacity",
        "ReturnItemCollectionMetrics",
        "ReturnValuesOnConditionCheckFailure",
    )
)


_OLDER = ("AttributeUpdates", "Expected", "ConditionalOperator")


def check_replacing(request: dict[str, Any]) -> None:
    """PutItem and DeleteItem."""
    if request.keys() <= _WITHOUT_RULES:
        return
    try:
        _check_parameters(request, ("ConditionExpression",), ("Expected", "ConditionalOperator"))
        if request.get("ReturnValues") not in _OLD_OR_NONE:
            raise ValidationError(messages.RETURN_VALUES_OLD_OR_NONE)
        _check_conditions(request)
    except ValidationError as error:
        raise _worded(error, request) from None


def check_updating(request: dict[str, Any]) -> None:
    """UpdateItem."""
    try:
        if request.get("UpdateExpression") is not None and request.keys().isdisjoint(_OLDER):
            rules.check_placeholders(request)  # all that the rules below leave to be asked
            return
        _check_parameters(request, ("UpdateExpression", "ConditionExpression"), _OLDER)
        _check_conditions(request)
    except ValidationError as error:
        raise _worded(error, request) from None


def _check_parameters(request: dict[str, Any], expressions: tuple[str, ...], others: tuple[str, ...]) -> None:
    given = rules.check_mixture(request, expressions, others)
    rules.check_placeholders_wanted(request, given, value_expressions=expressions)


def _check_conditions(request: dict[str, Any]) -> None:
    rules.check_conditional_operator(request, "Expected")
    rules.check_placeholders(request)


def _worded(error: ValidationError, request: dict[str, Any]) -> ValidationError:
    return error if reads_older(request) else rules.enveloped(error)
