"""BatchExecuteStatement: run up to 25 PartiQL statements, each by itself."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from keyplan.engine.receipts import Receipt
from keyplan.engine.statements import reads, writes
from keyplan.engine.statements.prepared import Prepared, prepare
from keyplan.errors import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    DuplicateItemError,
    ItemCollectionSizeLimitExceededError,
    ProvisionedThroughputExceededError,
    RequestLimitExceededError,
    ResourceNotFoundError,
    ServiceError,
    ThrottlingError,
    TransactionConflictError,
    ValidationError,
)
from keyplan.messages import partiql as messages
from keyplan.partiql.nodes import Exists, Select
from keyplan.partiql.values import parameters
from keyplan.values import encoding, units
from keyplan.values.encoding import Form

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

_CODES: dict[type[ServiceError], str] = {
    AccessDeniedError: "AccessDenied",
    ConditionalCheckFailedError: "ConditionalCheckFailed",
    DuplicateItemError: "DuplicateItem",
    ItemCollectionSizeLimitExceededError: "ItemCollectionSizeLimitExceeded",
    ProvisionedThroughputExceededError: "ProvisionedThroughputExceeded",
    RequestLimitExceededError: "RequestLimitExceeded",
    ResourceNotFoundError: "ResourceNotFound",
    ThrottlingError: "ThrottlingError",
    TransactionConflictError: "TransactionConflict",
    ValidationError: "ValidationError",
}
"""What a statement may fail with without failing the batch. Source: API reference, BatchStatementError."""

_OF_ITEM = (ConditionalCheckFailedError, DuplicateItemError, ItemCollectionSizeLimitExceededError)
"""Failures of statements that reached their item; their answers name the table."""


def run(engine: Engine, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run the statements one after another; each answers for itself."""
    receipts: dict[str, Receipt] = {}
    prepared = [_prepared(statement, form) for statement in request["Statements"]]
    kinds = {each.select is not None for each in prepared if isinstance(each, Prepared)}
    if len(kinds) > 1:
        raise ValidationError(messages.MIXED_BATCH)
    responses = [
        _answer(engine, each, statement, form, receipts)
        for each, statement in zip(prepared, request["Statements"], strict=True)
    ]
    answer: dict[str, Any] = {"Responses": responses}
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if detail != "NONE":
        answer["ConsumedCapacity"] = [receipt.render(detail, name) for name, receipt in receipts.items()]
    return answer


def _prepared(statement: dict[str, Any], form: Form) -> Prepared | ValidationError:
    try:
        made = prepare(statement["Statement"], parameters(statement.get("Parameters") or (), wire=form.wire))
        if isinstance(made.statement, Exists):
            raise ValidationError(messages.EXISTS_OUTSIDE)
    except ValidationError as error:
        return error
    return made


def _answer(
    engine: Engine,
    prepared: Prepared | ValidationError,
    asked: dict[str, Any],
    form: Form,
    receipts: dict[str, Receipt],
) -> dict[str, Any]:
    if isinstance(prepared, ValidationError):
        return _failed(prepared)
    name = prepared.source.table
    try:
        # Each by itself: what the statements before it have done must not be done again.
        items, receipt = engine.apart(partial(_execute, engine, prepared, asked, form))
    except tuple(_CODES) as error:
        failed = _failed(error)
        return {**failed, "TableName": name} if isinstance(error, _OF_ITEM) else failed
    if name in receipts:
        receipts[name].add(receipt)
    else:
        receipts[name] = receipt
    return {"TableName": name, "Item": items[0]} if items else {"TableName": name}


def _execute(engine: Engine, prepared: Prepared, asked: dict[str, Any], form: Form) -> tuple[list[Any], Receipt]:
    if prepared.select is not None:
        return _read(engine, prepared, prepared.select, form, consistent=bool(asked.get("ConsistentRead")))
    return writes.write(engine, prepared, form, on_failure=asked.get("ReturnValuesOnConditionCheckFailure"))


def _failed(error: ServiceError) -> dict[str, Any]:
    code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
    told = {"Code": code, "Message": error.message}
    if "Item" in error.members:  # as BatchStatementError has it where ReturnValuesOnConditionCheckFailure asks for it
        told["Item"] = error.members["Item"]
    return {"Error": told}


def _read(
    engine: Engine, prepared: Prepared, select: Select, form: Form, *, consistent: bool
) -> tuple[list[Any], Receipt]:
    table = engine.table(select.source.table)
    reads.find_index(engine, table, select)
    key = reads.whole_key(table, prepared, select)
    if key is None:
        raise ValidationError(messages.BATCH_NEEDS_KEY)
    row = engine.view().point(table.tree, table.key.of_key(key))
    receipt = Receipt(table)
    receipt.table_units = units.read_units(row[0] if row else 0, consistent=consistent)
    if row is None:
        return [], receipt
    if select.shown is None:
        return [form.stored(row[1])], receipt
    return [form.item(reads.projection(select.shown)(encoding.decode(row[1])))], receipt
