"""DescribeExport: return the description of an export, including its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.operations.rules import check_job_arn
from keyplan.engine.transfer import exports, jobs
from keyplan.errors import ExportNotFoundError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DescribeExportInput", {"ExportArn": shapes.JOB_ARN}, required=("ExportArn",))


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run DescribeExport: find the export and return its description."""
    arn = request["ExportArn"]
    parts = check_job_arn(arn, jobs.EXPORT, database.settings.account, messages.EXPORT_ARN_INVALID)
    if parts.region != database.settings.region:
        raise ExportNotFoundError(messages.FOREIGN_EXPORT_ARN)
    document = jobs.find_listed_job(database, jobs.EXPORT, arn)
    if document is None:
        raise ExportNotFoundError(messages.export_not_found(arn))
    return {"ExportDescription": exports.describe(document, form)}
