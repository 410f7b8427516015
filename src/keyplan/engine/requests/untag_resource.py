"""UntagResource: shape and rules of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import List, String, Structure
from keyplan.engine.requests import members, resources
from keyplan.errors import ValidationError

SHAPE = Structure(
    "UntagResourceInput",
    {"ResourceArn": members.TEXT, "TagKeys": List(String())},
    required=("TagKeys",),
    demanded=members.DEMANDED_RESOURCE_ARN,
)


def check(request: dict[str, Any]) -> None:
    """The resource is a table or stream, and there are keys of tags. Raises ValidationError."""
    resources.check_resource_arn(request["ResourceArn"])
    if not request["TagKeys"]:
        raise ValidationError(messages.NO_TAG_KEYS)
