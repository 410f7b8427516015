"""TagResource: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import members, resources, table_members
from keyplan.errors import ValidationError

SHAPE = Structure(
    "TagResourceInput",
    {"ResourceArn": members.TEXT, "Tags": table_members.TAGS},
    required=("Tags",),
    demanded=members.DEMANDED_RESOURCE_ARN,
)


def check(request: dict[str, Any]) -> None:
    """The resource is a table or stream, and there are tags. Raises ValidationError."""
    resources.check_resource_arn(request["ResourceArn"])
    if not request["Tags"]:
        raise ValidationError(messages.NO_TAGS)
