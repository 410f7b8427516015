"""What the three tag operations check of the resource they name."""

from __future__ import annotations

import re

from keyplan.dynamodb.messages import requests as messages
from keyplan.engine.requests import members
from keyplan.errors import ValidationError

_RESOURCE_ARN = re.compile(r"arn:[a-z-]+:(?P<service>[^:]*):[a-z0-9-]*:[0-9]*:(?P<resource>.*)")
_TABLE_RESOURCE = re.compile(rf"table/{members.WHOLE_TABLE_NAME}(?:/stream/.+)?")
_INDEX_RESOURCE = re.compile(r"table/[^/]+/index/.+")
_TABLE_OF_ANY_NAME = re.compile(r"table/[^/]*")


def check_resource_arn(arn: str) -> None:
    """Raise ValidationError unless the text is the ARN of a table or stream."""
    if not arn.startswith("arn:"):
        raise ValidationError(messages.no_arn(arn))
    parts = _RESOURCE_ARN.fullmatch(arn)
    if parts is None:
        raise ValidationError(messages.invalid_arn(arn))
    resource = parts["resource"]
    if parts["service"] != "dynamodb":
        raise ValidationError(messages.foreign_arn(arn))
    if _TABLE_RESOURCE.fullmatch(resource):
        return
    if _INDEX_RESOURCE.fullmatch(resource):
        raise ValidationError(messages.index_arn(arn))
    raise ValidationError(
        messages.invalid_arn(arn) if _TABLE_OF_ANY_NAME.fullmatch(resource) else messages.foreign_arn(arn)
    )
