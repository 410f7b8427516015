"""ListExports: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import job_members, members

SHAPE = Structure(
    "ListExportsInput",
    {"TableArn": job_members.TABLE_ARN, "MaxResults": job_members.PAGE_SIZE, "NextToken": members.TEXT},
)
