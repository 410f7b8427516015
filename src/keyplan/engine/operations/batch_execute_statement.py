"""BatchExecuteStatement: run up to 25 PartiQL statements independently of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan import limits
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.messages.items import DUPLICATE_KEYS
from keyplan.dynamodb.partiql.nodes import ExistsStatement, SelectStatement
from keyplan.dynamodb.partiql.values import parameters
from keyplan.dynamodb.shapes.model import List, Structure
from keyplan.dynamodb.values import encoding, units
from keyplan.dynamodb.values.encoding import Form
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.items.transactions import CODES
from keyplan.engine.operations import shapes
from keyplan.engine.operations.execute_statement import PARAMETERS, STATEMENT
from keyplan.engine.statements import reads, writes
from keyplan.engine.statements.prepared import PreparedStatement, prepare
from keyplan.engine.statements.writes import LocatedAction, StatementResult
from keyplan.errors import (
    AccessDeniedError,
    ItemCollectionSizeLimitExceededError,
    RequestLimitExceededError,
    ServiceError,
    ValidationError,
)

if TYPE_CHECKING:
    from keyplan.engine.database import Database


_STATEMENT = Structure(
    "BatchStatementRequest",
    {
        "Statement": STATEMENT,
        "Parameters": PARAMETERS,
        "ConsistentRead": shapes.FLAG,
        "ReturnValuesOnConditionCheckFailure": shapes.RETURN_ON_CONDITION_FAILURE,
    },
    required=("Statement",),
)

SHAPE = Structure(
    "BatchExecuteStatementInput",
    {
        "Statements": List(_STATEMENT, min=1, max=limits.BATCH_STATEMENTS),
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
    },
    required=("Statements",),
)


_CODES: dict[type[ServiceError], str] = {
    **CODES,
    AccessDeniedError: "AccessDenied",
    RequestLimitExceededError: "RequestLimitExceeded",
}
"""Maps the class of each error that affects only one statement, and not the whole batch, to the error code in the
response.

Source: API reference, BatchStatementError.
"""


class _StatementRequest(NamedTuple):
    """One statement of a batch, with its item and action, which are None if they could not be determined."""

    prepared: PreparedStatement | ValidationError
    request: dict[str, Any]
    """The element of the request that contains the statement."""
    item_key: tuple[str, bytes] | None = None
    """The table name and stored key of the statement's item, or None if they could not be determined."""
    located: LocatedAction | None = None
    """The action of a writing statement, with its table and stored key. None for a SELECT, or if the action could not
    be determined.
    """


class _ConsumedCapacity:
    """The capacity consumed by the statements of a batch, by table name."""

    def __init__(self) -> None:
        self.receipts: dict[str, Receipt] = {}
        self._rejected_units: dict[str, float] = {}

    def add(self, name: str, result: StatementResult) -> None:
        """Add the capacity that a statement consumed on the table `name`."""
        if result.failure is not None:
            self._rejected_units[name] = self._rejected_units.get(name, 0.0) + result.receipt.table_units
        elif name in self.receipts:
            self.receipts[name].add(result.receipt)
        else:
            self.receipts[name] = result.receipt

    def render(self, detail: str) -> list[dict[str, Any]]:
        """Return the ConsumedCapacity member of the response.

        The capacity of a rejected write is included only if another statement on the same table succeeded.
        """
        for name, receipt in self.receipts.items():
            receipt.rejected_units = self._rejected_units.get(name, 0.0)
        return [receipt.render(detail, name) for name, receipt in self.receipts.items()]


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run BatchExecuteStatement: run the statements one after another, and return a separate result for
    each statement.
    """
    capacity = _ConsumedCapacity()
    prepared = [_prepare(statement, form) for statement in request["Statements"]]
    kinds = {statement.select is not None for statement in prepared if isinstance(statement, PreparedStatement)}
    if len(kinds) > 1:
        raise ValidationError(messages.MIXED_BATCH)
    requests = [
        _statement_request(database, statement, request_entry)
        for statement, request_entry in zip(prepared, request["Statements"], strict=True)
    ]
    item_keys = [entry.item_key for entry in requests if entry.item_key is not None]
    if len(set(item_keys)) < len(item_keys):
        raise ValidationError(DUPLICATE_KEYS)
    responses = [_answer(database, entry, form, capacity) for entry in requests]
    response: dict[str, Any] = {"Responses": responses}
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if detail != "NONE" and capacity.receipts:
        response["ConsumedCapacity"] = capacity.render(detail)
    return response


def _prepare(statement: dict[str, Any], form: Form) -> PreparedStatement | ValidationError:
    try:
        prepared = prepare(statement["Statement"], parameters(statement.get("Parameters") or (), wire=form.wire))
        if isinstance(prepared.statement, ExistsStatement):
            raise ValidationError(messages.EXISTS_OUTSIDE)
    except ValidationError as error:
        return error
    return prepared


def _statement_request(
    database: Database, prepared: PreparedStatement | ValidationError, statement: dict[str, Any]
) -> _StatementRequest:
    statement_request = _StatementRequest(prepared, statement)
    if isinstance(prepared, ValidationError):
        return statement_request
    try:
        if prepared.select is None:
            located = writes.locate(database, prepared)
            return statement_request._replace(item_key=(located.table.name, located.key), located=located)
        table = database.table(prepared.source.table)
        key = reads.complete_key(table, prepared, prepared.select)
        return (
            statement_request
            if key is None
            else statement_request._replace(item_key=(table.name, table.key.of_key(key)))
        )
    except tuple(_CODES):
        return statement_request


def _answer(
    database: Database, statement_request: _StatementRequest, form: Form, capacity: _ConsumedCapacity
) -> dict[str, Any]:
    prepared = statement_request.prepared
    if isinstance(prepared, ValidationError):
        return _error_response(prepared)
    name = prepared.source.table
    try:
        # Run the statements one by one. If a table has changed, earlier statements must not run again.
        result = database.start_over(_execute, database, prepared, statement_request, form)
    except ItemCollectionSizeLimitExceededError as error:
        return {**_error_response(error), "TableName": name}
    except tuple(_CODES) as error:
        return (
            {**_error_response(error), "TableName": name}
            if error.message == messages.TOO_DEEP
            else _error_response(error)
        )
    capacity.add(name, result)
    if result.failure is not None:
        return {**_error_response(result.failure), "TableName": name}
    return {"TableName": name, "Item": result.items[0]} if result.items else {"TableName": name}


def _execute(
    database: Database, prepared: PreparedStatement, statement_request: _StatementRequest, form: Form
) -> StatementResult:
    statement = statement_request.request
    if prepared.select is not None:
        return _read(database, prepared, prepared.select, form, consistent=bool(statement.get("ConsistentRead")))
    on_failure = statement.get("ReturnValuesOnConditionCheckFailure")
    return writes.run_statement(database, prepared, form, on_failure=on_failure, located=statement_request.located)


def _error_response(error: ServiceError) -> dict[str, Any]:
    code = next(code for kind, code in _CODES.items() if isinstance(error, kind))
    body = {"Code": code, "Message": error.message}
    if "Item" in error.members:  # set if ReturnValuesOnConditionCheckFailure requests it
        body["Item"] = error.members["Item"]
    return {"Error": body}


def _read(
    database: Database, prepared: PreparedStatement, select: SelectStatement, form: Form, *, consistent: bool
) -> StatementResult:
    table, _ = reads.find_source(database, select)
    key = reads.complete_key(table, prepared, select)
    if key is None:
        reads.check_read_ranges(table, prepared, select)
        raise ValidationError(messages.BATCH_NEEDS_KEY)
    project = None if select.columns is None else reads.projection(table, select.columns)
    row = database.view().point(table.tree, table.key.of_key(key))
    receipt = Receipt()
    receipt.table_units = units.read_units(row[0] if row else 0, consistent=consistent)
    if row is None:
        return StatementResult([], receipt)
    if project is None:
        return StatementResult([form.from_body(row[1])], receipt)
    return StatementResult([form.item(project(encoding.decode(row[1])))], receipt)
