"""UpdateTimeToLive: shape and rule of its request."""

from __future__ import annotations

from typing import Any

from keyplan.engine.requests import members
from keyplan.engine.shapes.model import String, Structure
from keyplan.errors import ValidationError
from keyplan.messages import requests as messages

SHAPE = Structure(
    "UpdateTimeToLiveInput",
    {
        "TableName": members.NEW_TABLE_NAME,
        "TimeToLiveSpecification": Structure(
            "TimeToLiveSpecification",
            {"Enabled": members.FLAG, "AttributeName": String(max=255)},
            required=("Enabled", "AttributeName"),
        ),
    },
    required=("TimeToLiveSpecification",),
    demanded=members.DEMANDED_TABLE_NAME,
)


def check(request: dict[str, Any]) -> None:
    """The attribute has a name. Raises ValidationError."""
    if not request["TimeToLiveSpecification"]["AttributeName"]:
        raise ValidationError(messages.TTL_ATTRIBUTE_EMPTY)
