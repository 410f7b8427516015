"""What stands beside a field's type: the attribute it is stored under, and how a moment is stored."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from keyplan.design.field_types import StoredAs, UnstorableTypeError, without_none
from keyplan.design.given import word

_STORED_AS: tuple[StoredAs, ...] = get_args(StoredAs)


@word
@dataclass(frozen=True)
class Attribute:
    """Beside a field's type: how it is stored. `Annotated[datetime, Attribute("createdAt", stored="epoch_s")]`."""

    name: str | None = None
    """The attribute's name; the field's own when not said."""
    stored: StoredAs | None = None
    """A moment as a Number of seconds or milliseconds since 1970, or as ISO 8601 text of seconds or milliseconds;
    without it the text has microseconds."""


def mark_of(info: FieldInfo) -> Attribute:
    """What stands beside a field's type, also beside the part of a union that is not None."""
    marks = [mark for mark in info.metadata if isinstance(mark, Attribute)] or list(_marks_in(info.annotation))
    mark = marks[-1] if marks else Attribute()
    # A model that goes out under other names by pydantic's own means is stored under them too.
    return replace(mark, name=info.serialization_alias) if mark.name is None and info.serialization_alias else mark


def _marks_in(annotation: Any) -> Iterator[Attribute]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from (mark for mark in annotation.__metadata__ if isinstance(mark, Attribute))
        yield from _marks_in(annotation.__origin__)
    elif origin in {Union, types.UnionType}:
        for part in get_args(annotation):
            yield from _marks_in(part)


def check_mark(mark: Attribute, annotation: Any) -> None:
    """Refuse stored="epoch_s" of what is no moment, and other words for it."""
    if not (mark.name is None or (isinstance(mark.name, str) and mark.name)):
        raise UnstorableTypeError(f"Attribute({mark.name!r}) names no attribute", 'write Attribute("name")')
    if mark.stored is None:
        return
    if mark.stored not in _STORED_AS:
        raise UnstorableTypeError(f"there is no stored={mark.stored!r}", f"use {' or '.join(map(repr, _STORED_AS))}")
    if not (isinstance(annotation, type) and issubclass(annotation, datetime)):
        raise UnstorableTypeError(f"stored={mark.stored!r} is for a datetime", "leave it out, or make it a datetime")


def check_unions(annotation: Any) -> None:
    """Refuse unions of models that store fields under other names: nothing would tell which names to read."""
    annotation, _ = without_none(annotation)
    union = get_origin(annotation) in {Union, types.UnionType}
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        model, _ = without_none(part)
        if union and isinstance(model, type) and issubclass(model, BaseModel):
            for name, info in model.model_fields.items():
                if mark_of(info) != Attribute():
                    raise UnstorableTypeError(
                        f"{model.__name__}.{name} has an Attribute of its own, and the model is one of a union",
                        "leave the Attribute out, or the union",
                    )
        check_unions(part)


def check_aliases(model: type[BaseModel]) -> None:
    """Refuse a model that could be written under its aliases and not be read by its fields' own names."""
    for name in model.model_fields:
        check_alias(model, name)


def check_alias(model: type[BaseModel], name: str) -> None:
    """The same of one field."""
    config = model.model_config
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return
    if model.model_fields[name].validation_alias is not None:
        raise UnstorableTypeError(
            f"{model.__name__}.{name} has an alias, and only the alias is read",
            "add populate_by_name=True to the model's model_config",
        )
