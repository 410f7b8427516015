"""What a template needs to know about a field of an entity, read from its annotation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from keyplan.design.field_types import plain, stripped


@dataclass(frozen=True)
class Field:
    """A field: its type without Annotated, Optional and NewType, and the limits that are declared for it.

    `choices` are the members of an Enum or the values of a Literal, in declared order. Lengths are
    characters; `pattern` is a regular expression; `minimum` and `maximum` bound a number, both included.
    """

    name: str
    type: Any
    optional: bool = False
    choices: tuple[Any, ...] | None = None
    max_length: int | None = None
    min_length: int | None = None
    pattern: str | None = None
    minimum: int | None = None
    maximum: int | None = None

    @classmethod
    def of(cls, name: str, annotation: Any, info: FieldInfo | None = None) -> Field:
        """The field that an annotation declares, with the constraints of its pydantic FieldInfo."""
        bare, optional, metadata = stripped(annotation)
        limits = dict(_limits([*metadata, *([info] if info is not None else [])]))
        choices = _choices(bare)
        if get_origin(bare) is Literal:
            kinds = {type(choice) for choice in choices or ()}
            bare = kinds.pop() if len(kinds) == 1 else object
        return cls(name, bare, optional, choices, **limits)

    @property
    def stored_choices(self) -> tuple[Any, ...]:
        """The choices as they are stored, members of an Enum by their values; none where there are no choices."""
        return tuple(map(plain, self.choices or ()))

    @property
    def type_name(self) -> str:
        """The type as a reader would write it."""
        if isinstance(self.type, type) and not get_args(self.type):
            return self.type.__name__
        return str(self.type).replace("typing.", "")


_NUMBER_LIMITS = (("ge", "minimum", 0), ("gt", "minimum", 1), ("le", "maximum", 0), ("lt", "maximum", -1))


def _choices(bare: Any) -> tuple[Any, ...] | None:
    if get_origin(bare) is Literal:
        return get_args(bare)
    if isinstance(bare, type) and issubclass(bare, Enum):
        return tuple(bare)
    return None


def _limits(metadata: list[Any]) -> Iterator[tuple[str, Any]]:
    """Constraints by name. Metadata comes from pydantic and annotated_types, which share attribute names."""
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from _limits(entry.metadata)
            continue
        for name in ("min_length", "max_length", "pattern"):
            value = getattr(entry, name, None)
            if value is not None:
                yield name, getattr(value, "pattern", value)  # a compiled expression holds its text
        yield from _number_limits(entry)


def _number_limits(entry: Any) -> Iterator[tuple[str, int]]:
    for attribute, name, step in _NUMBER_LIMITS:
        value = getattr(entry, attribute, None)
        if isinstance(value, int):
            yield name, value + step
