"""What the three tag operations check of the resource they name."""

from __future__ import annotations

import re

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Demanded
from keyplan.engine.requests import members
from keyplan.errors import ValidationError

DEMANDED_ARN = Demanded("ResourceArn", messages.ARN_MISSING)

_ARN = re.compile(r"arn:[a-z-]+:(?P<service>[^:]*):[a-z0-9-]*:[0-9]*:(?P<resource>.*)")
_TABLE = re.compile(rf"table/{members.WHOLE_TABLE_NAME}(?:/stream/.+)?")
_INDEX = re.compile(r"table/[^/]+/index/.+")
_ONE_NAME = re.compile(r"table/[^/]*")


def check_resource_arn(arn: str) -> None:
    """Raise ValidationError unless the text is the ARN of a table or stream."""
    if not arn.startswith("arn:"):
        raise ValidationError(messages.no_arn(arn))
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise ValidationError(messages.invalid_arn(arn))
    resource = parts["resource"]
    if parts["service"] != "dynamodb":
        raise ValidationError(messages.foreign_arn(arn))
    if _TABLE.fullmatch(resource):
        return
    if _INDEX.fullmatch(resource):
        raise ValidationError(messages.index_arn(arn))
    raise ValidationError(messages.invalid_arn(arn) if _ONE_NAME.fullmatch(resource) else messages.foreign_arn(arn))
