"""DescribeContinuousBackups: shape of its request."""

from __future__ import annotations

from keyplan.engine.requests import members
from keyplan.engine.shapes.model import Structure

SHAPE = Structure(
    "DescribeContinuousBackupsInput", {"TableName": members.NEW_TABLE_NAME}, demanded=members.DEMANDED_TABLE_NAME
)
