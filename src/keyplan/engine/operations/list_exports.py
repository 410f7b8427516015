"""ListExports: list the exports of one table or of all tables from the last 90 days, including running ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.tables.catalog import table_name
from keyplan.engine.transfer import jobs
from keyplan.engine.transfer.jobs import Document

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "ListExportsInput",
    {"TableArn": shapes.TABLE_ARN, "MaxResults": shapes.PAGE_SIZE, "NextToken": shapes.TEXT},
)


_RETURNED = ("ExportArn", "ExportStatus", "ExportType")


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run ListExports: return a page of exports, in descending order of their ARNs."""
    documents = jobs.list_jobs(database, jobs.EXPORT)
    table_arn = request.get("TableArn")
    if table_arn is not None:
        documents = _of_table(database, documents, table_arn)
    page_documents, next_token = jobs.page(
        documents, jobs.EXPORT, str, size=request.get("MaxResults"), token=request.get("NextToken")
    )
    response: dict[str, Any] = {
        "ExportSummaries": [{name: document["description"][name] for name in _RETURNED} for document in page_documents]
    }
    return response if next_token is None else {**response, "NextToken": next_token}


def _of_table(database: Database, documents: list[Document], arn: str) -> list[Document]:
    """Return the exports of the existing table with this ARN, excluding exports of an earlier table that had the same
    name.
    """
    table = database.catalog.find(table_name(arn), database.store.view())
    if table is None:
        return []
    table_id = table.document["description"]["TableId"]
    pairs = ((document, document["description"]) for document in documents)
    return [
        document
        for document, description in pairs
        if description["TableArn"] == arn and description["TableId"] == table_id
    ]
