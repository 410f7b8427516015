"""ImportTable: a new table, to be filled from files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine import imports, jobs, table_documents, tables
from keyplan.engine.jobs import Document
from keyplan.engine.requests.import_table import check
from keyplan.engine.store.rows import Transaction
from keyplan.errors import ImportConflictError, ResourceInUseError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine


def run(engine: Engine, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Check, make the table and write the import down, and have it worked on."""
    check(request)
    source = _given(request["S3BucketSource"])
    parameters = _given(request["TableCreationParameters"])
    if engine.buckets is None:
        raise ValidationError(messages.BUCKETS_NEEDED)
    engine.buckets.check_key(source.get("S3KeyPrefix") or "")
    name = parameters["TableName"]
    description = table_documents.describe_new(engine, parameters)

    def work(transaction: Transaction) -> Document:
        now = engine.clock.now()
        table_documents.purge(engine, transaction)
        stored = jobs.stored(transaction, jobs.IMPORT)
        repeated = jobs.with_token(stored, request["ClientToken"], now)
        _check_free(engine, name, repeated)
        if repeated is not None:
            if repeated["table"] != name:
                raise ImportConflictError(messages.IMPORT_CONFLICT)
            return repeated
        jobs.check_number(stored, jobs.IMPORT)
        document = _document(engine, request, source, parameters, description)
        table = table_documents.create(engine, transaction, description, parameters)
        told = {"ready_at": imports.NOT_BEFORE_END, "import": jobs.arn_of(document)}
        engine.catalog.save(transaction, {**table, **told})
        return jobs.begin(transaction, document, now)

    document = engine.alter(work)
    engine.jobs.wake()
    return {"ImportTableDescription": document["description"]}


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _check_free(engine: Engine, name: str, repeated: Document | None) -> None:
    """Raise ResourceInUseError if there is such a table, unless the same request is being worked on."""
    if tables.present(engine, name) is None:
        return
    if repeated is not None and jobs.status_of(repeated) == jobs.IN_PROGRESS:
        return
    raise ResourceInUseError(table_messages.table_exists(name))


def _document(
    engine: Engine,
    request: dict[str, Any],
    source: dict[str, Any],
    parameters: dict[str, Any],
    description: dict[str, Any],
) -> Document:
    now_ms = int(engine.clock.now() * 1000)
    described: dict[str, Any] = {
        "ImportArn": jobs.new_arn(engine, jobs.IMPORT, description["TableArn"], now_ms),
        "ImportStatus": jobs.IN_PROGRESS,
        "TableArn": description["TableArn"],
        "TableId": description["TableId"],
        "ClientToken": request["ClientToken"],
        "S3BucketSource": {"S3BucketOwner": engine.account, **source},
        "ErrorCount": 0,
        "CloudWatchLogGroupArn": f"arn:aws:logs:{engine.region}:{engine.account}:log-group:/aws-dynamodb/imports:*",
        "InputFormat": request["InputFormat"],
        "InputCompressionType": request.get("InputCompressionType") or "NONE",
        "TableCreationParameters": parameters,
        "StartTime": now_ms / 1000,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
    }
    if request.get("InputFormatOptions"):
        described["InputFormatOptions"] = request["InputFormatOptions"]
    return {
        "kind": jobs.IMPORT,
        "table": description["TableName"],
        "description": described,
        "parameters": {},
        "progress": imports.Progress().document(),
    }
