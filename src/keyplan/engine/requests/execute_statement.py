"""ExecuteStatement: shape of its request."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.shapes.model import VALUE, Integer, List, String, Structure
from keyplan.engine.requests import members

STATEMENT = String(min=1, max=limits.STATEMENT_LENGTH)
PARAMETERS = List(VALUE, min=1)

SHAPE = Structure(
    "ExecuteStatementInput",
    {
        "Statement": STATEMENT,
        "Parameters": PARAMETERS,
        "ConsistentRead": members.FLAG,
        "NextToken": String(min=1, max=limits.STATEMENT_TOKEN_LENGTH),
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
        "Limit": Integer(min=1),
        "ReturnValuesOnConditionCheckFailure": members.RETURN_ON_CONDITION_FAILURE,
    },
    required=("Statement",),
)
