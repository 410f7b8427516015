"""Rules that the requests of exports and imports share."""

from __future__ import annotations

import re
from typing import NamedTuple

from keyplan.dynamodb.messages import tables as table_messages
from keyplan.engine.requests import members
from keyplan.errors import AccessDeniedError, ValidationError

_TABLE_ARN = re.compile(
    r"arn:(?P<partition>[^:]*):(?P<service>[^:]*):(?P<region>[^:]*):(?P<account>[^:]*):table/(?P<name>[^/]*)(?P<rest>/.*)?"
)
_TABLE_NAME = re.compile(members.WHOLE_TABLE_NAME)


class TableArn(NamedTuple):
    """The parts of the ARN of a table or of something that belongs to one."""

    region: str
    account: str
    name: str
    rest: str


def parse_table_arn(arn: str) -> TableArn | None:
    """Return the parts of the ARN of a table or of something in it, or None for other text.

    Raises AccessDeniedError for an ARN of another service.
    """
    found = _TABLE_ARN.fullmatch(arn)
    if found is None:
        return None
    if found["partition"] != "aws" or found["service"] != "dynamodb":
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    return TableArn(found["region"], found["account"], found["name"], found["rest"] or "")


def check_job_arn(arn: str, kind: str, account: str, invalid: str) -> TableArn:
    """Return the parts of the ARN of an export or import.

    Raises ValidationError, or AccessDeniedError for an ARN of another account.
    """
    parts = parse_table_arn(arn)
    if parts is not None and parts.account != account:
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    if parts is None or not _TABLE_NAME.fullmatch(parts.name) or not re.fullmatch(f"/{kind}/[^/]+", parts.rest):
        raise ValidationError(invalid)
    return parts
