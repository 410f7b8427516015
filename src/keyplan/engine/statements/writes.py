"""INSERT, UPDATE, DELETE and EXISTS statements, which are translated to actions on one item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from keyplan import limits
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql import nodes, translate
from keyplan.dynamodb.partiql.nodes import (
    CallTerm,
    DeleteStatement,
    ExistsStatement,
    InsertStatement,
    PathTerm,
    Term,
    UpdateStatement,
)
from keyplan.dynamodb.values import attribute, encoding, units
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import Item
from keyplan.engine.items import actions, versions, writes
from keyplan.engine.items.conditions import WriteCondition
from keyplan.engine.items.keys import EmptyKeyError
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.statements.prepared import PreparedStatement
from keyplan.engine.store.rows import Transaction
from keyplan.engine.tables.catalog import Table
from keyplan.errors import ConditionalCheckFailedError, DuplicateItemError, ServiceError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database


class StatementResult(NamedTuple):
    """The result of running a statement: the returned items, the consumed capacity and, if the statement failed, the
    error.
    """

    items: list[Any]
    receipt: Receipt
    failure: ServiceError | None = None


class LocatedAction(NamedTuple):
    """The action of a writing statement, with its table and stored key. The action must be located again if the table
    definition changes.
    """

    table: Table
    change: actions.Action
    key: bytes


class _MustBeNew(WriteCondition):
    """A condition that fails if the item exists."""

    __slots__ = ()

    def require(self, item: Item | None, _form: Form, _on_failure: str | None) -> None:
        if item is not None:
            raise DuplicateItemError(messages.DUPLICATE_ITEM)


class _IfExists(WriteCondition):
    """A condition that is evaluated only if the item exists. It is satisfied if the item does not exist."""

    __slots__ = ()

    def require(self, item: Item | None, form: Form, on_failure: str | None) -> None:
        if item is not None:
            super().require(item, form, on_failure)


def action(table: Table, prepared: PreparedStatement) -> actions.Action:
    """Return the action of an INSERT, UPDATE, DELETE or EXISTS statement.

    Raises ValidationError if the statement is invalid for the table.
    """
    match prepared.statement:
        case InsertStatement():
            return _insert(table, prepared)
        case UpdateStatement() as update:
            return _update(table, prepared, update)
        case DeleteStatement() as delete:
            return _delete(table, prepared, delete)
        case ExistsStatement() as exists:
            return _check(table, prepared, exists)
        case _:
            raise AssertionError("a SELECT writes nothing")


def key_fault(table: Table, prepared: PreparedStatement) -> ValidationError | None:
    """Return the error that cancels the transaction if the key in a statement is invalid. Return None for a valid key.

    For an empty key value in an INSERT, the result is also None, because that error is reported for the whole request.
    """
    statement = prepared.statement
    if isinstance(statement, InsertStatement):
        assert prepared.item is not None
        try:
            table.key.of_item(prepared.item)
        except EmptyKeyError:
            return None  # reported for the whole request
        except ValidationError as error:
            return error
        return None
    exists = isinstance(statement, ExistsStatement)
    where = statement.select.where if isinstance(statement, ExistsStatement) else statement.where
    try:
        key_terms, _ = nodes.equalities(where, table.key.names, keep_duplicates=exists)
        if len(key_terms) == len(table.key.names):
            key_of(table, prepared, key_terms)
        elif not exists:
            return ValidationError(item_messages.KEY_MISMATCH)
    except ValidationError:
        return ValidationError(item_messages.KEY_MISMATCH)
    return None


def _insert(table: Table, prepared: PreparedStatement) -> actions.ItemPut:
    item = prepared.item
    assert item is not None
    for name, kind in (*table.key.schema.partition, *table.key.schema.sort):
        if name not in item:
            raise ValidationError(messages.key_absent(name))
        if kind not in item[name]:
            raise ValidationError(messages.key_type(name))
    if prepared.size > limits.ITEM_BYTES:
        raise ValidationError(item_messages.ITEM_TOO_LARGE)
    guard = _guard(_MustBeNew, _exists(table), prepared)
    return actions.ItemPut(guard, versions.Version(item, prepared.size, encoding.encode(item)))


def _update(table: Table, prepared: PreparedStatement, statement: UpdateStatement) -> actions.ItemUpdate:
    key, rest = _key(table, prepared, statement.where)
    update = prepared.update
    assert update is not None
    # UPDATE changes only existing items and never creates an item.
    guard = _guard(WriteCondition, _exists(table, rest), prepared)
    payload = attribute.item_bytes(key) + attribute.item_bytes(update.values)
    return actions.ItemUpdate(key, update.compiled, guard, update.values, payload, messages.TOO_DEEP)


def _delete(table: Table, prepared: PreparedStatement, statement: DeleteStatement) -> actions.ItemDelete:
    key, rest = _key(table, prepared, statement.where)
    guard = None if rest is None else _guard(_IfExists, rest, prepared)
    return actions.ItemDelete(key, guard, attribute.item_bytes(key))


def _check(table: Table, prepared: PreparedStatement, statement: ExistsStatement) -> actions.ItemCheck:
    if statement.select.source.index is not None:
        raise ValidationError(messages.EXISTS_ON_INDEX)
    key_terms, rest = nodes.equalities(statement.select.where, table.key.names, keep_duplicates=True)
    if len(key_terms) < len(table.key.names) or rest is None:
        raise ValidationError(messages.EXISTS_NEEDS_CONDITION)
    key = key_of(table, prepared, key_terms)
    guard = _guard(WriteCondition, _exists(table, rest), prepared)
    return actions.ItemCheck(key, guard, attribute.item_bytes(key) + attribute.item_bytes(guard.values))


def _key(table: Table, prepared: PreparedStatement, where: Term | None) -> tuple[Item, Term | None]:
    """Return the key in the WHERE clause, and the rest of the condition. The rest is None if the condition contains
    only the key.

    Raises ValidationError if the key is incomplete.
    """
    key_terms, rest = nodes.equalities(where, table.key.names)
    if len(key_terms) < len(table.key.names):
        raise ValidationError(messages.INCOMPLETE_KEY)
    return key_of(table, prepared, key_terms), rest


def key_of(table: Table, prepared: PreparedStatement, terms: Mapping[str, Term]) -> Item:
    """Return the key, given a map from key attribute names to the terms that contain their values.

    Raises ValidationError if the type of a value differs from the type in the table's key schema.
    """
    key = {name: prepared.values.evaluate(terms[name]) for name in table.key.names}
    for name, kind in (*table.key.schema.partition, *table.key.schema.sort):
        if kind not in key[name]:
            raise ValidationError(messages.key_type(name))
    return key


def _exists(table: Table, rest: Term | None = None) -> Term:
    exists = CallTerm("attribute_exists", (PathTerm((table.key.names[0],)),), "")
    return nodes.join_terms([exists] if rest is None else [exists, rest]) or exists


def _guard(kind: type[WriteCondition], term: Term, prepared: PreparedStatement) -> WriteCondition:
    condition = translate.condition(term, prepared.values)
    return kind(condition.compiled, condition.values)


def locate(database: Database, prepared: PreparedStatement) -> LocatedAction:
    """Return the action of a writing statement, with its table and stored key.

    Raises ServiceError if the table does not exist or the statement is invalid for it.
    """
    table = database.table(prepared.source.table)
    change = action(table, prepared)
    return LocatedAction(table, change, change.locate(table))


def run_statement(
    database: Database,
    prepared: PreparedStatement,
    form: Form,
    *,
    on_failure: str | None = None,
    located: LocatedAction | None = None,
) -> StatementResult:
    """Run one writing statement and return its result, which contains the error if a condition failed.

    If the condition of a write fails, the write consumes as much capacity as a write of the stored item or the given
    item, whichever is larger. `on_failure` is the value of ReturnValuesOnConditionCheckFailure. `located` is an earlier
    result of `locate`, which is computed again if the table has changed.
    """
    if located is None or database.table(prepared.source.table) is not located.table:
        located = locate(database, prepared)
    table, change, key = located
    receipt = Receipt()

    def run_action(transaction: Transaction) -> tuple[versions.Version | None, versions.Version | None]:
        old = versions.load(transaction, table, key)
        receipt.table_units = units.write_units(max(old.size if old else 0, prepared.size))
        if change.guard is not None:
            change.guard.require(old.item if old is not None else None, form, on_failure)
        new = change.outcome(table, old)
        receipt.table_units = units.write_units(max(new.size if new else 0, old.size if old else 0))
        receipt.global_units.clear()  # the callback may run again
        receipt.local_units.clear()
        writes.apply(database, transaction, table, key, old=old, new=new, receipt=receipt)
        return old, new

    try:
        old, new = database.write(table, run_action)
    except (ConditionalCheckFailedError, DuplicateItemError) as failure:
        return StatementResult([], receipt, failure)
    return StatementResult(_returned_items(prepared, old, new, form), receipt)


def _returned_items(
    prepared: PreparedStatement, old: versions.Version | None, new: versions.Version | None, form: Form
) -> list[Any]:
    statement = prepared.statement
    returning = statement.returning if isinstance(statement, UpdateStatement | DeleteStatement) else "NONE"
    version = old if returning.endswith("OLD") else new
    if returning == "NONE" or version is None:
        return []
    if returning.startswith("ALL"):
        return [form.from_body(version.body)]
    assert prepared.update is not None
    updated = prepared.update.compiled.updated(version.item)
    return [form.item(updated)] if updated else []
