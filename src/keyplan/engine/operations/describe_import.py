"""DescribeImport: return the description of an import, including its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import exports as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.operations.rules import check_job_arn
from keyplan.engine.transfer import jobs
from keyplan.errors import ImportNotFoundError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DescribeImportInput", {"ImportArn": shapes.JOB_ARN}, required=("ImportArn",))


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeImport: find the import and return its description."""
    arn = request["ImportArn"]
    parts = check_job_arn(arn, jobs.IMPORT, database.settings.account, messages.IMPORT_ARN_INVALID)
    if parts.region != database.settings.region:
        raise ImportNotFoundError(messages.FOREIGN_IMPORT_ARN)
    document = jobs.find_listed_job(database, jobs.IMPORT, arn)
    if document is None:
        raise ImportNotFoundError(messages.import_not_found(arn))
    return {"ImportTableDescription": document["description"]}
