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
_LEGACY_PARAMETERS = ("AttributesToGet",)


def check(request: dict[str, Any]) -> None:
    """Raise ValidationError if a BatchGetItem request contains too many keys, invalid parameters for a table, or
    parameters that cannot be combined.
    """
    keys = 0
    for block in request["RequestItems"].values():
        members = rules.check_mixture(block, _EXPRESSIONS, _LEGACY_PARAMETERS)
        check_placeholders_usable(block, members, value_expressions=())
        rules.check_attributes_to_get(block)
        check_placeholder_maps(block)
        keys += len(block["Keys"])
    if keys > limits.BATCH_GET_KEYS:
        raise ValidationError(messages.too_many_items("BatchGetItem"))
    _check_one_style(request["RequestItems"].values())


def _check_one_style(blocks: Any) -> None:
    """Raise ValidationError if the request uses expressions for one table and legacy parameters for another."""
    used = [
        name for name in (*_EXPRESSIONS, *_LEGACY_PARAMETERS) if any(block.get(name) is not None for block in blocks)
    ]
    if len(used) > 1:
        raise ValidationError(messages.mixed_parameters(_LEGACY_PARAMETERS, _EXPRESSIONS))


class _PreparedBlock(NamedTuple):
    """The part of a BatchGetItem request for one table, after all checks that do not depend on the table definition."""

    request: dict[str, Any]
    keys: list[Item]
    projection: CompiledProjection | None


class _TableReads(NamedTuple):
    """The part of a BatchGetItem request for one table, together with the table and the stored keys of the items."""

    block: _PreparedBlock
    table: Table
    stored_keys: list[bytes]


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run BatchGetItem: check the request, find the tables, and return items until the response is full."""
    check(request)
    blocks = {name: _prepare_block(block, form) for name, block in request["RequestItems"].items()}
    tables = {name: database.table(name) for name in blocks}
    reads_by_table = {name: _plan_reads(block, tables[name]) for name, block in blocks.items()}
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    builder = _ResponseBuilder(database, form, counted=detail != "NONE")
    for name, table_reads in reads_by_table.items():
        builder.read(name, table_reads)
    builder.check_progress()
    response: dict[str, Any] = {"Responses": builder.responses, "UnprocessedKeys": builder.unprocessed}
    if detail != "NONE":
        response["ConsumedCapacity"] = [receipt.render(detail, name) for name, receipt in builder.receipts.items()]
    return response


def _prepare_block(block: dict[str, Any], form: Form) -> _PreparedBlock:
    projection = reads.compile_single_read_projection(block)
    keys = [normalise_item(key, wire=form.wire)[0] for key in block["Keys"]]
    # Find duplicates without the table: with sorted members, equal keys have the same JSON.
    if len({orjson.dumps(key, option=orjson.OPT_SORT_KEYS) for key in keys}) < len(keys):
        raise ValidationError(item_messages.DUPLICATE_KEYS)
    return _PreparedBlock(block, keys, projection)


def _plan_reads(block: _PreparedBlock, table: Table) -> _TableReads:
    reads.check_scalar_keys(table, block.projection)
    return _TableReads(block, table, [table.key.of_key(key) for key in block.keys])


class _ResponseBuilder:
    """Builds the BatchGetItem response. When the next item would make the response larger than 16 MB, the remaining
    keys are returned as unprocessed.
    """

    def __init__(self, database: Database, form: Form, *, counted: bool) -> None:
        self._view = database.view()
        self._form = form
        self._counted = counted
        self._free_bytes = limits.BATCH_GET_BYTES
        self._is_full = False
        self.responses: dict[str, Any] = {}
        self.unprocessed: dict[str, Any] = {}
        self.receipts: dict[str, Receipt] = {}
        self._read_count = 0
        self._last_error: ServiceError | None = None

    def read(self, name: str, table_reads: _TableReads) -> None:
        """Read the requested items of one table. Keys whose items do not fit into the response become
        UnprocessedKeys.
        """
        bodies: list[bytes] = []
        unread: list[int] = []
        table_units = 0.0
        consistent = bool(table_reads.block.request.get("ConsistentRead"))
        for number, stored_key in enumerate(table_reads.stored_keys):
            try:
                row = None if self._is_full else self._view.point(table_reads.table.tree, stored_key)
            except UNPROCESSED_ERRORS as error:
                self._last_error = error
                unread.append(number)
                continue
            if row is not None and row[0] > self._free_bytes:
                self._is_full = True
            if self._is_full:
                unread += range(number, len(table_reads.stored_keys))
                break
            if row is not None:
                self._free_bytes -= row[0]
                bodies.append(row[1])
            if self._counted:
                table_units += units.read_units(row[0] if row else 0, consistent=consistent)
        self._read_count += len(table_reads.stored_keys) - len(unread)
        self.responses[name] = self._items(bodies, table_reads.block.projection)
        if unread:
            self.unprocessed[name] = _remainder(table_reads.block.request, unread)
        if self._counted:
            receipt = self.receipts.setdefault(name, Receipt())
            receipt.table_units += table_units

    def check_progress(self) -> None:
        """If none of the keys could be read, raise the error that prevented the reads."""
        if self._last_error is not None and not self._read_count:
            raise self._last_error

    def _items(self, bodies: list[bytes], projection: CompiledProjection | None) -> Any:
        if projection is None:
            return self._form.page(bodies)
        return self._form.items([projection.apply(encoding.decode(body)) for body in bodies])


def _remainder(block: dict[str, Any], unread: list[int]) -> dict[str, Any]:
    """Return a copy of the part of a BatchGetItem request for one table, with only the keys at the
    positions `unread`.
    """
    return {**block, "Keys": [block["Keys"][number] for number in unread]}
