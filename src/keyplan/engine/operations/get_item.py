"""GetItem: read one item by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyplan.dynamodb.shapes.model import Layer, Structure
from keyplan.dynamodb.values import encoding, units
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.items import reads
from keyplan.engine.items.conditions import check_placeholder_maps, check_placeholders_usable
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.operations import rules, shapes

if TYPE_CHECKING:
    from keyplan.engine.database import Database


SHAPE = Structure(
    "GetItemInput",
    {
        "TableName": shapes.TABLE_NAME,
        "Key": shapes.KEY,
        "AttributesToGet": shapes.ATTRIBUTES_TO_GET,
        "ConsistentRead": shapes.FLAG,
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
        "ProjectionExpression": shapes.TEXT,
        "ExpressionAttributeNames": shapes.NAMES,
    },
    required=("TableName", "Key"),
    layer=Layer.FRONT,
)

_EXPRESSIONS = ("ProjectionExpression",)
_WITHOUT_RULES = frozenset(("TableName", "Key", "ConsistentRead", "ReturnConsumedCapacity"))


def is_plain(request: dict[str, Any]) -> bool:
    """Return True if a GetItem request has no parameters that depend on other parameters. `check` can then
    be skipped.
    """
    return request.keys() <= _WITHOUT_RULES


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a GetItem request contains parameters that cannot be combined.

    DynamoDB performs this check before it checks the key values.
    """
    members = rules.check_mixture(request, _EXPRESSIONS, ("AttributesToGet",))
    check_placeholders_usable(request, members, value_expressions=())


def check_late(request: dict[str, Any]) -> None:
    """Raise ValidationError if AttributesToGet or a name placeholder in a GetItem request is invalid.

    DynamoDB performs this check after it has checked the key values and before it checks the projection.
    """
    rules.check_attributes_to_get(request)
    check_placeholder_maps(request)


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run GetItem: check the request, find the table, and read the item."""
    plain = len(request) == 2 or is_plain(request)  # a table and a key, which need only the shape check
    if not plain:
        check(request)
    key, _ = normalise_item(request["Key"], wire=form.wire)
    projection = None
    if not plain:
        check_late(request)
        projection = reads.compile_single_read_projection(request)
    table = database.table(request["TableName"])
    if projection is not None:
        reads.check_scalar_keys(table, projection)
    stored_key = table.key.of_key(key)
    row = database.view().point(table.tree, stored_key)
    response: dict[str, Any] = {}
    if row is not None:
        if projection is None:
            response["Item"] = form.from_body(row[1])
        else:
            response["Item"] = form.item(projection.apply(encoding.decode(row[1])))
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if detail != "NONE":
        receipt = Receipt()
        receipt.table_units = units.read_units(row[0] if row else 0, consistent=bool(request.get("ConsistentRead")))
        response["ConsumedCapacity"] = receipt.render(detail, request["TableName"])
    return response
