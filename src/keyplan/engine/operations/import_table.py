"""ImportTable: create a table and fill it from files.

DynamoDB requires a ClientToken, although its service model declares the parameter as optional. SDKs generate a missing
token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.messages import tables as table_messages
from keyplan.dynamodb.shapes.model import List, String, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import create_table, shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import descriptions, documents
from keyplan.engine.transfer import imports, jobs
from keyplan.engine.transfer.import_files import has_zstd
from keyplan.engine.transfer.jobs import Document
from keyplan.errors import ImportConflictError, ResourceInUseError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ImportTableInput",
    {
        "ClientToken": shapes.CLIENT_TOKEN,
        "S3BucketSource": Structure(
            "S3BucketSource",
            {
                "S3BucketOwner": shapes.BUCKET_OWNER,
                "S3Bucket": shapes.BUCKET,
                "S3KeyPrefix": String(max=1024),
            },
            required=("S3Bucket",),
        ),
        "InputFormat": String(enum=("DYNAMODB_JSON", "ION", "CSV")),
        "InputFormatOptions": Structure(
            "InputFormatOptions",
            {
                "Csv": Structure(
                    "CsvOptions",
                    {
                        "Delimiter": String(min=1, max=1, pattern="[,;:|\\t ]"),
                        "HeaderList": List(
                            String(min=1, max=65536, pattern="[\\x20-\\x21\\x23-\\x2B\\x2D-\\x7E]*"), min=1, max=255
                        ),
                    },
                )
            },
        ),
        "InputCompressionType": String(enum=("ZSTD", "NONE", "GZIP")),
        "TableCreationParameters": Structure(
            "TableCreationParameters",
            {
                "TableName": shapes.LISTED_TABLE_NAME,
                "AttributeDefinitions": shapes.ATTRIBUTE_DEFINITIONS,
                "KeySchema": shapes.KEY_SCHEMA,
                "BillingMode": shapes.BILLING_MODE,
                "ProvisionedThroughput": shapes.PROVISIONED_THROUGHPUT,
                "OnDemandThroughput": shapes.ON_DEMAND_THROUGHPUT,
                "SSESpecification": shapes.SSE_SPECIFICATION,
                "GlobalSecondaryIndexes": shapes.GLOBAL_INDEXES,
            },
            required=("TableName", "AttributeDefinitions", "KeySchema"),
            unsupported=("VectorIndexes",),
        ),
    },
    required=("ClientToken", "S3BucketSource", "InputFormat", "TableCreationParameters"),
)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if an ImportTable request is invalid.

    A request is invalid if its file format is not supported, if its options do not match the format, or if the table
    definition is invalid.
    """
    input_format = request["InputFormat"]
    options = request.get("InputFormatOptions") or {}
    if options.get("Csv") is not None and input_format != "CSV":
        raise ValidationError(messages.options_unwanted(input_format))
    if input_format == "ION":
        raise ValidationError(messages.ION)
    if request.get("InputCompressionType") == "ZSTD" and not has_zstd():
        raise ValidationError(messages.ZSTD)
    create_table.check(request["TableCreationParameters"])


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run ImportTable: check the request, create the table, store the import as a job, and wake the thread that runs
    it.
    """
    check(request)
    source = _without_none(request["S3BucketSource"])
    parameters = _without_none(request["TableCreationParameters"])
    if database.buckets is None:
        raise ValidationError(messages.BUCKETS_NEEDED)
    database.buckets.check_key(source.get("S3KeyPrefix") or "")
    name = parameters["TableName"]
    description = documents.describe_new(database, parameters)

    def begin_import(transaction: Transaction) -> Document:
        now = database.clock.now()
        documents.purge(database, transaction)
        stored = jobs.all_jobs(transaction, jobs.IMPORT)
        repeated = jobs.find_by_token(stored, request["ClientToken"], now)
        _check_free(database, name, repeated)
        if repeated is not None:
            if repeated["table"] != name:
                raise ImportConflictError(messages.IMPORT_CONFLICT)
            return repeated
        jobs.check_number(stored, jobs.IMPORT)
        document = _document(database, request, source, parameters, description)
        table = documents.create(database, transaction, description, parameters)
        members = {"ready_at": imports.NOT_BEFORE_END, "import": jobs.arn_of(document)}
        database.catalog.save(transaction, {**table, **members})
        return jobs.begin(transaction, document, now)

    document = database.alter(begin_import)
    database.wake_jobs()
    return {"ImportTableDescription": document["description"]}


def _without_none(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _check_free(database: Database, name: str, repeated: Document | None) -> None:
    """Raise ResourceInUseError if a table with this name exists, unless the import `repeated` is still creating the
    table.

    `repeated` is an earlier import with the same token as the current request, or None if no such import exists.
    """
    if descriptions.find_existing(database, name) is None:
        return
    if repeated is not None and jobs.status_of(repeated) == jobs.IN_PROGRESS:
        return
    raise ResourceInUseError(table_messages.table_exists(name))


def _document(
    database: Database,
    request: dict[str, Any],
    source: dict[str, Any],
    parameters: dict[str, Any],
    description: dict[str, Any],
) -> Document:
    now_ms = int(database.clock.now() * 1000)
    account = database.settings.account
    import_description: dict[str, Any] = {
        "ImportArn": jobs.new_arn(database, jobs.IMPORT, description["TableArn"], now_ms),
        "ImportStatus": jobs.IN_PROGRESS,
        "TableArn": description["TableArn"],
        "TableId": description["TableId"],
        "ClientToken": request["ClientToken"],
        "S3BucketSource": {"S3BucketOwner": account, **source},
        "ErrorCount": 0,
        "CloudWatchLogGroupArn": f"arn:aws:logs:{database.settings.region}:{account}:log-group:/aws-dynamodb/imports:*",
        "InputFormat": request["InputFormat"],
        "InputCompressionType": request.get("InputCompressionType") or "NONE",
        "TableCreationParameters": parameters,
        "StartTime": now_ms / 1000,
        "ProcessedItemCount": 0,
        "ImportedItemCount": 0,
    }
    if request.get("InputFormatOptions"):
        import_description["InputFormatOptions"] = request["InputFormatOptions"]
    return {
        "kind": jobs.IMPORT,
        "table": description["TableName"],
        "description": import_description,
        "parameters": {},
        "progress": imports.ImportProgress().document(),
    }
