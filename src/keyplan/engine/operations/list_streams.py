"""ListStreams: list the streams of one table or of all tables, in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.streams import logs, records
from keyplan.engine.tables.catalog import table_name

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ListStreamsInput",
    {
        "TableName": shapes.NEW_TABLE_NAME,
        "Limit": shapes.LISTING_LIMIT,
        "ExclusiveStartStreamArn": shapes.STREAM_ARN,
    },
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run ListStreams: return a page of streams, in the order of their ARNs."""
    start = request.get("ExclusiveStartStreamArn") or ""
    if start:
        records.check_arn(start)
    filter_name = request.get("TableName")
    limit = request.get("Limit") or limits.SHARD_LISTING
    now = database.clock.now()
    streams = [
        document
        for document in logs.all_streams(database.store.view())
        if document["arn"] > start
        and (filter_name is None or document["table"] == table_name(filter_name))
        and not logs.is_expired(document, now)
    ]
    response: dict[str, Any] = {
        "Streams": [
            {"StreamArn": document["arn"], "TableName": document["table"], "StreamLabel": document["label"]}
            for document in streams[:limit]
        ]
    }
    if len(streams) > limit:
        response["LastEvaluatedStreamArn"] = streams[limit - 1]["arn"]
    return response
