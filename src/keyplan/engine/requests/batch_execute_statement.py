"""BatchExecuteStatement: shape of its request."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.shapes.model import List, Structure
from keyplan.engine.requests import members
from keyplan.engine.requests.execute_statement import PARAMETERS, STATEMENT

_STATEMENT = Structure(
    "BatchStatementRequest",
    {
        "Statement": STATEMENT,
        "Parameters": PARAMETERS,
        "ConsistentRead": members.FLAG,
        "ReturnValuesOnConditionCheckFailure": members.RETURN_ON_CONDITION_FAILURE,
    },
    required=("Statement",),
)

SHAPE = Structure(
    "BatchExecuteStatementInput",
    {
        "Statements": List(_STATEMENT, min=1, max=limits.BATCH_STATEMENTS),
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
    },
    required=("Statements",),
)
