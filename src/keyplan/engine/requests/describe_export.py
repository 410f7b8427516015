"""DescribeExport: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import job_members

SHAPE = Structure("DescribeExportInput", {"ExportArn": job_members.JOB_ARN}, required=("ExportArn",))
