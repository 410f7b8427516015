"""What keeps a pattern from being tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import EnumMeta
from functools import lru_cache
from random import Random
from string import ascii_lowercase
from types import UnionType
from typing import Annotated, Any, Literal, NewType, TypeGuard, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from keyplan.design.annotations import without_none
from keyplan.errors import KeyplanError


class SampleError(KeyplanError):
    """A value, or an item, that could not be made up."""


class MissingGeneratorError(KeyplanError):
    """What makes up values is not installed."""


class NothingFitsError(KeyplanError):
    """No arguments were found for a pattern among the generated items."""


@lru_cache(maxsize=4096)
def examples_of(model: type[BaseModel]) -> tuple[BaseModel, ...]:
    """The examples of a model's `json_schema_extra`, by field or alias. Raises SampleError for one that does not fit.

    Those that it only inherits may be of less than it has: of them the ones that fit are taken.
    """
    found = []
    inherited = any(
        _declared_examples(base) is _declared_examples(model)
        for base in model.__mro__[1:]
        if issubclass(base, BaseModel)
    )
    for number, example in enumerate(_declared_examples(model) or (), 1):
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
    return bool(_declared_examples(model))


def leaves_out(model: type[BaseModel], names: Iterable[str]) -> bool:
    """Whether some example of a model has none of these fields: then there are items that are stored without them."""
    fields = {name: model.model_fields[name] for name in names}
    aliases = [alias for field in fields.values() for alias in (field.alias, field.validation_alias)]
    known = {*fields, *(alias for alias in aliases if isinstance(alias, str))}
    return any(
        isinstance(example, Mapping) and known.isdisjoint(example) for example in _declared_examples(model) or ()
    )


def _declared_examples(model: type[BaseModel]) -> Any:
    extra = model.model_config.get("json_schema_extra")
    return extra.get("examples") if isinstance(extra, Mapping) else None


MakeValue = Callable[[], Any]
_TRIES = 200
_DIFFERENT_TRIES = 20
_ELEMENTS, _WORD, _LETTERS, _NUMBERS = 2, 8, 64, 9_999
"""A collection, a text or a number is at least what it must be, at least one, and at most so much more.

A text of which only the least length is said is a word; otherwise it may have any length, up to so many letters."""
DEEP = 4
"""Models in models: from here on, what may be left out is left out, so that a tree comes to an end; and collections in
collections have no more elements than they must."""
_MANY: dict[Any, type] = {
    list: list, tuple: tuple, set: set, frozenset: frozenset, Sequence: list, AbstractSet: frozenset,
}  # fmt: skip


class TypeGenerators:
    """Works out how values are made."""

    def __init__(
        self,
        chance: Random,
        plain: Mapping[Any, MakeValue],
        model: Callable[[type[BaseModel]], BaseModel],
        depth: Callable[[], int],
    ) -> None:
        """`plain`: how types without constraints are made. `model` makes an object, `depth` says of how many others
        it is a part. Raises MissingGeneratorError."""
        self._chance, self._plain, self._model, self._depth = chance, plain, model, depth
        self._inside = 0  # of how many collections what is being made is a part
        try:
            from faker import Faker  # noqa: PLC0415 - comes with polyfactory, which is an extra
            from polyfactory.factories.pydantic_factory import ModelFactory  # noqa: PLC0415
        except ModuleNotFoundError as missing:
            raise MissingGeneratorError("generated data needs polyfactory: pip install keyplan[verify]") from missing
        self._faker, self._factory = Faker(), ModelFactory
        self._faker.seed_instance(chance.getrandbits(32))

    def of(self, annotation: Any, metadata: Sequence[Any] = ()) -> MakeValue:
        """How a value of a type is made, never None. The recipe raises SampleError where none can be."""
        told = _examples(annotation)
        if told:
            return checked_choice(self._chance, annotation, metadata, told, f"{annotation}")
        kind, marks = unwrapped(annotation, metadata)
        made = self._of_kind(kind, marks)
        return made if not marks or _is_model(kind) else self._checked(made, kind, marks)

    def _of_kind(self, kind: Any, marks: Sequence[Any]) -> MakeValue:
        origin, arguments = get_origin(kind), get_args(kind)
        if _is_model(kind):
            return lambda: self._model(kind)
        if origin is Literal or isinstance(kind, EnumMeta):
            choices = list(arguments) if origin is Literal else list(kind)
            return lambda: self._chance.choice(choices)
        if origin in {Union, UnionType}:
            parts = [self.of(part) for part in arguments]
            return lambda: self._chance.choice(parts)()  # noqa: PLW0108 - another part each time
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            parts = [self.of(part) for part in arguments]
            return lambda: tuple(part() for part in parts)
        whole = origin or kind
        if whole in _MANY:
            return self._many(_MANY[whole], self.of(arguments[0] if arguments else str), marks)
        if whole in {dict, Mapping}:
            of_names, of_values = arguments or (str, str)
            names, values = self._many(tuple, self.of(of_names), marks), self.of(of_values)
            return lambda: {name: values() for name in names()}
        if not marks and kind in self._plain:
            return self._plain[kind]
        return self._bounded(kind, marks) or self._by_polyfactory(kind, marks)

    def _bounded(self, kind: Any, marks: Sequence[Any]) -> MakeValue | None:
        """The most usual constraints: a whole number from one to another, a text of some length."""
        if kind is int and not _constraints(marks, "multiple_of"):
            low, high = _bounds(marks)
            return lambda: self._chance.randint(low, high)
        if kind is str and not _constraints(marks, "pattern"):
            least, most = _lengths(marks, _LETTERS if _constraints(marks, "max_length") else _WORD)
            return lambda: "".join(self._chance.choices(ascii_lowercase, k=self._chance.randint(least, most)))
        return None

    def _many(self, kind: type, element: MakeValue, marks: Sequence[Any]) -> MakeValue:
        """Some elements, different ones as far as a few tries find them."""
        least, most = _lengths(marks, _ELEMENTS)
        may_be_empty = not any(_constraints(marks, "min_length"))

        def make() -> Any:
            if may_be_empty and self._depth() > DEEP:
                return kind()
            self._inside += 1
            try:
                return kind(
                    self._different(element, least if self._inside > DEEP else self._chance.randint(least, most))
                )
            finally:
                self._inside -= 1

        return make

    def _different(self, element: MakeValue, wanted: int) -> list[Any]:
        made: list[Any] = []
        for _ in range(wanted):
            one = element()
            for _ in range(_DIFFERENT_TRIES):
                if one not in made:
                    break
                one = element()
            made.append(one)
        return made

    def _checked(self, made: MakeValue, kind: Any, marks: Sequence[Any]) -> MakeValue:
        """A recipe repeated until the constraints accept what it makes."""
        accepts = _holder(kind, marks)

        def make() -> Any:
            reason: Exception | None = None
            for _ in range(_TRIES):
                value = made()
                try:
                    accepts.model_validate({"value": value})
                except ValidationError as error:
                    reason = error
                else:
                    return value
            raise SampleError(str(reason)) from reason

        return make

    def _by_polyfactory(self, kind: Any, marks: Sequence[Any]) -> MakeValue:
        known = {**self._factory.get_provider_map(), **self._plain}
        try:
            holder = _holder(kind, marks)
        except Exception as error:  # whatever pydantic makes of a type that is none of its own
            raise SampleError(f"{getattr(kind, '__name__', kind)} is no type that values can be made of") from error
        factory = self._factory.create_factory(
            holder,
            __random__=self._chance,
            __faker__=self._faker,
            __allow_none_optionals__=False,
            __check_model__=False,
            get_provider_map=classmethod(lambda _factory: known),
        )
        (meta,) = factory.get_model_fields()

        def make() -> Any:
            try:
                return factory.get_field_value(meta)
            except Exception as error:  # whatever a type's own code raises
                raise SampleError(str(error)) from error

        return make


def _holder(annotation: Any, marks: Sequence[Any]) -> type[BaseModel]:
    """A model whose only field has the type."""
    whole: Any = Annotated[(annotation, *marks)] if marks else annotation
    return create_model("Holder", __config__=ConfigDict(arbitrary_types_allowed=True), value=(whole, ...))


def checked_choice(
    chance: Random, annotation: Any, metadata: Sequence[Any], examples: Sequence[Any], what: str
) -> MakeValue:
    """One of some examples, each as its type reads it. Raises SampleError for one that does not fit."""
    reads = _holder(annotation, metadata)
    fitting = []
    for example in examples:
        try:
            fitting.append(reads.model_validate({"value": example}).__dict__["value"])
        except ValidationError as error:
            raise SampleError(f"example {example!r} of {what} does not fit its own type: {error}") from error
    return lambda: chance.choice(fitting)


def _constraints(marks: Sequence[Any], name: str) -> list[Any]:
    """What constraints say under a name."""
    return [value for mark in marks if (value := getattr(mark, name, None)) is not None]


def _lengths(marks: Sequence[Any], spread: int) -> tuple[int, int]:
    """The least and most elements or letters to make; none only where there may be none."""
    least = max([1, *_constraints(marks, "min_length")])
    most = min([least + spread, *_constraints(marks, "max_length")])
    return min(least, most), most


def _bounds(marks: Sequence[Any]) -> tuple[int, int]:
    """The least and most of a whole number; where only one is said, the other is not far from it."""
    lows = [
        *(math.ceil(low) for low in _constraints(marks, "ge")),
        *(math.floor(low) + 1 for low in _constraints(marks, "gt")),
    ]
    highs = [
        *(math.floor(high) for high in _constraints(marks, "le")),
        *(math.ceil(high) - 1 for high in _constraints(marks, "lt")),
    ]
    high = min(highs) if highs else max([1, *lows]) + _NUMBERS
    low = max(lows) if lows else min(1, high - _NUMBERS)
    return min(low, high), high


def unwrapped(annotation: Any, metadata: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The type itself, without None, and what is said beside it."""
    marks = list(metadata)
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *beside = get_args(annotation)
            marks += [part for mark in beside for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        else:
            arms = [arm for arm in get_args(annotation) if arm is not type(None)]
            if get_origin(annotation) not in {Union, UnionType} or len(arms) > 1:
                return without_none(annotation)[0], marks
            (annotation,) = arms


def _examples(annotation: Any) -> Sequence[Any]:
    """Examples that stand beside a type within another: list[Annotated[str, Field(examples=[...])]]."""
    if get_origin(annotation) is not Annotated:
        return ()
    told = [mark.examples for mark in get_args(annotation)[1:] if isinstance(mark, FieldInfo) and mark.examples]
    return told[-1] if told else ()


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


_DAY_S = 86_400
_WORD_LETTERS = 8
_MODEL_TRIES = 40
_PRESENT = 0.5


Fits = Callable[[Any], bool]


def _any_fits(_value: Any) -> bool:
    return True


def _is_mail(annotation: Any, name: str) -> bool:
    """Whether a field is an address of mail by its name: what looks like one is mostly checked to be one."""
    return without_none(annotation)[0] is str and "mail" in name.lower()


class ValueGenerator:
    """Makes up values. The same seed gives the same values, in the same order of asking."""

    def __init__(self, seed: int, now_s: float) -> None:
        self.random = Random(seed)  # noqa: S311 - made-up data, no secrets
        self.now_s = now_s
        self._depth = 0
        self._recipes = TypeGenerators(
            self.random, self._plain(), lambda model: self.model(model, {}), lambda: self._depth
        )
        self._of_fields: dict[tuple[type[BaseModel], str], MakeValue] = {}
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

    def _recipe(self, model: type[BaseModel], name: str) -> MakeValue:
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
        return "".join(self.random.choices(ascii_lowercase, k=_WORD_LETTERS))

    def _plain(self) -> dict[Any, MakeValue]:
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
