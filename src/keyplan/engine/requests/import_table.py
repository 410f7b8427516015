"""ImportTable: shape and rules of its request.

The service model calls ClientToken optional, and the SDKs fill it in; the service demands it.
"""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.shapes.model import List, String, Structure
from keyplan.engine.import_files import knows_zstd
from keyplan.engine.requests import create_table, job_members, members, table_members
from keyplan.errors import ValidationError

SHAPE = Structure(
    "ImportTableInput",
    {
        "ClientToken": job_members.CLIENT_TOKEN,
        "S3BucketSource": Structure(
            "S3BucketSource",
            {
                "S3BucketOwner": job_members.BUCKET_OWNER,
                "S3Bucket": job_members.BUCKET,
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
                "TableName": members.LISTED_TABLE_NAME,
                "AttributeDefinitions": table_members.ATTRIBUTE_DEFINITIONS,
                "KeySchema": table_members.KEY_SCHEMA,
                "BillingMode": table_members.BILLING_MODE,
                "ProvisionedThroughput": table_members.PROVISIONED_THROUGHPUT,
                "OnDemandThroughput": table_members.ON_DEMAND_THROUGHPUT,
                "SSESpecification": table_members.SSE_SPECIFICATION,
                "GlobalSecondaryIndexes": table_members.GLOBAL_INDEXES,
            },
            required=("TableName", "AttributeDefinitions", "KeySchema"),
            unsupported=("VectorIndexes",),
        ),
    },
    required=("ClientToken", "S3BucketSource", "InputFormat", "TableCreationParameters"),
)


def check(request: dict[str, Any]) -> None:
    """Rules between members, and those of the table. Raises ValidationError."""
    input_format = request["InputFormat"]
    options = request.get("InputFormatOptions") or {}
    if options.get("Csv") is not None and input_format != "CSV":
        raise ValidationError(messages.options_unwanted(input_format))
    if input_format == "ION":
        raise ValidationError(messages.ION)
    if request.get("InputCompressionType") == "ZSTD" and not knows_zstd():
        raise ValidationError(messages.ZSTD)
    create_table.check(request["TableCreationParameters"])
