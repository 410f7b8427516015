"""Syntax trees of PartiQL statements, and functions that analyse them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from keyplan.dynamodb.messages import partiql as messages
from keyplan.errors import ValidationError

Parts: TypeAlias = tuple[str | int, ...]
"""The elements of a document path: names and list indexes."""

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
"""The comparison operators. In statements, != is equivalent to <>."""


@dataclass(frozen=True, slots=True)
class PathTerm:
    """An attribute or document path. `place` is the position of its first element in the statement."""

    parts: Parts
    place: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A scalar literal: a string, a number in its source notation, true, false, null or MISSING."""

    kind: Literal["S", "N", "BOOL", "NULL", "MISSING", "ion"]
    text: str


@dataclass(frozen=True, slots=True)
class SequenceTerm:
    """A list literal [...] or (...), or a set literal <<...>>."""

    kind: Literal["list", "bag"]
    members: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """A map literal, such as {'name': value}."""

    members: tuple[tuple[str, Term], ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter (`?`), with its position among the parameters of the statement."""

    number: int
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CallTerm:
    """A function call. The function name is in lowercase."""

    function: str
    arguments: tuple[Term, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Infix:
    """A binary operation with a comparison operator, +, -, *, /, % or ||."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class BetweenTerm:
    """The condition `operand BETWEEN lower AND upper`."""

    operand: Term
    lower: Term
    upper: Term


@dataclass(frozen=True, slots=True)
class InTerm:
    """The condition `operand IN choices`."""

    operand: Term
    choices: Term


@dataclass(frozen=True, slots=True)
class IsTerm:
    """The condition `operand IS type`."""

    operand: Term
    type_name: str


@dataclass(frozen=True, slots=True)
class NotTerm:
    """The condition `NOT term`."""

    term: Term


@dataclass(frozen=True, slots=True)
class JoinedTerm:
    """Two or more terms joined by AND or by OR."""

    operator: Literal["and", "or"]
    terms: tuple[Term, ...]


Term: TypeAlias = (
    PathTerm
    | Constant
    | SequenceTerm
    | Struct
    | Parameter
    | CallTerm
    | Infix
    | BetweenTerm
    | InTerm
    | IsTerm
    | NotTerm
    | JoinedTerm
)


def is_test(term: Term) -> bool:
    """Return True if a term is a condition. The result for a function call is False, because function names are not
    looked up at this stage.
    """
    if isinstance(term, Infix):
        return term.operator in COMPARISONS
    return isinstance(term, BetweenTerm | InTerm | IsTerm | NotTerm | JoinedTerm)


@dataclass(frozen=True, slots=True)
class FromClause:
    """The table that a statement accesses, or one of the table's indexes."""

    table: str
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Ordering:
    """One sort expression in ORDER BY."""

    term: Term
    descending: bool


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """A SELECT statement.

    `columns` are the selected columns, or None for all attributes. `call` is the first function call among the columns,
    or None if the columns do not contain a call.
    """

    source: FromClause
    columns: tuple[PathTerm, ...] | None
    where: Term | None
    order: tuple[Ordering, ...]
    call: CallTerm | None = None


@dataclass(frozen=True, slots=True)
class InsertStatement:
    """The statement `INSERT INTO table VALUE item`."""

    source: FromClause
    item: Term


@dataclass(frozen=True, slots=True)
class Assignment:
    """The change `SET path = value`."""

    path: PathTerm
    value: Term


@dataclass(frozen=True, slots=True)
class Removal:
    """The change `REMOVE path`."""

    path: PathTerm


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """An UPDATE statement. `returning` is a value of the parameter ReturnValues of UpdateItem, such as ALL_NEW."""

    source: FromClause
    changes: tuple[Assignment | Removal, ...]
    where: Term | None
    returning: str


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """A DELETE FROM statement. `returning` is ALL_OLD or NONE."""

    source: FromClause
    where: Term | None
    returning: str


@dataclass(frozen=True, slots=True)
class ExistsStatement:
    """An EXISTS(SELECT ...) statement, the condition check of a transaction."""

    select: SelectStatement


Statement: TypeAlias = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement | ExistsStatement


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A parsed statement, with the number of its parameters."""

    statement: Statement
    parameters: int


def attributes(term: Term) -> list[str]:
    """Return the names of the top-level attributes in a term, in order."""
    match term:
        case PathTerm():
            return [str(term.parts[0])]
        case JoinedTerm():
            parts: Sequence[Term] = term.terms
        case NotTerm():
            parts = (term.term,)
        case Infix():
            parts = (term.left, term.right)
        case BetweenTerm():
            parts = (term.operand, term.lower, term.upper)
        case InTerm():
            parts = (term.operand,)
        case IsTerm():
            parts = (term.operand,)
        case CallTerm():
            parts = term.arguments
        case _:
            return []
    return [name for part in parts for name in attributes(part)]


def equalities(
    term: Term | None, names: Sequence[str], *, keep_duplicates: bool = False
) -> tuple[dict[str, Term], Term | None]:
    """Split a condition into the equality comparisons of the attributes in `names` and the rest of the condition.

    Return the compared terms by attribute name, and the rest. Only conditions that are joined by AND are split. If an
    attribute must equal two different values, ValidationError is raised. With `keep_duplicates`, the first value is
    returned instead, and the other comparison becomes part of the rest.
    """
    equal: dict[str, Term] = {}
    rest: list[Term] = []
    for part in () if term is None else joined_terms(term, "and"):
        comparison = equality(part)
        if comparison is not None and comparison[0] in names:
            name, value = comparison
            if equal.setdefault(name, value) != value:
                if not keep_duplicates:
                    raise ValidationError(messages.several_on_key(name))
                rest.append(part)
        else:
            rest.append(part)
    return equal, join_terms(rest)


def joined_terms(term: Term, operator: Literal["and", "or"]) -> tuple[Term, ...]:
    """Return the operands of AND or OR, including the operands of nested terms with the same operator.

    Return any other term as a one-element tuple.
    """
    if not isinstance(term, JoinedTerm) or term.operator != operator:
        return (term,)
    return tuple(inner for part in term.terms for inner in joined_terms(part, operator))


def equality(term: Term) -> tuple[str, Term] | None:
    """Return the attribute name and the compared value of an equality comparison, or None for any other term."""
    if not isinstance(term, Infix) or term.operator != "=":
        return None
    for path, value in ((term.left, term.right), (term.right, term.left)):
        if isinstance(path, PathTerm) and len(path.parts) == 1 and not _is_computed(value):
            return str(path.parts[0]), value
    return None


def _is_computed(term: Term) -> bool:
    return isinstance(term, PathTerm | CallTerm | Infix) or is_test(term)


def choices_of(term: InTerm) -> Sequence[Term]:
    """Return the terms in the value list of an IN condition."""
    return term.choices.members if isinstance(term.choices, SequenceTerm) else ()


def simplify_in(term: Term) -> Term:
    """Return an IN condition with one choice as an equality comparison. Return other terms unchanged."""
    if isinstance(term, InTerm) and len(choices_of(term)) == 1:
        return Infix("=", term.operand, *choices_of(term))
    return term


def join_terms(terms: Sequence[Term]) -> Term | None:
    """Return a condition that joins the terms by AND, or None for an empty sequence."""
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else JoinedTerm("and", tuple(terms))
