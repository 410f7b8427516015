"""DescribeLimits: return the provisioned capacity quotas of an account and of each of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan import limits
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure("DescribeLimitsInput", {})


def run(_database: Database, _request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeLimits: return the maximum provisioned capacity of the account and of a single table."""
    return {
        "AccountMaxReadCapacityUnits": limits.ACCOUNT_READ_UNITS,
        "AccountMaxWriteCapacityUnits": limits.ACCOUNT_WRITE_UNITS,
        "TableMaxReadCapacityUnits": limits.TABLE_READ_UNITS,
        "TableMaxWriteCapacityUnits": limits.TABLE_WRITE_UNITS,
    }
