"""Members and rules that the requests of exports and imports share."""

from __future__ import annotations

import re
from typing import NamedTuple

from keyplan.dynamodb.messages import tables as table_messages
from keyplan.dynamodb.shapes.model import Integer, String
from keyplan.engine.requests import members
from keyplan.errors import AccessDeniedError, ValidationError

TABLE_ARN = String(min=1, max=1024)
JOB_ARN = String(min=37, max=1024)
CLIENT_TOKEN = String(pattern=r"^[^\$]+$")
BUCKET = String(max=255, pattern=r"^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$")
BUCKET_OWNER = String(pattern="[0-9]{12}")
PREFIX = String(min=1, max=1024)
PAGE_SIZE = Integer(min=1, max=25)
DEFAULT_PAGE = 10

_TABLE = re.compile(
    r"arn:(?P<partition>[^:]*):(?P<service>[^:]*):(?P<region>[^:]*):(?P<account>[^:]*):table/(?P<name>[^/]*)(?P<rest>/.*)?"
)
_NAME = re.compile(members.WHOLE_TABLE_NAME)


class TableArn(NamedTuple):
    """The parts of the ARN of a table or of something that belongs to one."""

    region: str
    account: str
    name: str
    rest: str


def parsed(arn: str) -> TableArn | None:
    """The parts of an ARN; None if it is none of a table. Raises AccessDeniedError for another service's."""
    found = _TABLE.fullmatch(arn)
    if found is None:
        return None
    if found["partition"] != "aws" or found["service"] != "dynamodb":
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    return TableArn(found["region"], found["account"], found["name"], found["rest"] or "")


def check_job_arn(arn: str, kind: str, account: str, invalid: str) -> TableArn:
    """The parts of the ARN of an export or import.

    Raises ValidationError, or AccessDeniedError for one of another account.
    """
    parts = parsed(arn)
    if parts is not None and parts.account != account:
        raise AccessDeniedError(table_messages.ACCESS_DENIED)
    if parts is None or not _NAME.fullmatch(parts.name) or not re.fullmatch(f"/{kind}/[^/]+", parts.rest):
        raise ValidationError(invalid)
    return parts
