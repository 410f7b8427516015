"""CreateTable: a new table with its indexes, stream and tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import tables as messages
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import table_documents, tables
from keyplan.engine.catalog import table_name
from keyplan.engine.requests.capacity import with_billing_mode
from keyplan.engine.requests.create_table import check
from keyplan.engine.store.rows import Transaction
from keyplan.errors import ResourceInUseError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Check, then make the table in one transaction."""
    request = with_billing_mode(request)
    check(request)
    name = table_name(request["TableName"])
    description = table_documents.describe_new(engine, request)

    def work(transaction: Transaction) -> dict[str, Any]:
        table_documents.purge(engine, transaction)
        _check_free(engine, name)
        table = engine.catalog.save(transaction, table_documents.create(engine, transaction, description, request))
        return tables.describe(engine, transaction, table, tables.PENDING)

    answer = engine.alter(work)
    _leave_out(answer, request)
    return {"TableDescription": answer}


def _check_free(engine: Engine, name: str) -> None:
    known = tables.present(engine, name)
    if known is None:
        return
    creating = tables.status(known, engine.clock.now()) == "CREATING"
    raise ResourceInUseError(messages.being_created(name) if creating else messages.table_exists(name))


def _leave_out(answer: dict[str, Any], request: dict[str, Any]) -> None:
    """Drop what the service tells only once the table is there."""
    for member in tables.MODE_SUMMARIES:
        answer.get(member, {}).pop("LastUpdateToPayPerRequestDateTime", None)
    asked = {index["IndexName"]: index for index in request.get("GlobalSecondaryIndexes") or ()}
    if not request.get("WarmThroughput"):
        del answer["WarmThroughput"]
    for index in answer.get("GlobalSecondaryIndexes", ()):
        if not asked[index["IndexName"]].get("WarmThroughput"):
            del index["WarmThroughput"]
