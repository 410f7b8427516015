"""ExecuteStatement: run one PartiQL statement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql.nodes import ExistsStatement
from keyplan.dynamodb.partiql.values import parameters
from keyplan.dynamodb.shapes.model import VALUE, Integer, List, String, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.statements import reads, writes
from keyplan.engine.statements.prepared import prepare
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


STATEMENT = String(min=1, max=limits.STATEMENT_LENGTH)
PARAMETERS = List(VALUE, min=1)

SHAPE = Structure(
    "ExecuteStatementInput",
    {
        "Statement": STATEMENT,
        "Parameters": PARAMETERS,
        "ConsistentRead": shapes.FLAG,
        "NextToken": String(min=1, max=limits.STATEMENT_TOKEN_LENGTH),
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
        "Limit": Integer(min=1),
        "ReturnValuesOnConditionCheckFailure": shapes.RETURN_ON_CONDITION_FAILURE,
    },
    required=("Statement",),
)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run ExecuteStatement: parse the statement, read one page or write one item, and return the response."""
    text = request["Statement"]
    values = parameters(request.get("Parameters") or (), wire=form.wire)
    prepared = prepare(text, values)
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if isinstance(prepared.statement, ExistsStatement):
        raise ValidationError(messages.EXISTS_OUTSIDE)
    response: dict[str, Any]
    select = prepared.select
    if select is None:
        on_failure = request.get("ReturnValuesOnConditionCheckFailure")
        items, receipt, failure = writes.run_statement(database, prepared, form, on_failure=on_failure)
        if failure is not None:
            raise failure
        response = {"Items": items}
    else:
        page = reads.select(
            database,
            prepared,
            select,
            form,
            limit=request.get("Limit"),
            consistent=bool(request.get("ConsistentRead")),
            token=request.get("NextToken"),
            digest=reads.digest_of(text, values),
        )
        response, receipt = {"Items": page.items}, page.receipt
        if page.token is not None:
            response["NextToken"] = page.token
        if page.last_key is not None:
            response["LastEvaluatedKey"] = form.item(page.last_key)
    if detail != "NONE":
        response["ConsumedCapacity"] = receipt.render(detail, prepared.source.table)
    return response
