"""The trees that PartiQL statements are read into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Parts: TypeAlias = tuple[str | int, ...]
"""A document path: names, and list indexes."""


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
"""The signs that compare two terms; <> is also written !=."""


@dataclass(frozen=True, slots=True)
class Path:
    """An attribute, or what lies in a document; `place` is that of its first part."""

    parts: Parts
    place: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal that stands for itself: a string, a number as written, true, false, null or MISSING."""

    kind: Literal["S", "N", "BOOL", "NULL", "MISSING", "ion"]
    text: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list [...] or (...), or a set <<...>>."""

    kind: Literal["list", "bag"]
    members: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """A map {'name': value}."""

    members: tuple[tuple[str, Term], ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A question mark: the value of that number."""

    number: int
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its name in lower case, and its arguments."""

    function: str
    arguments: tuple[Term, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Infix:
    """left operator right: a comparison, + - * / % or ||."""

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Between:
    """operand BETWEEN lower AND upper."""

    operand: Term
    lower: Term
    upper: Term


@dataclass(frozen=True, slots=True)
class In:
    """operand IN choices."""

    operand: Term
    choices: Term


@dataclass(frozen=True, slots=True)
class Is:
    """operand IS type."""

    operand: Term
    type_name: str


@dataclass(frozen=True, slots=True)
class Not:
    """NOT term."""

    term: Term


@dataclass(frozen=True, slots=True)
class Joined:
    """Two or more terms joined by AND or by OR."""

    operator: Literal["and", "or"]
    terms: tuple[Term, ...]


Term: TypeAlias = Path | Constant | Sequence | Struct | Parameter | Call | Infix | Between | In | Is | Not | Joined


def is_test(term: Term) -> bool:
    """Whether a term is a condition, calls aside: what functions are is not known here."""
    if isinstance(term, Infix):
        return term.operator in COMPARISONS
    return isinstance(term, Between | In | Is | Not | Joined)


@dataclass(frozen=True, slots=True)
class Source:
    """A table, or one of its indexes."""

    table: str
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Ordering:
    """One key of ORDER BY."""

    term: Term
    descending: bool


@dataclass(frozen=True, slots=True)
class Select:
    """SELECT; no `shown` stands for all attributes. `call` is the first function call in the projection."""

    source: Source
    shown: tuple[Path, ...] | None
    where: Term | None
    order: tuple[Ordering, ...]
    call: Call | None = None


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO table VALUE item."""

    source: Source
    item: Term


@dataclass(frozen=True, slots=True)
class Assignment:
    """SET path = value."""

    path: Path
    value: Term


@dataclass(frozen=True, slots=True)
class Removal:
    """REMOVE path."""

    path: Path


@dataclass(frozen=True, slots=True)
class Update:
    """UPDATE; `returning` as ReturnValues of UpdateItem."""

    source: Source
    changes: tuple[Assignment | Removal, ...]
    where: Term | None
    returning: str


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM; `returning` is ALL_OLD or NONE."""

    source: Source
    where: Term | None
    returning: str


@dataclass(frozen=True, slots=True)
class Exists:
    """EXISTS(SELECT ...), which a transaction may hold as a check."""

    select: Select


Statement: TypeAlias = Select | Insert | Update | Delete | Exists


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement and how many parameters it has."""

    statement: Statement
    parameters: int
