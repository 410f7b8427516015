"""UpdateTimeToLive: enable or disable time to live, which deletes each item after the expiry time in the item's TTL
attribute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.messages import tables as messages
from keyplan.dynamodb.shapes.model import String, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.operations import shapes
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables import backfill, descriptions, documents
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ResourceInUseError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "UpdateTimeToLiveInput",
    {
        "TableName": shapes.NEW_TABLE_NAME,
        "TimeToLiveSpecification": Structure(
            "TimeToLiveSpecification",
            {"Enabled": shapes.FLAG, "AttributeName": String(min=1, max=255)},
            required=("Enabled", "AttributeName"),
        ),
    },
    required=("TimeToLiveSpecification",),
    leading_member=shapes.LEADING_TABLE_NAME,
)


def run(database: Database, request: dict[str, Any], _form: Form) -> dict[str, Any]:
    """Run UpdateTimeToLive: find the table, change its time to live setting, and then index the expiry times of
    existing items.
    """
    specification = request["TimeToLiveSpecification"]
    attribute, enabled = specification["AttributeName"], bool(specification["Enabled"])

    def update_settings(transaction: Transaction) -> Table:
        table = descriptions.find_cached(database, request["TableName"])
        _check_state(table, database.clock.now())
        _check_change(table, attribute, enabled)
        document = descriptions.settle(table.document, database.clock.now())
        if enabled:
            document["expiry"] = {"attribute": attribute, "tree": transaction.create_tree().number}
            document["backfills"] = [*document.get("backfills", ()), backfill.EXPIRY]
        else:
            _disable(database, transaction, table, document)
        document["expiry_change"] = {
            "status": "ENABLING" if enabled else "DISABLING",
            "attribute": attribute,
            "until": database.clock.now() + database.settings.state_delay_s,
        }
        return database.catalog.save(transaction, document)

    table = database.alter(update_settings)
    if enabled:
        backfill.begin(database, table.name, backfill.EXPIRY)
    return {"TimeToLiveSpecification": {"Enabled": enabled, "AttributeName": attribute}}


def _check_state(table: Table, now: float) -> None:
    # As in the service, the change is accepted while the table is being deleted.
    if descriptions.status(table, now) == "CREATING":
        raise ResourceInUseError(messages.expiry_of_new_table(table.name))


def _check_change(table: Table, attribute: str, enabled: bool) -> None:
    expiry = table.expiry
    if expiry is None:
        if not enabled:
            raise ValidationError(messages.EXPIRY_DISABLED)
    elif expiry.attribute != attribute:
        raise ValidationError(messages.expiry_elsewhere(expiry.attribute))
    elif enabled:
        raise ValidationError(messages.EXPIRY_ENABLED)


def _disable(database: Database, transaction: Transaction, table: Table, document: dict[str, Any]) -> None:
    assert table.expiry is not None
    documents.drop_tree(database, transaction, table.expiry.tree)
    del document["expiry"]
    descriptions.set_or_remove(
        document, "backfills", [name for name in document.get("backfills", ()) if name != backfill.EXPIRY]
    )
