"""What can be read off a statement's terms: the attributes they name, what they join, what must be equal."""

from __future__ import annotations

from collections.abc import Sequence as Several
from typing import Literal

from keyplan.dynamodb.messages import partiql as messages
from keyplan.dynamodb.partiql.nodes import Between, Call, In, Infix, Is, Joined, Not, Path, Sequence, Term, is_test
from keyplan.errors import ValidationError


def attributes(term: Term) -> list[str]:
    """The attributes that a term names, in order."""
    match term:
        case Path():
            return [str(term.parts[0])]
        case Joined():
            parts: Several[Term] = term.terms
        case Not():
            parts = (term.term,)
        case Infix():
            parts = (term.left, term.right)
        case Between():
            parts = (term.operand, term.lower, term.upper)
        case In():
            parts = (term.operand,)
        case Is():
            parts = (term.operand,)
        case Call():
            parts = term.arguments
        case _:
            return []
    return [name for part in parts for name in attributes(part)]


def equalities(term: Term | None, names: Several[str], *, several: bool = False) -> tuple[dict[str, Term], Term | None]:
    """The terms that these attributes must equal, and what else is required.

    Only what is joined by AND counts. An attribute that is compared with two values is a fault, a ValidationError,
    or, of `several`, equal to the first; the other is required besides.
    """
    found: dict[str, Term] = {}
    rest: list[Term] = []
    for part in () if term is None else joined(term, "and"):
        compared = equality(part)
        if compared is not None and compared[0] in names:
            name, value = compared
            if found.setdefault(name, value) != value:
                if not several:
                    raise ValidationError(messages.several_on_key(name))
                rest.append(part)
        else:
            rest.append(part)
    return found, together(rest)


def joined(term: Term, operator: Literal["and", "or"]) -> tuple[Term, ...]:
    """The terms that the operator joins, whatever parentheses stand between them; a term of another kind alone."""
    if not isinstance(term, Joined) or term.operator != operator:
        return (term,)
    return tuple(inner for part in term.terms for inner in joined(part, operator))


def equality(term: Term) -> tuple[str, Term] | None:
    """Attribute and value of an equality of the two."""
    if not isinstance(term, Infix) or term.operator != "=":
        return None
    for path, value in ((term.left, term.right), (term.right, term.left)):
        if isinstance(path, Path) and len(path.parts) == 1 and not _is_computed(value):
            return str(path.parts[0]), value
    return None


def _is_computed(term: Term) -> bool:
    return isinstance(term, Path | Call | Infix) or is_test(term)


def choices_of(term: In) -> Several[Term]:
    """The terms that an IN names."""
    return term.choices.members if isinstance(term.choices, Sequence) else ()


def single(term: Term) -> Term:
    """The equality that an IN with one value is; another term as it is."""
    if isinstance(term, In) and len(choices_of(term)) == 1:
        return Infix("=", term.operand, *choices_of(term))
    return term


def together(terms: Several[Term]) -> Term | None:
    """Terms joined by AND; None for none."""
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else Joined("and", tuple(terms))
