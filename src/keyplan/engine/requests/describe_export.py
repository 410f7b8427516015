"""DescribeExport: shape of its request."""

from __future__ import annotations

from keyplan.engine.requests import job_members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure("DescribeExportInput", {"ExportArn": job_members.JOB_ARN}, required=("ExportArn",))
