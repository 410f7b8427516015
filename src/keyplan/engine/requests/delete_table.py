"""DeleteTable: shape of its request."""

from __future__ import annotations

from keyplan.dynamodb.shapes.model import Structure
from keyplan.engine.requests import members

SHAPE = Structure("DeleteTableInput", {"TableName": members.NEW_TABLE_NAME}, demanded=members.DEMANDED_TABLE_NAME)
