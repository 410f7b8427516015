"""ExecuteTransaction: run up to 100 PartiQL statements as one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from keyplan import limits
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql.nodes import DeleteStatement, SelectStatement, UpdateStatement
from keyplan.dynamodb.partiql.values import parameters
from keyplan.dynamodb.shapes.model import List, Structure
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items import transactions
from keyplan.engine.items.receipts import requested_names
from keyplan.engine.items.transactions import CancellationReasons, check_distinct, locate
from keyplan.engine.operations import shapes
from keyplan.engine.operations.execute_statement import PARAMETERS, STATEMENT
from keyplan.engine.operations.transact_get_items import TransactionRead, read_in_snapshot
from keyplan.engine.operations.transact_write_items import AnswerOptions, WriteStep, check_payload, write_in_transaction
from keyplan.engine.statements import reads, writes
from keyplan.engine.statements.prepared import PreparedStatement, check_call, prepare
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ResourceNotFoundError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


_STATEMENT = Structure(
    "ParameterizedStatement",
    {
        "Statement": STATEMENT,
        "Parameters": PARAMETERS,
        "ReturnValuesOnConditionCheckFailure": shapes.RETURN_ON_CONDITION_FAILURE,
    },
    required=("Statement",),
)

SHAPE = Structure(
    "ExecuteTransactionInput",
    {
        "TransactStatements": List(_STATEMENT, min=1, max=limits.TRANSACTION_ACTIONS),
        "ClientRequestToken": shapes.CLIENT_REQUEST_TOKEN,
        "ReturnConsumedCapacity": shapes.RETURN_CONSUMED_CAPACITY,
    },
    required=("TransactStatements",),
)


T = TypeVar("T")


def run(database: Database, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Run ExecuteTransaction: read all items in one snapshot, or write all items in one transaction."""
    statements = request["TransactStatements"]
    parameter_lists = [parameters(statement.get("Parameters") or (), wire=form.wire) for statement in statements]
    prepared = [
        _with_position(number, partial(prepare, statement["Statement"], values))
        for number, (statement, values) in enumerate(zip(statements, parameter_lists, strict=True))
    ]
    for number, prepared_statement in enumerate(prepared):
        if prepared_statement.select is not None:
            _with_position(number, partial(check_call, prepared_statement.select))
    tables = _tables(database, prepared)
    selects = [statement.select for statement in prepared if statement.select is not None]
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if len(selects) == len(prepared):
        return _read(database, list(zip(tables, prepared, selects, strict=True)), detail, form)
    if selects:
        raise ValidationError(messages.MIXED_TRANSACTION)
    on_failure = [statement.get("ReturnValuesOnConditionCheckFailure") for statement in statements]
    steps = _steps(tables, prepared, on_failure)
    names = requested_names(statement.source.table for statement in prepared)
    token = transactions.token_of(request)
    return {"Responses": [], **write_in_transaction(database, steps, token, form, AnswerOptions(detail, False, names))}


def _with_position(number: int, operation: Callable[[], T]) -> T:
    """Run `operation` and return its result. If it raises ValidationError, add the position of the statement to the
    error message.
    """
    try:
        return operation()
    except ValidationError as error:
        raise ValidationError(messages.in_transaction(number, error.message)) from error


def _tables(database: Database, prepared: Sequence[PreparedStatement]) -> list[Table]:
    """Return the table of each statement.

    Raises TransactionCanceledError if a table does not exist, and ValidationError if a statement is not allowed in a
    transaction. A ValidationError takes precedence.
    """
    reasons = CancellationReasons(len(prepared))
    tables: list[Table] = []
    for number, statement in enumerate(prepared):
        try:
            tables.append(database.table(statement.source.table))
        except ResourceNotFoundError as error:
            reasons.add(number, error)
        else:
            _with_position(number, partial(_check_allowed, statement))
    reasons.raise_any()
    return tables


def _check_allowed(prepared: PreparedStatement) -> None:
    statement = prepared.statement
    if isinstance(statement, UpdateStatement | DeleteStatement) and statement.returning != "NONE":
        raise ValidationError(messages.RETURNING_IN_TRANSACTION)
    if isinstance(statement, SelectStatement) and statement.source.index is not None:
        raise ValidationError(messages.TRANSACTION_ON_INDEX)


def _check_keys(tables: Sequence[Table], prepared: Sequence[PreparedStatement]) -> None:
    """Raise TransactionCanceledError if the key in a statement does not match the key schema of its table."""
    reasons = CancellationReasons(len(prepared))
    for number, (table, statement) in enumerate(zip(tables, prepared, strict=True)):
        fault = writes.key_fault(table, statement)
        if fault is not None:
            reasons.add(number, fault)
    reasons.raise_any()


def _read(
    database: Database, entries: Sequence[tuple[Table, PreparedStatement, SelectStatement]], detail: str, form: Form
) -> dict[str, Any]:
    reasons = CancellationReasons(len(entries))
    keys: list[Item] = []
    for number, (table, statement, select) in enumerate(entries):
        try:
            key = reads.complete_key(table, statement, select)
        except ValidationError:
            reasons.add(number, ValidationError(item_messages.KEY_MISMATCH))
            continue
        if key is None:
            _with_position(number, partial(reads.check_read_ranges, table, statement, select))
            raise ValidationError(messages.in_transaction(number, messages.TRANSACTION_NEEDS_KEY))
        keys.append(key)
    reasons.raise_any()
    item_reads = [
        _with_position(number, partial(_transaction_read, table, key, select))
        for number, ((table, _, select), key) in enumerate(zip(entries, keys, strict=True))
    ]
    check_distinct([(read.table.name, read.key) for read in item_reads])
    return read_in_snapshot(database, item_reads, detail, form)


def _transaction_read(table: Table, key: Item, select: SelectStatement) -> TransactionRead:
    project = None if select.columns is None else reads.projection(table, select.columns)
    return TransactionRead(select.source.table, table, table.key.of_key(key), project)


def _steps(
    tables: Sequence[Table], prepared: Sequence[PreparedStatement], on_failure: Sequence[str | None]
) -> list[WriteStep]:
    _check_keys(tables, prepared)
    actions = [
        _with_position(number, partial(writes.action, table, statement))
        for number, (table, statement) in enumerate(zip(tables, prepared, strict=True))
    ]
    check_payload(actions)
    keys = locate(list(zip(tables, actions, strict=True)))
    return [
        WriteStep(action, table, key, return_values)
        for action, table, key, return_values in zip(actions, tables, keys, on_failure, strict=True)
    ]
