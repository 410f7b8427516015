"""ListImports: list the imports into one table or into all tables from the last 90 days, including running ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import String, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.transfer import jobs

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ListImportsInput",
    {
        "TableArn": shapes.TABLE_ARN,
        "PageSize": shapes.PAGE_SIZE,
        "NextToken": String(min=112, max=1024, pattern="([0-9a-f]{16})+"),
    },
)


_SUMMARY_MEMBERS = (
    "ImportArn",
    "ImportStatus",
    "TableArn",
    "S3BucketSource",
    "CloudWatchLogGroupArn",
    "InputFormat",
    "StartTime",
    "EndTime",
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run ListImports: return a page of imports, with the newest imports first."""
    documents = jobs.list_jobs(database, jobs.IMPORT)
    table_arn = request.get("TableArn")
    if table_arn is not None:
        documents = [document for document in documents if document["description"]["TableArn"] == table_arn]
    page_documents, next_token = jobs.page(
        documents, jobs.IMPORT, _age, size=request.get("PageSize"), token=request.get("NextToken")
    )
    descriptions = (document["description"] for document in page_documents)
    response: dict[str, Any] = {
        "ImportSummaryList": [
            {name: description[name] for name in _SUMMARY_MEMBERS if name in description}
            for description in descriptions
        ]
    }
    return response if next_token is None else {**response, "NextToken": next_token}


def _age(arn: str) -> tuple[str, str]:
    """Return a sort key that orders imports by age: the last part of the ARN, which starts with the start time, and the
    whole ARN.
    """
    return arn.rpartition("/")[2], arn
