"""ListExports: shape of its request."""

from __future__ import annotations

from keyplan.engine.requests import job_members, members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure(
    "ListExportsInput",
    {"TableArn": job_members.TABLE_ARN, "MaxResults": job_members.PAGE_SIZE, "NextToken": members.TEXT},
)
