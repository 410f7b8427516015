"""ListImports: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import String, Structure
from keyplan.engine.requests import job_members

SHAPE = Structure(
    "ListImportsInput",
    {
        "TableArn": job_members.TABLE_ARN,
        "PageSize": job_members.PAGE_SIZE,
        "NextToken": String(min=112, max=1024, pattern="([0-9a-f]{16})+"),
    },
)
