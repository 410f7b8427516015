"""ExecuteTransaction: shape of its request."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.shapes.model import List, Structure
from keyplan.engine.requests import members
from keyplan.engine.requests.execute_statement import PARAMETERS, STATEMENT

_STATEMENT = Structure(
    "ParameterizedStatement",
    {
        "Statement": STATEMENT,
        "Parameters": PARAMETERS,
        "ReturnValuesOnConditionCheckFailure": members.RETURN_ON_CONDITION_FAILURE,
    },
    required=("Statement",),
)

SHAPE = Structure(
    "ExecuteTransactionInput",
    {
        "TransactStatements": List(_STATEMENT, min=1, max=limits.TRANSACTION_ACTIONS),
        "ClientRequestToken": members.CLIENT_REQUEST_TOKEN,
        "ReturnConsumedCapacity": members.RETURN_CONSUMED_CAPACITY,
    },
    required=("TransactStatements",),
)
