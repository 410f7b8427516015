"""PartiQL statements and their values, which have passed all checks that do not depend on the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql import translate
from keyplan.dynamodb.partiql.nodes import (
    DeleteStatement,
    ExistsStatement,
    FromClause,
    InsertStatement,
    PathTerm,
    SelectStatement,
    Statement,
    Struct,
    UpdateStatement,
)
from keyplan.dynamodb.partiql.parser import parse
from keyplan.dynamodb.partiql.values import StatementValues
from keyplan.dynamodb.values.attribute import normalise_item
from keyplan.dynamodb.values.types import AttributeValue, Item
from keyplan.engine.tables.catalog import WHOLE_TABLE_NAME
from keyplan.errors import ValidationError

_TABLE_NAME = re.compile(WHOLE_TABLE_NAME).fullmatch


class PreparedStatement(NamedTuple):
    """A parsed statement with its values and, if it is an insert or update, the item to insert or the
    update to make.
    """

    statement: Statement
    values: StatementValues
    item: Item | None = None
    size: int = 0
    update: translate.StatementUpdate | None = None

    @property
    def select(self) -> SelectStatement | None:
        """The statement if it is a SELECT, or None for any other statement."""
        return self.statement if isinstance(self.statement, SelectStatement) else None

    @property
    def source(self) -> FromClause:
        """The part of the statement that names the table and, optionally, an index."""
        return self.statement.select.source if isinstance(self.statement, ExistsStatement) else self.statement.source


def prepare(text: str, parameters: Sequence[AttributeValue]) -> PreparedStatement:
    """Parse a statement and run all checks that do not depend on the table.

    Raises ValidationError if the statement or one of its values is invalid.
    """
    parsed = parse(text)
    statement, values = parsed.statement, StatementValues(parameters, parsed.parameters)
    read = statement.select if isinstance(statement, ExistsStatement) else statement
    if isinstance(read, SelectStatement) and (read.source.index is None or isinstance(statement, ExistsStatement)):
        check_call(read)  # for an index, the service checks multi-attribute keys first
    if not isinstance(read, InsertStatement) and read.where is not None:
        translate.condition(read.where, values)
    if isinstance(read, SelectStatement) and read.columns is not None:
        _check_result_names(read.columns)
    prepared = PreparedStatement(statement, values)
    if isinstance(statement, InsertStatement):
        if not isinstance(statement.item, Struct):
            raise ValidationError(messages.ITEM_SYNTAX)
        item, size = normalise_item(values.item(statement.item), wire=True)
        prepared = prepared._replace(item=item, size=size)
    elif isinstance(statement, UpdateStatement):
        prepared = prepared._replace(update=translate.update(statement.changes, values))
    name = prepared.source.table
    if not name.startswith("arn:") and not _TABLE_NAME(name):
        raise ValidationError(messages.TABLE_NAME)
    if isinstance(statement, UpdateStatement | DeleteStatement) and statement.source.index is not None:
        raise ValidationError(messages.ON_INDEX)
    return prepared


def check_call(select: SelectStatement) -> None:
    """Raise ValidationError if the projection contains a function call such as COUNT(*)."""
    if select.call is not None:
        raise ValidationError(messages.path_component(select.call.place))


def _check_result_names(paths: Sequence[PathTerm]) -> None:
    names: set[str] = set()
    for path in paths:
        name = result_name(path)
        if name in names:
            raise ValidationError(messages.duplicate_projection(name))
        names.add(name)


def result_name(path: PathTerm) -> str:
    """Return the name of a selected path in the results: the last attribute name in the path, followed by any list
    indexes after that name. For example, the name of `a.b[0]` is `b[0]`.
    """
    last = max(position for position, part in enumerate(path.parts) if isinstance(part, str))
    return str(path.parts[last]) + "".join(f"[{part}]" for part in path.parts[last + 1 :])
