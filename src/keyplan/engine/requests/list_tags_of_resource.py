"""ListTagsOfResource: shape and rule of its request."""

from __future__ import annotations

from typing import Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import members, resources

SHAPE = Structure(
    "ListTagsOfResourceInput",
    {"ResourceArn": members.TEXT, "NextToken": members.TEXT},
    demanded=members.DEMANDED_RESOURCE_ARN,
)


def check(request: dict[str, Any]) -> None:
    """The resource is a table or stream. Raises ValidationError."""
    resources.check_resource_arn(request["ResourceArn"])
