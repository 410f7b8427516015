"""What terms of reads and of writes share: how `&` joins them, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NoReturn

from keyplan.design.conditions import Condition
from keyplan.design.places import DesignError, Place, caller
from keyplan.design.symbols import Each, EveryShard, Source

Of = Literal["reads", "writes"]


def said(fields: Mapping[str, Source]) -> str:
    """Fields and what they are, as they were written."""
    return ", ".join(f"{name}={source!r}" for name, source in fields.items())


def no_truth() -> NoReturn:
    """Refuse `and`, `or` and `not`."""
    raise DesignError(
        "a pattern's terms have no truth value",
        place=caller(),
        fix="join them with & instead of and; for what or and not are to say, declare a pattern for each case",
    )


def not_joined(kind: Of, other: object) -> NoReturn:
    """Refuse what is neither of the same kind nor a term at all."""
    if isinstance(other, Condition):
        word = "where" if kind == "reads" else "when"
        raise DesignError(
            "a condition on fields is joined to terms as it is", place=caller(), fix=f"wrap it: {word}(F.field == ...)"
        )
    if isinstance(other, (Each, EveryShard)):
        raise DesignError(
            f"{other!r} is joined to terms by itself, and not given to a field",
            place=caller(),
            fix=f"say whose values they are: {'pk' if kind == 'reads' else 'key_of'}(field={other!r})",
        )
    raise DesignError(
        f"{other!r} is joined to the terms of a pattern that {kind}",
        place=caller(),
        fix="join pk(...), sk(...) and where(...) in reads, key_of(...), set_(...), when(...) and the like in writes",
    )


def all_named(word: str, unnamed: Sequence[object]) -> None:
    """Refuse values without the field that they are of."""
    if unnamed:
        raise DesignError(
            f"{word}(...) is given {unnamed[0]!r}, and not which field that is",
            place=caller(),
            fix=f"write {word}(field={unnamed[0]!r})",
        )


def once(twice: object, what: str) -> None:
    """Refuse what both sides say."""
    if twice:
        raise DesignError(f"the pattern says its {what} twice", place=caller(), fix="keep one: a key condition has one")


def one_way(fields: object, words: object, what: str) -> None:
    """Refuse a key that is said by its fields and written out too: one of them would go unheard."""
    if fields and words is not None:
        raise DesignError(
            f"the pattern says its {what} by fields, and as a text too",
            place=caller(),
            fix="keep one: name the fields, or write the whole text out",
        )


_WRITTEN = {"pk": 'pk.text("USER#{user_id}")', "sk": 'sk.text("=", "TASK#{task_id}")'}


def written(word: str, words: object) -> None:
    """Refuse what is no text where a key is written out."""
    if not isinstance(words, str):
        raise DesignError(
            f"{word}.text is given {words!r}, which is no text",
            place=caller(),
            fix=f"write the text out, with parameters as holes: {_WRITTEN[word]}",
        )


def merged(one: dict[str, Source], other: dict[str, Source]) -> dict[str, Source]:
    """The fields of both sides, none of them twice."""
    for name in other:
        if name in one:
            raise DesignError(f"the pattern says {name} twice", place=caller(), fix="say it once")
    return {**one, **other}


def both(one: Condition | None, other: Condition | None) -> Condition | None:
    """The conditions of both sides."""
    return other if one is None else one if other is None else one & other


def places(names: Mapping[str, object]) -> dict[str, Place]:
    """Where each field is named: all of them where the code stands that calls."""
    return dict.fromkeys(names, caller()) if names else {}


def condition_of(condition: Condition, word: str) -> Condition:
    """Refuse what is no condition on fields."""
    if not isinstance(condition, Condition):
        raise DesignError(
            f"{word}({condition!r}) is no condition on fields",
            place=caller(),
            fix=f"write {word}(F.field == value), or another comparison of F.field",
        )
    return condition
