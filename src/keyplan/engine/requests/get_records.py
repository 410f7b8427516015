"""GetRecords: shape of its request; it has no rules between members."""

from __future__ import annotations

from typing import Any

from keyplan import limits
from keyplan.engine.shapes.model import Integer, String, Structure

SHAPE = Structure(
    "GetRecordsInput",
    {"ShardIterator": String(min=1, max=2048), "Limit": Integer(min=1, max=limits.GET_RECORDS_LIMIT)},
    required=("ShardIterator",),
)


def check(request: dict[str, Any]) -> None:
    """Nothing beyond the shape."""
