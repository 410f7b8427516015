"""UpdateTimeToLive: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import String, Structure
from keyplan.engine.requests import members

SHAPE = Structure(
    "UpdateTimeToLiveInput",
    {
        "TableName": members.NEW_TABLE_NAME,
        "TimeToLiveSpecification": Structure(
            "TimeToLiveSpecification",
            {"Enabled": members.FLAG, "AttributeName": String(min=1, max=255)},
            required=("Enabled", "AttributeName"),
        ),
    },
    required=("TimeToLiveSpecification",),
    demanded=members.DEMANDED_TABLE_NAME,
)
