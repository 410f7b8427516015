"""Values of fields, made by polyfactory from a seed: of any type and constraint that a pydantic model can state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from string import ascii_lowercase
from typing import Any, TypeGuard, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ValidationError

from keyplan.design.fields import without_none
from keyplan.errors import KeyplanError

_DAY_S = 86_400
_WORD = 8
_TRIES = 200
_MODEL_TRIES = 20


Fits = Callable[[Any], bool]


def _any_fits(_value: Any) -> bool:
    return True


class SampleError(KeyplanError):
    """A value, or an item, that could not be made up."""


class MissingGeneratorError(KeyplanError):
    """What makes up values is not installed."""


class Samples:
    """Makes up values. The same seed gives the same values, in the same order of asking."""

    def __init__(self, seed: int, now_s: float) -> None:
        self.random = Random(seed)  # noqa: S311 - made-up data, no secrets
        self.now_s = now_s
        self._faker: Any = None
        self._factories: dict[type[BaseModel], tuple[Any, dict[str, Any]]] = {}
        self._pools: dict[tuple[str, Any], list[Any]] = {}

    def field(self, model: type[BaseModel], name: str) -> Any:
        """A value of a model's field, never None."""
        info = model.model_fields[name]
        if info.examples:
            return self.random.choice(info.examples)
        kind, _ = without_none(info.annotation)
        if kind is str and "mail" in name.lower():
            return f"{self.word()}@example.com"  # what looks like one is mostly checked to be one
        within = get_args(kind)[0] if get_origin(kind) is list and get_args(kind) and not info.metadata else None
        if _is_model(kind):
            return self.model(kind, {})
        if within is not None and _is_model(within):
            return [self.model(within, {}) for _ in range(self.random.randint(1, 3))]
        factory, metas = self._of(model)
        try:
            return factory.get_field_value(metas[name])
        except Exception as error:  # whatever a type's own code raises
            raise SampleError(f"no value of {model.__name__}.{name} can be made up: {error}") from error

    def of_type(self, annotation: Any, name: str = "value") -> Any:
        """A value of a type."""
        holder = type("Holder", (BaseModel,), {"__annotations__": {name: annotation}, "__module__": __name__})
        return self.field(holder, name)

    def nth(self, model: type[BaseModel], name: str, number: int, fits: Fits = _any_fits) -> Any:
        """One of a row of different values of a field: the same for all models whose field has that name and type.

        `fits` says which values can be used at all.
        """
        info = model.model_fields[name]
        plain, _ = without_none(info.annotation)
        constrained = bool(info.metadata) or plain is not info.annotation
        if not constrained and plain is str:
            word = f"{''.join(filter(str.isalnum, name.lower()))}{number:05d}"
            return f"{word}@example.com" if "mail" in name.lower() else word
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
        """An object of a model with some fields given."""
        for last in (False,) * _MODEL_TRIES + (True,):
            values = {name: self.field(model, name) for name in model.model_fields if name not in given}
            try:
                return model.model_validate({**values, **given}, by_name=True)
            except ValidationError as error:
                if last:
                    raise SampleError(
                        f"no {model.__name__} can be made up that its own rules accept: {error}; give its fields"
                        " examples: Field(examples=[...])"
                    ) from error
        raise AssertionError("the last try returns or raises")

    def moment(self) -> datetime:
        """A moment of the last ninety days, in whole seconds."""
        return datetime.fromtimestamp(math.floor(self.now_s) - self.random.randrange(1, 90 * _DAY_S), UTC)

    def expiry(self) -> datetime:
        """A moment of the next ninety days."""
        return datetime.fromtimestamp(math.floor(self.now_s) + self.random.randrange(_DAY_S, 90 * _DAY_S), UTC)

    def word(self) -> str:
        """Some letters."""
        return "".join(self.random.choices(ascii_lowercase, k=_WORD))

    def _providers(self) -> dict[Any, Callable[[], Any]]:
        """What is made here instead: values that depend on the seed alone, and that keys can be made of."""
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

    def _of(self, model: type[BaseModel]) -> tuple[Any, dict[str, Any]]:
        if model not in self._factories:
            self._factories[model] = self._make(model)
        return self._factories[model]

    def _make(self, model: type[BaseModel]) -> tuple[Any, dict[str, Any]]:
        try:
            from faker import Faker  # noqa: PLC0415 - comes with polyfactory, which is an extra
            from polyfactory.factories.pydantic_factory import ModelFactory  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            raise MissingGeneratorError("generated data needs polyfactory: pip install keyplan[verify]") from missing
        if self._faker is None:
            self._faker = Faker()
            self._faker.seed_instance(self.random.getrandbits(32))
        known = {**ModelFactory.get_provider_map(), **self._providers()}

        def get_provider_map(_factory: type[Any]) -> dict[Any, Any]:
            return known

        factory = ModelFactory.create_factory(
            model,
            __random__=self.random,
            __faker__=self._faker,
            __allow_none_optionals__=False,
            __check_model__=False,
            get_provider_map=classmethod(get_provider_map),
        )
        metas = {meta.name: meta for meta in factory.get_model_fields()}
        for meta in metas.values():
            meta.required = True  # a value is always wanted: whether a field is there is decided elsewhere
        return factory, metas


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
