"""BatchGetItem: read up to 100 items by key, from one or more tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from keyplan import limits
from keyplan.dynamodb.expressions.compiled import CompiledProjection
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import Layer, List, Map, Structure
from keyplan.dynamodb.values import encoding, units
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items import reads
from keyplan.engine.items.conditions import check_placeholder_maps, check_placeholders_usable
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.operations import rules, shapes
from keyplan.engine.operations.answers import UNPROCESSED_ERRORS
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ServiceError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


_KEYS_AND_ATTRIBUTES = Structure(
    "KeysAndAttributes",
    {
        "Keys": List(shapes.KEY, min=1, max=limits.BATCH_GET_KEYS),
        "AttributesToGet": shapes.ATTRIBUTES_TO_GET,
        "ConsistentRead": shapes.FLAG,
        "ProjectionExpression": shapes.TEXT,
        "ExpressionAttributeNames": shapes.NAMES,
    },
    required=("Keys",),
)

SHAPE = Structure(
    "BatchGetItemInput",
    {
        "RequestItems": Map(
            _KEYS_AND_ATTRIBUTES,
            min=1,
            max=limits.BATCH_GET_KEYS,
            keys=shapes.MAP_TABLE_NAME,
            json_echo=True,
        ),
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
    },
    required=("RequestItems",),
    layer=Layer.FRONT,
)

_EXPRESSIONS = ("ProjectionExpression",)
_REPLACED = ("AttributesToGet",)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a BatchGetItem request has too many keys, or parameters that cannot be combined, for one
    table or across tables.
    """
    keys = 0
    for block in request["RequestItems"].values():
        members = rules.check_mixture(block, _EXPRESSIONS, _REPLACED)
        check_placeholders_usable(block, members, value_expressions=())
        rules.check_attributes_to_get(block)
        check_placeholder_maps(block)
        keys += len(block["Keys"])
    if keys > limits.BATCH_GET_KEYS:
        raise ValidationError(messages.too_many_items("BatchGetItem"))
    _check_one_style(request["RequestItems"].values())


def _check_one_style(blocks: Any) -> None:
    """Raise ValidationError if the request uses expressions for one table and legacy parameters for another."""
    used = [name for name in (*_EXPRESSIONS, *_REPLACED) if any(block.get(name) is not None for block in blocks)]
    if len(used) > 1:
        raise ValidationError(messages.mixed_parameters(_REPLACED, _EXPRESSIONS))


class _Block(NamedTuple):
    """The part of a BatchGetItem request for one table, after all checks that do not depend on the table definition."""

    request: dict[str, Any]
    keys: list[Item]
    projection: CompiledProjection | None


class _Plan(NamedTuple):
    """The part of a BatchGetItem request for one table, together with the table and the stored keys of the items."""

    block: _Block
    table: Table
    stored_keys: list[bytes]


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run BatchGetItem: check the request, find the tables, and return items until the response is full."""
    check(request)
    blocks = {name: _block(block, form) for name, block in request["RequestItems"].items()}
    tables = {name: database.table(name) for name in blocks}
    plans = {name: _plan(block, tables[name]) for name, block in blocks.items()}
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    reading = _Reading(database, form, counted=detail != "NONE")
    for name, plan in plans.items():
        reading.read(name, plan)
    reading.check_progress()
    response: dict[str, Any] = {"Responses": reading.responses, "UnprocessedKeys": reading.unprocessed}
    if detail != "NONE":
        response["ConsumedCapacity"] = [receipt.render(detail, name) for name, receipt in reading.receipts.items()]
    return response


def _block(block: dict[str, Any], form: Form) -> _Block:
    projection = reads.compile_single_read_projection(block)
    keys = [normalise_item(key, wire=form.wire)[0] for key in block["Keys"]]
    # Find duplicates without the table: with sorted members, equal keys have the same JSON.
    if len({orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in keys}) < len(keys):
        raise ValidationError(item_messages.DUPLICATE_KEYS)
    return _Block(block, keys, projection)


def _plan(block: _Block, table: Table) -> _Plan:
    reads.check_scalar_keys(table, block.projection)
    return _Plan(block, table, [table.key.of_key(key) for key in block.keys])


class _Reading:
    """A builder for the BatchGetItem response. The response is full if another item would make it larger than 16 MB."""

    def __init__(self, database: Database, form: Form, *, counted: bool) -> None:
        self._view = database.view()
        self._form = form
        self._counted = counted
        self._left_bytes = limits.BATCH_GET_BYTES
        self._full = False
        self.responses: dict[str, Any] = {}
        self.unprocessed: dict[str, Any] = {}
        self.receipts: dict[str, Receipt] = {}
        self._done = 0
        self._refused: ServiceError | None = None

    def read(self, name: str, plan: _Plan) -> None:
        """Read the requested items of one table. Keys whose items do not fit into the response become
        UnprocessedKeys.
        """
        bodies: list[bytes] = []
        left: list[int] = []
        table_units = 0.0
        consistent = bool(plan.block.request.get("ConsistentRead"))
        for number, stored_key in enumerate(plan.stored_keys):
            try:
                row = None if self._full else self._view.point(plan.table.tree, stored_key)
            except UNPROCESSED_ERRORS as error:
                self._refused = error
                left.append(number)
                continue
            if row is not None and row[0] > self._left_bytes:
                self._full = True
            if self._full:
                left += range(number, len(plan.stored_keys))
                break
            if row is not None:
                self._left_bytes -= row[0]
                bodies.append(row[1])
            if self._counted:
                table_units += units.read_units(row[0] if row else 0, consistent=consistent)
        self._done += len(plan.stored_keys) - len(left)
        self.responses[name] = self._items(bodies, plan.block.projection)
        if left:
            self.unprocessed[name] = _remainder(plan.block.request, left)
        if self._counted:
            receipt = self.receipts.setdefault(name, Receipt())
            receipt.table_units += table_units

    def check_progress(self) -> None:
        """If no key could be read, raise the error that prevented the reads."""
        if self._refused is not None and not self._done:
            raise self._refused

    def _items(self, bodies: list[bytes], projection: CompiledProjection | None) -> Any:
        if projection is None:
            return self._form.page(bodies)
        return self._form.items([projection.apply(encoding.decode(body)) for body in bodies])


def _remainder(block: dict[str, Any], left: list[int]) -> dict[str, Any]:
    """Return the part of a BatchGetItem request for one table, with only the unprocessed keys at the
    positions `left`.
    """
    return {**block, "Keys": [block["Keys"][number] for number in left]}
