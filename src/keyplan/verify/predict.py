"""Predicts the capacity units of a request from the items before and after a write, or from the items that a read
evaluates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from keyplan import limits
from keyplan.cost.units import ConsumedUnits, Units, item_write, page_read, point_read, total
from keyplan.design.planning.indexes import fetched_attributes
from keyplan.design.planning.plan import Plan
from keyplan.dynamodb.expressions.compiled import compile_condition
from keyplan.dynamodb.values.attribute import item_bytes
from keyplan.verify.model import Entry, Exchange, ModelTable, Request, canonical, position_in


@dataclass(frozen=True)
class Prediction:
    """The predicted capacity units and item count of one request."""

    consumed: ConsumedUnits
    evaluated: int = 0
    """The number of items that the request evaluates."""
    has_more: bool | None = None
    """True if the response should have a LastEvaluatedKey. None for operations without pages."""


def predict(exchange: Exchange, plan: Plan, model_tables: Mapping[str, ModelTable]) -> Prediction:
    """Predict the capacity units of one request of a call. Reads are evaluated on the current items of the model
    tables.
    """
    if exchange.operation in {"Query", "Scan"}:
        return _predict_range(exchange, plan, model_tables[exchange.request["TableName"]])
    if exchange.operation in {"GetItem", "BatchGetItem"}:
        return _predict_key_reads(exchange)
    return Prediction(total(_write_units(exchange, model_tables)), evaluated=len(exchange.writes))


# Writes and reads by key.


def _write_units(exchange: Exchange, model_tables: Mapping[str, ModelTable]) -> Iterator[ConsumedUnits]:
    for write in exchange.writes:
        schema = model_tables[write.table].schema
        units = item_write(schema, write.before, write.after, transactional=write.transactional)
        yield ConsumedUnits(write=_units_by_resource(write.table, units))


def _units_by_resource(table: str, units: Units) -> dict[str, float]:
    return {table: units.write, **{f"{table}/{name}": index_units for name, index_units in units.indexes.items()}}


def _predict_key_reads(exchange: Exchange) -> Prediction:
    consumed = ConsumedUnits()
    for table, consistent, item in exchange.read_items:
        units = point_read(0 if item is None else item_bytes(item), consistent=consistent)
        consumed += ConsumedUnits(read={table: units.read})
    return Prediction(consumed, sum(item is not None for _, _, item in exchange.read_items))


# Ranges: the plan evaluated over the model tables.


def _predict_range(exchange: Exchange, plan: Plan, model_table: ModelTable) -> Prediction:
    request = exchange.request
    entries = _matching_entries(request, plan, model_table)
    start = request.get("ExclusiveStartKey")
    if start is not None:
        position = position_in(model_table.schema, plan.index, canonical(start))
        entries = [
            entry for entry in entries if (entry.position < position if plan.descending else entry.position > position)
        ]
    page = _page(entries, request.get("Limit"))
    units = page_read([entry.size for entry in page], consistent=plan.consistent)
    table = request["TableName"]
    read_units = {table if plan.index is None else f"{table}/{plan.index.name}": units.read}
    fetch_units = _fetch_units(plan, page)
    if fetch_units:
        read_units[table] = fetch_units
    return Prediction(ConsumedUnits(read=read_units), len(page), _has_more(page, entries, request.get("Limit")))


def _matching_entries(request: Request, plan: Plan, model_table: ModelTable) -> Sequence[Entry]:
    """Return the items in a table or index that satisfy a request's key condition, in the order in which the request
    reads them.
    """
    entries = model_table.entries(plan.index)
    if plan.key is not None:
        text, names = request["KeyConditionExpression"], request.get("ExpressionAttributeNames")
        condition = compile_condition(text, names, "KeyConditionExpression")
        attribute_values = request["ExpressionAttributeValues"]
        values = canonical({name: attribute_values[name] for name in condition.values_used})
        entries = [entry for entry in entries if condition.test(entry.item, values)]
    return list(reversed(entries)) if plan.descending else entries


def _page(entries: Sequence[Entry], limit: int | None) -> Sequence[Entry]:
    """Return the first items of `entries` that one request evaluates.

    The request stops after the item that reaches `limit` or a total size of 1 MB.
    """
    size = 0
    for number, entry in enumerate(entries):
        if size >= limits.PAGE_BYTES or number == limit:
            return entries[:number]
        size += entry.size
    return entries


def _has_more(page: Sequence[Entry], entries: Sequence[Entry], limit: int | None) -> bool:
    """Return True if the response to a request should contain a LastEvaluatedKey.

    DynamoDB returns it if items remain, and also if the number of evaluated items reaches the limit.
    """
    return len(page) == limit or len(page) < len(entries)


def _fetch_units(plan: Plan, page: Sequence[Entry]) -> float:
    """Return the read units for fetching complete items from the table if a local index does not project all required
    attributes.

    Return 0 if the index projects them, or if the pattern does not use a local index.
    """
    if not fetched_attributes(plan):
        return 0.0
    return sum(point_read(item_bytes(entry.table_item), consistent=plan.consistent).read for entry in page)
