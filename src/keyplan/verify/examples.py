"""What a design tells where values cannot be guessed: pydantic's own examples, of fields and of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from keyplan.verify.errors import SampleError


@lru_cache(maxsize=4096)
def examples_of(model: type[BaseModel]) -> tuple[BaseModel, ...]:
    """The examples of a model's `json_schema_extra`, by field or alias. Raises SampleError for one that does not fit.

    Those that it only inherits may be of less than it has: of them the ones that fit are taken.
    """
    found = []
    inherited = any(_told(base) is _told(model) for base in model.__mro__[1:] if issubclass(base, BaseModel))
    for number, example in enumerate(_told(model) or (), 1):
        try:
            found.append(model.model_validate(example, by_alias=True, by_name=True))
        except ValidationError as error:
            if not inherited:
                raise SampleError(
                    f"example {number} of {model.__name__} does not fit its own model: {error}"
                ) from error
    return tuple(found)


def has_examples(model: type[BaseModel]) -> bool:
    """Whether there are examples of a model, be they ones that fit."""
    return bool(_told(model))


def leaves_out(model: type[BaseModel], names: Iterable[str]) -> bool:
    """Whether some example of a model has none of these fields: then there are items that are stored without them."""
    fields = {name: model.model_fields[name] for name in names}
    aliases = [alias for field in fields.values() for alias in (field.alias, field.validation_alias)]
    known = {*fields, *(alias for alias in aliases if isinstance(alias, str))}
    return any(isinstance(example, Mapping) and known.isdisjoint(example) for example in _told(model) or ())


def _told(model: type[BaseModel]) -> Any:
    extra = model.model_config.get("json_schema_extra")
    return extra.get("examples") if isinstance(extra, Mapping) else None
