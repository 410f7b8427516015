"""Values of fields, made by polyfactory from a seed: of any type and constraint that a pydantic model can state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from string import ascii_lowercase
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ValidationError

from keyplan.design.field_types import without_none
from keyplan.verify.errors import SampleError
from keyplan.verify.examples import examples_of
from keyplan.verify.recipes import DEEP, Recipe, Recipes, checked_choice

_DAY_S = 86_400
_WORD = 8
_TRIES = 200
_MODEL_TRIES = 40
_PRESENT = 0.5


Fits = Callable[[Any], bool]


def _any_fits(_value: Any) -> bool:
    return True


def _is_mail(annotation: Any, name: str) -> bool:
    """Whether a field is an address of mail by its name: what looks like one is mostly checked to be one."""
    return without_none(annotation)[0] is str and "mail" in name.lower()


class Samples:
    """Makes up values. The same seed gives the same values, in the same order of asking."""

    def __init__(self, seed: int, now_s: float) -> None:
        self.random = Random(seed)  # noqa: S311 - made-up data, no secrets
        self.now_s = now_s
        self._depth = 0
        self._recipes = Recipes(self.random, self._plain(), lambda model: self.model(model, {}), lambda: self._depth)
        self._of_fields: dict[tuple[type[BaseModel], str], Recipe] = {}
        self._pools: dict[tuple[str, Any], list[Any]] = {}

    def field(self, model: type[BaseModel], name: str) -> Any:
        """A value of a model's field, never None."""
        recipe = self._of_fields.get((model, name))
        if recipe is None:
            recipe = self._of_fields[model, name] = self._recipe(model, name)
        try:
            return recipe()
        except SampleError as error:
            raise SampleError(f"no value of {model.__name__}.{name} can be made up: {error}") from error

    def _recipe(self, model: type[BaseModel], name: str) -> Recipe:
        info = model.model_fields[name]
        if info.examples:
            what = f"{model.__name__}.{name}"
            return checked_choice(self.random, info.annotation, info.metadata, info.examples, what)
        if _is_mail(info.annotation, name):
            return self._mail
        return self._recipes.of(info.annotation, info.metadata)

    def _mail(self) -> str:
        return f"{self.word()}@example.com"

    def of_type(self, annotation: Any, name: str = "value") -> Any:
        """A value of a type, of something that has this name."""
        if _is_mail(annotation, name):
            return self._mail()
        return self._recipes.of(annotation)()

    def nth(self, model: type[BaseModel], name: str, number: int, fits: Fits = _any_fits) -> Any:
        """One of a row of different values of a field: the same for all models whose field has that name and type.

        `fits` says which values can be used at all.
        """
        info = model.model_fields[name]
        plain, _ = without_none(info.annotation)
        constrained = bool(info.metadata) or plain is not info.annotation
        if not constrained and plain is str:
            word = f"{''.join(filter(str.isalnum, name.lower()))}{number:05d}"
            return f"{word}@example.com" if _is_mail(plain, name) else word
        if not constrained and plain is int:
            return number + 1
        pool = self._pools.setdefault((name, repr(info.annotation)), [])
        while len(pool) <= number:
            pool.append(self._different(model, name, pool, fits))
        return pool[number]

    def up_to(self, model: type[BaseModel], name: str, number: int, fits: Fits = _any_fits) -> Any:
        """The same where there may be fewer values than that: then one of those there are."""
        try:
            return self.nth(model, name, number, fits)
        except SampleError:
            pool = self._pools.get((name, repr(model.model_fields[name].annotation)))
            if not pool:
                raise
            return pool[number % len(pool)]

    def _different(self, model: type[BaseModel], name: str, pool: list[Any], fits: Fits) -> Any:
        for _ in range(_TRIES):
            value = self.field(model, name)
            if value not in pool and fits(value):
                return value
        raise SampleError(f"{model.__name__}.{name} has no more than {len(pool)} different values, and more are needed")

    def model(self, model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
        """An object of a model with some fields given: one of its examples, where it has any."""
        told = examples_of(model)
        reason: ValidationError | None = None
        for attempt in range(_MODEL_TRIES):
            values = dict(self.random.choice(told)) if told else self._values(model, given, whole=attempt % 2 == 0)
            try:
                return model.model_validate({**values, **given}, by_name=True)
            except ValidationError as error:
                reason = error
        raise SampleError(
            f"no {model.__name__} can be made up that its own rules accept: {reason}; tell an example:"
            ' model_config = ConfigDict(json_schema_extra={"examples": [{...}]})'
        ) from reason

    def _values(self, model: type[BaseModel], given: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
        """Values of the fields that are not given. `whole`: also of those that may be left out."""
        self._depth += 1
        try:
            return {
                name: self.field(model, name)
                for name, info in model.model_fields.items()
                if name not in given
                and (info.is_required() or (self._depth <= DEEP and (whole or self.random.random() < _PRESENT)))
            }
        finally:
            self._depth -= 1

    def moment(self) -> datetime:
        """A moment of the last ninety days, in whole seconds."""
        return self.moment_of(90 * _DAY_S)

    def moment_of(self, period_s: int) -> datetime:
        """The same of a period that ends now."""
        return datetime.fromtimestamp(math.floor(self.now_s) - self.random.randrange(1, period_s), UTC)

    def expiry(self) -> datetime:
        """A moment of the next ninety days."""
        return datetime.fromtimestamp(math.floor(self.now_s) + self.random.randrange(_DAY_S, 90 * _DAY_S), UTC)

    def word(self) -> str:
        """Some letters."""
        return "".join(self.random.choices(ascii_lowercase, k=_WORD))

    def _plain(self) -> dict[Any, Recipe]:
        """What is made here: values that depend on the seed alone, and that keys can be made of."""
        chance = self.random
        return {
            str: self.word,
            int: lambda: chance.randrange(1, 10_000),
            float: lambda: round(chance.uniform(0, 1000), 2),
            Decimal: lambda: Decimal(chance.randrange(0, 100_000)) / 100,
            bool: lambda: chance.random() < 0.5,
            bytes: lambda: chance.randbytes(16),
            UUID: lambda: UUID(int=chance.getrandbits(128), version=4),
            datetime: self.moment,
            date: lambda: self.moment().date() + timedelta(days=chance.randrange(365)),
            time: lambda: time(chance.randrange(24), chance.randrange(60)),
            timedelta: lambda: timedelta(seconds=chance.randrange(1, _DAY_S)),
            Any: self.word,
            object: self.word,
        }
