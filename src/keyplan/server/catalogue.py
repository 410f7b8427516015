"""Protocol details of DynamoDB's operations: the prefixes of X-Amz-Target headers, and the operations without output.

Source: botocore's service models of dynamodb and dynamodbstreams, version 2012-08-10. A test compares them with these
tables.
"""

from __future__ import annotations

TABLES_PREFIX = "DynamoDB_20120810"
STREAMS_PREFIX = "DynamoDBStreams_20120810"

STREAM_OPERATIONS = frozenset({"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"})

# Operations without an output structure: their response has an empty body.
SILENT_OPERATIONS = frozenset({"TagResource", "UntagResource"})

# Errors whose structure has "Message"; all others have "message". The first two are not in the model, but the service
# is known to send them in this form.
CAPITAL_MESSAGE = frozenset(
    {
        "SerializationException",
        "AccessDeniedException",
        "IdempotentParameterMismatchException",
        "TransactionCanceledException",
        "TransactionInProgressException",
    }
)

# Operations on items, which can share a commit because they do not wait for other threads of the engine.
ITEM_WRITES = frozenset({"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})
STATEMENTS = frozenset({"BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction"})
ITEM_READS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems"})


def prefix_of(operation: str) -> str:
    """Return the part of an operation's X-Amz-Target header before the dot, such as DynamoDB_20120810."""
    return STREAMS_PREFIX if operation in STREAM_OPERATIONS else TABLES_PREFIX
