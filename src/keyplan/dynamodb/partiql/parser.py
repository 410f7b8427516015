"""The parser for PartiQL statements."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql.nodes import (
    Assignment,
    CallTerm,
    DeleteStatement,
    ExistsStatement,
    FromClause,
    InsertStatement,
    IsTerm,
    NotTerm,
    Ordering,
    ParsedStatement,
    PathTerm,
    Removal,
    SelectStatement,
    Statement,
    Term,
    UpdateStatement,
)
from keyplan.dynamodb.partiql.terms import read_path, read_term
from keyplan.dynamodb.partiql.tokens import KEYWORD, NAME, QUOTED, STRING, StatementCursor
from keyplan.errors import ValidationError

_CACHED_STATEMENTS = 1024
_CLAUSES_ELSEWHERE = ("group", "having", "limit", "offset", "let")


@lru_cache(maxsize=_CACHED_STATEMENTS)
def parse(text: str) -> ParsedStatement:
    """Parse a statement. Raises ValidationError for invalid syntax."""
    cursor = StatementCursor(text)
    word = cursor.current
    read = _READERS.get(word.text) if word.kind == KEYWORD else None
    if read is None:
        raise _no_statement(cursor)
    statement = read(cursor)
    cursor.finish()
    return ParsedStatement(statement, cursor.parameters)


def _no_statement(cursor: StatementCursor) -> ValidationError:
    """Return the error for text that is not a statement. The message is different for a term with IS, such as `a IS
    NULL`.
    """
    try:
        term = read_term(cursor)
        cursor.finish()
    except ValidationError:
        return ValidationError(messages.malformed(messages.EXPECTED_STATEMENT))
    while isinstance(term, NotTerm):
        term = term.term
    if isinstance(term, IsTerm):
        return ValidationError(messages.unsupported_operation("IsType"))
    return ValidationError(messages.malformed(messages.EXPECTED_STATEMENT))


# SELECT


def _read_select(cursor: StatementCursor) -> SelectStatement:
    cursor.advance()
    columns = _read_columns(cursor)
    cursor.expect_keyword("from")
    source = _read_source(cursor, messages.UNEXPECTED_TERM)
    if cursor.current.is_sign(",") or cursor.current.is_keyword(
        "join", "inner", "left", "right", "full", "outer", "cross"
    ):
        raise ValidationError(messages.SELECT_SEVERAL)
    _refuse_alias(cursor)
    where = _read_where(cursor)
    _refuse_clauses(cursor)
    order = _read_order(cursor)
    _refuse_clauses(cursor)
    paths = None if columns is None else tuple(column for column in columns if isinstance(column, PathTerm))
    call = next((column for column in columns or () if isinstance(column, CallTerm)), None)
    return SelectStatement(source, paths, where, order, call)


def _read_columns(cursor: StatementCursor) -> tuple[PathTerm | CallTerm, ...] | None:
    """Parse the columns of a SELECT. Return None for `*`."""
    if cursor.current.is_keyword("value") or cursor.current.is_keyword("pivot"):
        raise ValidationError(messages.SELECT_VALUE)
    if cursor.current.is_keyword("distinct", "all"):
        raise ValidationError(messages.unsupported_clause(cursor.current.text.upper()))
    if cursor.take_sign("*"):
        if cursor.current.is_sign(","):
            raise ValidationError(messages.STAR_AND_OTHERS)
        return None
    columns = [_read_column(cursor)]
    while cursor.take_sign(","):
        if cursor.current.is_sign("*"):
            raise ValidationError(messages.STAR_AND_OTHERS)
        columns.append(_read_column(cursor))
    return tuple(columns)


def _read_column(cursor: StatementCursor) -> PathTerm | CallTerm:
    term = read_term(cursor)
    if cursor.current.is_keyword("as") or cursor.current.kind in (NAME, QUOTED):
        raise ValidationError(messages.ALIASING)
    if not isinstance(term, PathTerm | CallTerm):
        raise ValidationError(messages.malformed(messages.UNEXPECTED_TERM))
    return term


def _read_order(cursor: StatementCursor) -> tuple[Ordering, ...]:
    if not cursor.take_keyword("order"):
        return ()
    cursor.expect_keyword("by")
    keys = [_read_ordering(cursor)]
    while cursor.take_sign(","):
        keys.append(_read_ordering(cursor))
    return tuple(keys)


def _read_ordering(cursor: StatementCursor) -> Ordering:
    term = read_term(cursor)
    descending = cursor.take_keyword("desc") is not None
    if not descending:
        cursor.take_keyword("asc")
    return Ordering(term, descending)


def _refuse_clauses(cursor: StatementCursor) -> None:
    if cursor.current.is_keyword(*_CLAUSES_ELSEWHERE):
        raise ValidationError(messages.unsupported_clause(cursor.current.text.upper()))


# Writes


def _read_insert(cursor: StatementCursor) -> InsertStatement:
    cursor.advance()
    cursor.expect_keyword("into")
    source = _read_source(cursor, messages.EXPECTED_SIMPLE_PATH)
    if source.index is not None:
        raise ValidationError(messages.WRITE_SOURCE)
    if cursor.current.is_sign("<<") or cursor.current.is_keyword("values"):
        raise ValidationError(messages.INSERT_SEVERAL)
    if not cursor.take_keyword("value"):
        raise ValidationError(messages.malformed(messages.LEFT_OVER))
    item = read_term(cursor)
    if cursor.current.is_keyword("returning"):
        raise ValidationError(messages.RETURNING_IN_INSERT)
    return InsertStatement(source, item)


def _read_update(cursor: StatementCursor) -> UpdateStatement:
    cursor.advance()
    source = _read_source(cursor, messages.EXPECTED_SIMPLE_PATH)
    _refuse_alias(cursor)
    changes = _read_changes(cursor)
    where = _read_where(cursor)
    return UpdateStatement(source, changes, where, _read_returning(cursor))


def _read_from(cursor: StatementCursor) -> UpdateStatement:
    """Parse an update that starts with FROM, in which the condition comes before the changes."""
    cursor.advance()
    source = _read_source(cursor, messages.UNEXPECTED_TERM)
    _refuse_alias(cursor)
    where = _read_where(cursor)
    changes = _read_changes(cursor)
    return UpdateStatement(source, changes, where, _read_returning(cursor))


def _read_delete(cursor: StatementCursor) -> DeleteStatement:
    cursor.advance()
    cursor.expect_keyword("from")
    source = _read_source(cursor, messages.EXPECTED_SIMPLE_PATH)
    _refuse_alias(cursor)
    where = _read_where(cursor)
    returning = _read_returning(cursor)
    if returning not in ("NONE", "ALL_OLD"):
        scope, _, image = returning.partition("_")
        text = f"{'MODIFIED' if scope == 'UPDATED' else scope} {image} *"
        raise ValidationError(messages.delete_returning(text))
    return DeleteStatement(source, where, returning)


def _read_changes(cursor: StatementCursor) -> tuple[Assignment | Removal, ...]:
    changes: list[Assignment | Removal] = []
    while clause := cursor.take_keyword("set", "remove"):
        while True:
            path = read_path(cursor)
            if clause.text == "remove":
                changes.append(Removal(path))
            else:
                cursor.expect_sign("=", "EQUALS")
                changes.append(Assignment(path, read_term(cursor)))
            if not cursor.take_sign(","):
                break
    if not changes:
        if cursor.current.is_keyword("insert", "delete", "add"):
            raise ValidationError(messages.UPDATE_CLAUSE)
        raise ValidationError(messages.malformed(messages.EXPECTED_STATEMENT))
    return tuple(changes)


def _read_returning(cursor: StatementCursor) -> str:
    if not cursor.take_keyword("returning"):
        return "NONE"
    scope = cursor.take_keyword("all", "modified")
    image = cursor.take_keyword("old", "new")
    if scope is None or image is None or not cursor.take_sign("*"):
        raise ValidationError(messages.RETURNING_SYNTAX)
    if cursor.current.is_sign(","):
        raise ValidationError(messages.RETURNING_SYNTAX)
    return f"{'ALL' if scope.text == 'all' else 'UPDATED'}_{image.text.upper()}"


def _read_exists(cursor: StatementCursor) -> ExistsStatement:
    cursor.advance()
    cursor.expect_sign("(", "LEFT_PAREN")
    if not cursor.current.is_keyword("select"):
        raise ValidationError(messages.malformed(messages.EXPECTED_STATEMENT))
    select = _read_select(cursor)
    cursor.expect_sign(")", "RIGHT_PAREN")
    return ExistsStatement(select)


# Parts of several statements


def _read_source(cursor: StatementCursor, missing: str) -> FromClause:
    """Parse a table name, or an index written as "table"."index". If neither follows, raise ValidationError with the
    detail `missing`.
    """
    if cursor.current.kind == STRING or cursor.current.is_sign("[", "<<", "{", "("):
        raise ValidationError(messages.UNEXPECTED_SOURCE)
    if cursor.current.kind not in (NAME, QUOTED):
        raise ValidationError(messages.malformed(missing))
    names = [cursor.advance().text]
    while cursor.take_sign("."):
        if cursor.current.kind not in (NAME, QUOTED):
            raise ValidationError(messages.malformed(messages.PATH_DOT))
        names.append(cursor.advance().text)
    if cursor.current.is_sign("["):
        raise ValidationError(messages.UNEXPECTED_SOURCE)
    if "" in names:
        raise ValidationError(messages.EMPTY_COMPONENT)
    if len(names) > 2:
        raise ValidationError(messages.PATH_COMPONENTS)
    return FromClause(*names)


def _refuse_alias(cursor: StatementCursor) -> None:
    if cursor.current.kind in (NAME, QUOTED) or cursor.current.is_keyword("as", "at", "by"):
        raise ValidationError(messages.ALIASING)


def _read_where(cursor: StatementCursor) -> Term | None:
    return read_term(cursor) if cursor.take_keyword("where") else None


_READERS: dict[str, Callable[[StatementCursor], Statement]] = {
    "delete": _read_delete,
    "exists": _read_exists,
    "from": _read_from,
    "insert": _read_insert,
    "select": _read_select,
    "update": _read_update,
}
