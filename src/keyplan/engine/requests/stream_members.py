"""Members that the requests of stream operations share."""

from __future__ import annotations

from keyplan import limits
from keyplan.dynamodb.shapes.model import Integer, String

STREAM_ARN = String(min=37, max=1024)
SHARD_ID = String(min=28, max=65)
SEQUENCE_NUMBER = String(min=21, max=40)
LISTING_LIMIT = Integer(min=1, max=limits.SHARD_LISTING)
