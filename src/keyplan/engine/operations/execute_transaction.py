"""ExecuteTransaction: run up to 100 PartiQL statements, all or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from keyplan.engine import idempotency
from keyplan.engine.cancellation import check_distinct, locate
from keyplan.engine.operations.transact_get_items import Read, read_together
from keyplan.engine.operations.transact_write_items import Asked, Step, check_payload, write_together
from keyplan.engine.receipts import names_given
from keyplan.engine.statements import reads, writes
from keyplan.engine.statements.prepared import Prepared, prepare
from keyplan.errors import ValidationError
from keyplan.messages import partiql as messages
from keyplan.partiql.nodes import Delete, Select, Update
from keyplan.partiql.values import parameters
from keyplan.values.encoding import Form

if TYPE_CHECKING:
    from keyplan.engine.engine import Engine

T = TypeVar("T")


def run(engine: Engine, request: dict[str, Any], form: Form) -> dict[str, Any]:
    """Read the statements; then read their items as of one moment, or write them in one transaction."""
    asked = request["TransactStatements"]
    given = [parameters(statement.get("Parameters") or (), wire=form.wire) for statement in asked]
    prepared = [
        _told(number, partial(_prepare, each["Statement"], values))
        for number, (each, values) in enumerate(zip(asked, given, strict=True))
    ]
    selects = [each.select for each in prepared if each.select is not None]
    detail = request.get("ReturnConsumedCapacity") or "NONE"
    if len(selects) == len(prepared):
        return _read(engine, prepared, selects, detail, form)
    if selects:
        raise ValidationError(messages.MIXED_TRANSACTION)
    on_failure = [statement.get("ReturnValuesOnConditionCheckFailure") for statement in asked]
    steps = _steps(engine, prepared, on_failure)
    names = names_given(each.source.table for each in prepared)
    token = idempotency.token_of(request)
    return {"Responses": [], **write_together(engine, steps, token, form, Asked(detail, False, names))}


def _told(number: int, work: Callable[[], T]) -> T:
    """Do it; what is wrong with a statement is told with its number."""
    try:
        return work()
    except ValidationError as error:
        raise ValidationError(messages.in_transaction(number, error.message)) from error


def _prepare(text: str, values: Sequence[Any]) -> Prepared:
    prepared = prepare(text, values)
    statement = prepared.statement
    if isinstance(statement, Update | Delete) and statement.returning != "NONE":
        raise ValidationError(messages.RETURNING_IN_TRANSACTION)
    if isinstance(statement, Select) and statement.source.index is not None:
        raise ValidationError(messages.TRANSACTION_ON_INDEX)
    return prepared


def _read(
    engine: Engine, prepared: Sequence[Prepared], selects: Sequence[Select], detail: str, form: Form
) -> dict[str, Any]:
    wanted = [
        _told(number, partial(_wanted, engine, each, select))
        for number, (each, select) in enumerate(zip(prepared, selects, strict=True))
    ]
    check_distinct([(read.table.name, read.key) for read in wanted])
    return read_together(engine, wanted, detail, form)


def _wanted(engine: Engine, prepared: Prepared, select: Select) -> Read:
    table = engine.table(select.source.table)
    key = reads.whole_key(table, prepared, select)
    if key is None:
        raise ValidationError(messages.TRANSACTION_NEEDS_KEY)
    project = None if select.shown is None else reads.projection(select.shown)
    return Read(select.source.table, table, table.key.of_key(key), project)


def _steps(engine: Engine, prepared: Sequence[Prepared], on_failure: Sequence[str | None]) -> list[Step]:
    tables = [engine.table(each.source.table) for each in prepared]
    actions = [
        _told(number, partial(writes.action, table, each))
        for number, (table, each) in enumerate(zip(tables, prepared, strict=True))
    ]
    check_payload(actions)
    keys = locate(list(zip(tables, actions, strict=True)))
    return [
        Step(action, table, key, returned)
        for action, table, key, returned in zip(actions, tables, keys, on_failure, strict=True)
    ]
