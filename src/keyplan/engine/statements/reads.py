"""Reads for SELECT statements, which return one page at a time."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from keyplan import limits
from keyplan.dynamodb.expressions.read import descend
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql import nodes, translate
from keyplan.dynamodb.partiql.nodes import PathTerm, SelectStatement
from keyplan.dynamodb.values import encoding
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.encoding import Form
from keyplan.dynamodb.values.types import AttributeValue, Item
from keyplan.engine.items import pages, ranges
from keyplan.engine.items.reads import check_scalar_keys, check_scalar_paths
from keyplan.engine.items.receipts import Receipt
from keyplan.engine.statements import plan
from keyplan.engine.statements.prepared import PreparedStatement, check_call, result_name
from keyplan.engine.statements.writes import key_of
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import ResourceNotFoundError, ServiceError, ValidationError

if TYPE_CHECKING:
    from keyplan.engine.database import Database

_DIGEST_BYTES = 16


class SelectPage(NamedTuple):
    """A page of results of a SELECT, with the token for the next page, the last evaluated key, and the consumed
    capacity.
    """

    items: Any
    token: str | None
    last_key: Item | None
    receipt: Receipt


class _Position(NamedTuple):
    """The position at which the next page of a SELECT starts: a step of the read plan, and the key of the last item
    that was read.
    """

    step: int
    key: Item | None


def select(
    database: Database,
    prepared: PreparedStatement,
    statement: SelectStatement,
    form: Form,
    *,
    limit: int | None,
    consistent: bool,
    token: str | None,
    digest: bytes,
) -> SelectPage:
    """Return one page of results of a SELECT statement, starting at the position in `token`.

    At most `limit` items are evaluated. `digest` identifies the statement and its parameters. A token is valid only for
    a request with the same digest. Raises ValidationError if the statement or the token is invalid.
    """
    table, index = find_source(database, statement)
    if index is not None and index.is_global and consistent:
        raise ValidationError(messages.CONSISTENT_GLOBAL_READ)
    read_plan = plan.make_plan(table, index, statement, prepared.values)
    for step in read_plan.steps:
        check_scalar_keys(table, None if step.filter is None else step.filter.compiled)
    project = None if statement.columns is None else projection(table, statement.columns)
    fetch = _needs_table_read(index, statement.columns)
    position = _Position(0, None) if token is None else _parse_token(token, digest, len(read_plan.steps))
    receipt = Receipt()
    pages_read: list[pages.ItemPage] = []
    remaining, evaluated_bytes = limit, 0
    while position.step < len(read_plan.steps) and remaining != 0 and evaluated_bytes < limits.PAGE_BYTES:
        step = read_plan.steps[position.step]
        page_request = pages.PageRequest(
            table,
            index,
            _remaining_span(table, index, step, position.key, read_plan.reverse),
            reverse=read_plan.reverse,
            limit=remaining,
            consistent=consistent,
            test=_tester(step.filter),
            project=project,
            fetch=fetch,
        )
        page = pages.read(database, page_request)
        pages_read.append(page)
        receipt.add(pages.receipt(page_request, page))
        remaining = None if remaining is None else remaining - page.scanned
        evaluated_bytes += page.evaluated_bytes
        if page.last is not None:
            position = _Position(position.step, pages.last_key(page_request, encoding.decode(page.last)))
            break
        position = _Position(position.step + 1, None)
    token = None if position.step >= len(read_plan.steps) else _render_token(position, digest)
    return SelectPage(_items(pages_read, form, projected=project is not None), token, position.key, receipt)


def find_source(database: Database, statement: SelectStatement) -> tuple[Table, Index | None]:
    """Return the table and index of a SELECT statement.

    Raises ValidationError if the index does not exist, if PartiQL does not support it, or if the projection contains a
    function call. DynamoDB checks for a function call before it looks up the table (observed in eu-west-2, July 2026),
    but reports an index with multi-attribute keys first (observed in eu-west-2 and us-east-1, October 2026).
    """
    try:
        table = database.table(statement.source.table)
        index = _find_index(database, table, statement)
    except (ResourceNotFoundError, ValidationError) as error:
        if error.message != messages.MULTI_ATTRIBUTE_INDEX:
            check_call(statement)
        raise
    check_call(statement)
    return table, index


def _find_index(database: Database, table: Table, statement: SelectStatement) -> Index | None:
    name = statement.source.index
    if name is None:
        return None
    index = table.indexes.get(name)
    if index is None:
        database.catalog.check_current(table, database.store.view())
        raise ValidationError(messages.NO_SUCH_INDEX)
    if len(index.key.schema.partition) > 1 or len(index.key.schema.sort) > 1:
        raise ValidationError(messages.MULTI_ATTRIBUTE_INDEX)
    if index.backfilling:
        raise ValidationError(item_messages.backfilling(name))
    return index


def complete_key(table: Table, prepared: PreparedStatement, statement: SelectStatement) -> Item | None:
    """Return the item key if the WHERE clause of a SELECT specifies a complete key and nothing else. Otherwise, return
    None.

    In a batch of statements, only a SELECT of this form is allowed.
    """
    if statement.source.index is not None:
        return None
    terms = () if statement.where is None else nodes.joined_terms(statement.where, "and")
    try:
        key_terms, rest = nodes.equalities(
            nodes.join_terms([nodes.simplify_in(term) for term in terms]), table.key.names
        )
    except ValidationError:  # two conditions on the same key attribute
        return None
    if len(key_terms) < len(table.key.names) or rest is not None:
        return None
    return key_of(table, prepared, key_terms)


def check_read_ranges(table: Table, prepared: PreparedStatement, statement: SelectStatement) -> None:
    """Raise ValidationError if a SELECT requires too many reads, or reads with overlapping key ranges.

    In a batch, DynamoDB reports these errors before it reports an incomplete key.
    """
    if statement.source.index is not None:
        return
    try:
        plan.make_plan(table, None, statement, prepared.values)
    except ValidationError as error:
        if error.message in (messages.OVERLAP, messages.TOO_MANY_READS):
            raise


def projection(table: Table, paths: Sequence[PathTerm]) -> Callable[[Item], Item]:
    """Return a function that returns the values at the selected paths of an item, under the names that `result_name`
    returns. Missing values are omitted.

    Raises ValidationError if a path refers to a member inside a key attribute.
    """
    check_scalar_paths(table, [path.parts for path in paths])
    columns = [(result_name(path), str(path.parts[0]), path.parts[1:]) for path in paths]

    def project(item: Item) -> Item:
        projected = {name: descend(item.get(first), rest) for name, first, rest in columns}
        return {name: value for name, value in projected.items() if value is not None}

    return project


def _needs_table_read(index: Index | None, paths: Sequence[PathTerm] | None) -> bool:
    """Return True if the projection contains an attribute that must be read from the table, because a local index does
    not project it.

    Raises ValidationError if a global index does not project a selected attribute.
    """
    if index is None or index.projection == "ALL" or paths is None:
        return False
    names = dict.fromkeys(str(path.parts[0]) for path in paths)
    missing = [name for name in names if name not in index.attributes]
    if missing and index.is_global:
        raise ValidationError(item_messages.not_projected(index.name, missing))
    return bool(missing)


def _tester(condition: translate.StatementCondition | None) -> Callable[[Item], bool] | None:
    if condition is None:
        return None
    test, values = condition.compiled.test, condition.values
    return lambda item: test(item, values)


def _remaining_span(
    table: Table, index: Index | None, step: plan.ReadStep, start: Item | None, reverse: bool
) -> ranges.Span:
    if start is None:
        return step.span
    key = ranges.scan_start(table, index, start) if step.partition is None else ranges.query_start(table, index, start)
    return step.span.after(key, reverse=reverse)


def _items(pages_read: Sequence[pages.ItemPage], form: Form, *, projected: bool) -> Any:
    items = [item for page in pages_read for item in page.items]
    if projected:
        return form.items(items)
    bodies = [body for page in pages_read for body in page.bodies]
    return form.page(bodies, items if len(items) == len(bodies) else ())


# Tokens


def digest_of(statement: str, parameters: Sequence[AttributeValue]) -> bytes:
    """Return a digest of a statement and its parameters."""
    text = orjson.dumps([statement, parameters])
    return blake2b(text, digest_size=_DIGEST_BYTES).digest()


def _render_token(position: _Position, digest: bytes) -> str:
    content = orjson.dumps([digest.hex(), position.step, position.key])
    return urlsafe_b64encode(content).decode()


def _parse_token(token: str, digest: bytes, steps: int) -> _Position:
    try:
        token_digest, step, key = orjson.loads(urlsafe_b64decode(token))
    except (TypeError, ValueError) as error:  # for example, a number cannot be unpacked
        raise ValidationError(messages.TOKEN_INVALID) from error
    if token_digest != digest.hex():
        raise ValidationError(messages.TOKEN_OTHER_REQUEST)
    if not isinstance(step, int) or not 0 <= step < steps or not (key is None or _is_key(key)):
        raise ValidationError(messages.TOKEN_INVALID)
    try:
        return _Position(step, None if key is None else normalise_item(key, wire=True)[0])
    except ServiceError as error:
        raise ValidationError(messages.TOKEN_INVALID) from error


def _is_key(key: Any) -> bool:
    """Return True if the value has the structure of a key, which maps attribute names to scalar attribute values."""
    return isinstance(key, dict) and all(
        isinstance(value, dict) and len(value) == 1 and all(isinstance(content, str) for content in value.values())
        for value in key.values()
    )
