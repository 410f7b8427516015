"""GetRecords: shape of its request."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.shapes.model import Integer, String, Structure

SHAPE = Structure(
    "GetRecordsInput",
    {"ShardIterator": String(min=1, max=2048), "Limit": Integer(min=1, max=limits.GET_RECORDS_LIMIT)},
    required=("ShardIterator",),
)
