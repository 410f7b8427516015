"""DescribeTimeToLive: return whether items of a table expire, and which attribute contains their expiry time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import tables as messages
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.tables import backfill, descriptions
from keyplan.errors import ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "DescribeTimeToLiveInput", {"TableName": shapes.NEW_TABLE_NAME}, leading_member=shapes.LEADING_TABLE_NAME
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run DescribeTimeToLive: find the table and return its TimeToLiveDescription."""
    table = descriptions.find(database, request["TableName"])
    now = database.clock.now()
    state = descriptions.status(table, now)
    if state in ("CREATING", "DELETING"):
        raise ValidationError(messages.expiry_unknown(state))
    database.start_background()
    if backfill.EXPIRY in table.document.get("backfills", ()):
        database.wake_backfiller()
    return {"TimeToLiveDescription": _describe(table.document, now)}


def _describe(document: dict[str, Any], now: float) -> dict[str, str]:
    change = document.get("expiry_change")
    if change is not None and change["until"] > now:
        return {"TimeToLiveStatus": change["status"], "AttributeName": change["attribute"]}
    expiry = document.get("expiry")
    if expiry is None:
        return {"TimeToLiveStatus": "DISABLED"}
    status = "ENABLING" if backfill.EXPIRY in document.get("backfills", ()) else "ENABLED"
    return {"TimeToLiveStatus": status, "AttributeName": expiry["attribute"]}
