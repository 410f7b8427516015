"""Rules that the requests of PutItem, DeleteItem and UpdateItem share, in the service's order.

Which parameters may stand together comes first; in PutItem and UpdateItem the values of the item or of
its key come next, then all else.
"""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import requests as messages
from keyplan.engine.requests import rules
from keyplan.errors import ValidationError

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
"""Members of PutItem and DeleteItem that no rule is about."""

_OLDER = ("AttributeUpdates", "Expected", "ConditionalOperator")


def check_replacing(request: dict[str, Any]) -> None:
    """The parameters of PutItem and DeleteItem."""
    if request.get("ConditionExpression") is None or not request.keys().isdisjoint(_OLDER):
        _check_parameters(request, ("ConditionExpression",), _OLDER[1:])


def check_replacing_late(request: dict[str, Any]) -> None:
    """ReturnValues, conditions and placeholders of the two."""
    if request.get("ReturnValues") not in _OLD_OR_NONE:
        raise ValidationError(messages.RETURN_VALUES_OLD_OR_NONE)
    check_conditions(request)


def check_updating(request: dict[str, Any]) -> None:
    """The parameters of UpdateItem."""
    if request.get("UpdateExpression") is None or not request.keys().isdisjoint(_OLDER):
        _check_parameters(request, ("UpdateExpression", "ConditionExpression"), _OLDER)


def check_conditions(request: dict[str, Any]) -> None:
    """Conditions and placeholders of all three."""
    rules.check_conditional_operator(request, "Expected")
    rules.check_placeholders(request)


def _check_parameters(request: dict[str, Any], expressions: tuple[str, ...], others: tuple[str, ...]) -> None:
    given = rules.check_mixture(request, expressions, others)
    rules.check_placeholders_wanted(request, given, value_expressions=expressions)
