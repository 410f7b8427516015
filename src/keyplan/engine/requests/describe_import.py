"""DescribeImport: shape of its request."""

from __future__ import annotations

from keyplan.engine.requests import job_members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure("DescribeImportInput", {"ImportArn": job_members.JOB_ARN}, required=("ImportArn",))
