"""Generates values for types and fields from a random seed, with polyfactory.

Each type is analyzed once, so that generating many values is fast. Collections, unions, models, and common kinds of
strings and numbers are generated in this module, and other values by polyfactory. If the constraints of the type reject
a value, another one is generated. For example, a string can match a pattern but have the wrong length. Examples of
pydantic fields and models take precedence over generated values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import EnumMeta
from functools import lru_cache
from random import Random
from string import ascii_lowercase, digits
from types import UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, ConfigDict, PlainSerializer, ValidationError, create_model
from pydantic.fields import FieldInfo

from keyplan.design.fields.annotations import Attribute, unwrap, without_none
from keyplan.errors import KeyplanError

MakeValue = Callable[[], Any]
_TRIES = 200
_DISTINCT_TRIES = 20
_ELEMENTS, _WORD, _LETTERS, _NUMBERS = 2, 8, 64, 9_999
"""How far a collection, text or number can exceed its minimum, which counts as at least one.

A text with only a minimum length is a word. A text with a maximum may have any length up to _LETTERS.
"""
DEEP = 4
"""The nesting depth beyond which optional fields are omitted and collections have their minimum length.

The limit ends the generation of recursive models.
"""
_COLLECTIONS: dict[Any, type] = {
    list: list, tuple: tuple, set: set, frozenset: frozenset, Sequence: list, AbstractSet: frozenset,
}  # fmt: skip
_DAY_S = 86_400
_CENTS = 1_000_000
_MODEL_TRIES = 40
_PRESENT = 0.5
Fits = Callable[[Any], bool]


class SampleError(KeyplanError):
    """Raised if a value or an item cannot be generated."""


class MissingGeneratorError(KeyplanError):
    """Raised if polyfactory, which is required for generating values, is not installed."""


class NothingFitsError(KeyplanError):
    """Raised if no arguments can be found for a call that must match the generated items."""


@lru_cache(maxsize=4096)
def examples_of(model: type[BaseModel]) -> tuple[BaseModel, ...]:
    """Return the examples in a model's `json_schema_extra`. Their keys can be field names or aliases.

    Raises SampleError for an invalid example. Invalid examples that are inherited from a base class are skipped,
    because they might not contain the fields that only the model itself declares.
    """
    examples = []
    inherited = any(
        _declared_examples(base) is _declared_examples(model)
        for base in model.__mro__[1:]
        if issubclass(base, BaseModel)
    )
    for number, example in enumerate(_declared_examples(model) or (), 1):
        try:
            examples.append(model.model_validate(example, by_alias=True, by_name=True))
        except ValidationError as error:
            if not inherited:
                raise SampleError(
                    f"example {number} of {model.__name__} is not valid for its model: {error}"
                ) from error
    return tuple(examples)


def has_examples(model: type[BaseModel]) -> bool:
    """Return True if a model declares or inherits examples, valid or not."""
    return bool(_declared_examples(model))


def has_example_without(model: type[BaseModel], names: Iterable[str]) -> bool:
    """Return True if an example of a model has none of these fields. Stored items can then omit the fields too."""
    fields = {name: model.model_fields[name] for name in names}
    aliases = [alias for field in fields.values() for alias in (field.alias, field.validation_alias)]
    known_names = {*fields, *(alias for alias in aliases if isinstance(alias, str))}
    return any(
        isinstance(example, Mapping) and known_names.isdisjoint(example) for example in _declared_examples(model) or ()
    )


def _declared_examples(model: type[BaseModel]) -> Any:
    extra = model.model_config.get("json_schema_extra")
    return extra.get("examples") if isinstance(extra, Mapping) else None


class TypeGenerators:
    """Creates functions that generate values of a type."""

    def __init__(
        self,
        chance: Random,
        plain: Mapping[Any, MakeValue],
        model: Callable[[type[BaseModel]], BaseModel],
        depth: Callable[[], int],
    ) -> None:
        """Initialize the generators. Raises MissingGeneratorError if polyfactory is not installed.

        `plain` maps each type without constraints to a function that generates a value. `model` generates an object of
        a model, and `depth` returns the current nesting depth.
        """
        self._chance, self._plain, self._model, self._depth = chance, plain, model, depth
        self._collection_depth = 0  # nesting depth of collections
        try:
            from faker import Faker  # noqa: PLC0415 - comes with polyfactory, which is an extra
            from polyfactory.factories.pydantic_factory import ModelFactory  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingGeneratorError("generated data needs polyfactory: pip install keyplan[verify]") from error
        self._faker, self._factory = Faker(), ModelFactory
        self._faker.seed_instance(chance.getrandbits(32))

    def generator_of(self, annotation: Any, metadata: Sequence[Any] = ()) -> MakeValue:
        """Return a function that generates values of a type.

        The function never returns None, even for an optional type. It raises SampleError if a value cannot be
        generated.
        """
        examples = _examples(annotation)
        if examples:
            return checked_choice(self._chance, annotation, metadata, examples, f"{annotation}")
        kind, marks = unwrapped(annotation, metadata)
        make = self._generator_of_type(kind, marks)
        return make if not marks or _is_model(kind) else self._checked(make, kind, marks)

    def _generator_of_type(self, kind: Any, marks: Sequence[Any]) -> MakeValue:
        origin, arguments = get_origin(kind), get_args(kind)
        if _is_model(kind):
            return lambda: self._model(kind)
        if origin is Literal or isinstance(kind, EnumMeta):
            choices = list(arguments) if origin is Literal else list(kind)
            return lambda: self._chance.choice(choices)
        if origin in {Union, UnionType}:
            parts = [self.generator_of(part) for part in arguments]
            return lambda: self._chance.choice(parts)()  # noqa: PLW0108 - returns a different part each time
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            parts = [self.generator_of(part) for part in arguments]
            return lambda: tuple(part() for part in parts)
        type_ = origin or kind
        if type_ in _COLLECTIONS:
            return self._collection(_COLLECTIONS[type_], self.generator_of(arguments[0] if arguments else str), marks)
        if type_ in {dict, Mapping}:
            of_names, of_values = arguments or (str, str)
            names, values = self._collection(tuple, self.generator_of(of_names), marks), self.generator_of(of_values)
            return lambda: {name: values() for name in names()}
        if not marks and kind in self._plain:
            return self._plain[kind]
        return self._bounded(kind, marks) or self._by_polyfactory(kind, marks)

    def _bounded(self, kind: Any, marks: Sequence[Any]) -> MakeValue | None:
        """Return a function that generates integers, strings or decimals for a type, within its bounds, lengths and
        regular expression. Return None for other types and constraints.
        """
        if kind is int and not _constraints(marks, "multiple_of"):
            low, high = _bounds(marks)
            return lambda: self._chance.randint(low, high)
        if kind is str and not _constraints(marks, "pattern"):
            min_count, max_count = _lengths(marks, _LETTERS if _constraints(marks, "max_length") else _WORD)
            return lambda: "".join(self._chance.choices(ascii_lowercase, k=self._chance.randint(min_count, max_count)))
        if kind is str:
            return self._of_pattern(marks)
        if kind is Decimal and all(isinstance(mark, PlainSerializer | Attribute) for mark in marks):
            return lambda: Decimal(self._chance.randrange(_CENTS)) / 100
        return None

    def _of_pattern(self, marks: Sequence[Any]) -> MakeValue | None:
        """Return a function that generates strings for a type with a simple regular expression, or None if the
        expression is not simple.

        A simple expression consists of character classes and characters, each with an optional quantifier. `+` and `*`
        produce as many characters as a generated word has, or as many as the declared lengths require.
        """
        patterns = _constraints(marks, "pattern")
        parts = _parts(patterns[0]) if len(patterns) == 1 and isinstance(patterns[0], str) else None
        if parts is None:
            return None
        min_count, max_count = _lengths(marks, _LETTERS if _constraints(marks, "max_length") else _WORD)
        fixed_count = sum(part.min_count for part in parts)

        def make() -> str:
            texts = []
            for part in parts:
                low, high = part.min_count, part.max_count
                if high is None:
                    low, high = max(low, min_count - fixed_count + low), max(low, max_count - fixed_count + low)
                texts.append("".join(self._chance.choices(part.letters, k=self._chance.randint(low, high))))
            return "".join(texts)

        return make

    def _collection(self, kind: type, element: MakeValue, marks: Sequence[Any]) -> MakeValue:
        """Return a function that generates collections of the type `kind`, whose elements are generated by `element`.

        The elements are distinct, unless several attempts in a row generate duplicates.
        """
        min_count, max_count = _lengths(marks, _ELEMENTS)
        may_be_empty = not any(_constraints(marks, "min_length"))

        def make() -> Any:
            if may_be_empty and self._depth() > DEEP:
                return kind()
            self._collection_depth += 1
            try:
                return kind(
                    self._different(
                        element,
                        min_count if self._collection_depth > DEEP else self._chance.randint(min_count, max_count),
                    )
                )
            finally:
                self._collection_depth -= 1

        return make

    def _different(self, element: MakeValue, count: int) -> list[Any]:
        members: list[Any] = []
        for _ in range(count):
            value = element()
            for _ in range(_DISTINCT_TRIES):
                if value not in members:
                    break
                value = element()
            members.append(value)
        return members

    def _checked(self, generate: MakeValue, kind: Any, marks: Sequence[Any]) -> MakeValue:
        """Return a function that calls `generate` until a value satisfies the constraints of a type.

        The function raises SampleError after several attempts.
        """
        accepts = _holder(kind, marks)

        def make() -> Any:
            reason: Exception | None = None
            for _ in range(_TRIES):
                value = generate()
                try:
                    accepts.model_validate({"value": value})
                except ValidationError as error:
                    reason = error
                else:
                    return value
            raise SampleError(str(reason)) from reason

        return make

    def _by_polyfactory(self, kind: Any, marks: Sequence[Any]) -> MakeValue:
        providers = {**self._factory.get_provider_map(), **self._plain}
        try:
            holder = _holder(kind, marks)
        except Exception as error:  # pydantic may raise any exception for a foreign type
            raise SampleError(f"no values can be generated for the type {getattr(kind, '__name__', kind)}") from error
        factory = self._factory.create_factory(
            holder,
            __random__=self._chance,
            __faker__=self._faker,
            __allow_none_optionals__=False,
            __check_model__=False,
            get_provider_map=classmethod(lambda _factory: providers),
        )
        (meta,) = factory.get_model_fields()

        def make() -> Any:
            try:
                return factory.get_field_value(meta)
            except Exception as error:  # code of a type may raise any exception
                raise SampleError(str(error)) from error

        return make


@dataclass(frozen=True)
class _Part:
    """A part of a regular expression that matches a number of characters from a set."""

    letters: str
    min_count: int
    max_count: int | None
    """The maximum number of characters that the part matches, or None if it is unlimited."""


_PART = re.compile(
    r"(?:\[(?P<negated>\^?)(?P<members>(?:[^\[\]\\]|\\[dw.\-])+)\]"
    r"|(?P<digit>\\d)|(?P<letter>[A-Za-z0-9_:@#/ -]|\\[.+-]))"
    r"(?P<count>\{(?P<least>\d+)(?P<to>,(?P<most>\d*))?\}|[+*?])?"
)
_PRINTABLE = "".join(map(chr, range(33, 127)))
_COUNTS: dict[str | None, tuple[int, int | None]] = {None: (1, 1), "+": (1, None), "*": (0, None), "?": (0, 1)}


def _parts(pattern: str) -> list[_Part] | None:
    """Return the parts of a simple regular expression that matches whole texts, or None for other expressions."""
    if not (pattern.startswith("^") and pattern.endswith("$")):
        return None
    parts, position = [], 1
    while position < len(pattern) - 1:
        match = _PART.match(pattern, position, len(pattern) - 1)
        letters = _letters(match) if match is not None else ""
        if match is None or not letters:
            return None
        if match["least"] is not None:
            min_count = int(match["least"])
            max_count = min_count if match["to"] is None else int(match["most"]) if match["most"] else None
        else:
            min_count, max_count = _COUNTS[match["count"]]
        parts.append(_Part(letters, min_count, max_count))
        position = match.end()
    return parts


def _letters(match: re.Match[str]) -> str:
    """Return the characters that a character class in a regular expression matches, as one string."""
    if match["digit"]:
        return digits
    if match["letter"]:
        return match["letter"][-1]
    members = re.compile(f"[{match['negated']}{match['members']}]", re.ASCII)
    return "".join(letter for letter in _PRINTABLE if members.match(letter))


def _holder(annotation: Any, marks: Sequence[Any]) -> type[BaseModel]:
    """Return a model with a single field that has this type. `marks` is the metadata of the type."""
    full_annotation: Any = Annotated[(annotation, *marks)] if marks else annotation
    return create_model("Holder", __config__=ConfigDict(arbitrary_types_allowed=True), value=(full_annotation, ...))


def checked_choice(
    chance: Random, annotation: Any, metadata: Sequence[Any], examples: Sequence[Any], label: str
) -> MakeValue:
    """Return a function that chooses one of the examples of a field or type at random.

    The examples are first validated against the type. Raises SampleError if an example is invalid. `label` is the
    description of the field in the error message.
    """
    holder = _holder(annotation, metadata)
    valid_examples = []
    for example in examples:
        try:
            valid_examples.append(holder.model_validate({"value": example}).__dict__["value"])
        except ValidationError as error:
            raise SampleError(f"example {example!r} of {label} is not valid for its type: {error}") from error
    return lambda: chance.choice(valid_examples)


def _constraints(marks: Sequence[Any], name: str) -> list[Any]:
    """Return the values of the attribute `name`, such as "ge", in the constraints of a type. `marks` is the metadata of
    the type.
    """
    return [value for mark in marks if (value := getattr(mark, name, None)) is not None]


def _lengths(marks: Sequence[Any], spread: int) -> tuple[int, int]:
    """Return the minimum and maximum length of the values to generate. The maximum is greater than the minimum by at
    most `spread`.

    Both are at least 1, unless the type has a maximum length of 0.
    """
    min_length = max([1, *_constraints(marks, "min_length")])
    max_length = min([min_length + spread, *_constraints(marks, "max_length")])
    return min(min_length, max_length), max_length


def _bounds(marks: Sequence[Any]) -> tuple[int, int]:
    """Return the minimum and maximum of the integers to generate for a type. If only one bound is declared, the other
    one is derived from it.
    """
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
    """Return a type with Annotated and None removed, and its metadata: `metadata` and the metadata in Annotated."""
    kind, _, marks = unwrap(annotation)
    flat = (part for mark in marks for part in (mark.metadata if isinstance(mark, FieldInfo) else [mark]))
    return kind, [*metadata, *flat]


def _examples(annotation: Any) -> Sequence[Any]:
    """Return the examples in a nested type, such as list[Annotated[str, Field(examples=[...])]]."""
    if get_origin(annotation) is not Annotated:
        return ()
    examples = [mark.examples for mark in get_args(annotation)[1:] if isinstance(mark, FieldInfo) and mark.examples]
    return examples[-1] if examples else ()


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _accept_any(_value: Any) -> bool:
    return True


def _is_mail(annotation: Any, name: str) -> bool:
    """Return True if the name of a field suggests an email address. Such fields often have a validator."""
    return without_none(annotation)[0] is str and "mail" in name.lower()


class ValueGenerator:
    """Generator of random values. With the same seed and order of calls, it generates the same values."""

    def __init__(self, seed: int, now_s: float) -> None:
        self.random = Random(seed)  # noqa: S311 - generated data, no secrets
        self.now_s = now_s
        self._depth = 0
        self._type_generators = TypeGenerators(
            self.random, self._plain(), lambda model: self.model(model, {}), lambda: self._depth
        )
        self._field_generators: dict[tuple[type[BaseModel], str], MakeValue] = {}
        self._pools: dict[tuple[str, Any], list[Any]] = {}

    def field(self, model: type[BaseModel], name: str) -> Any:
        """Generate a value for a field of a model. The value is never None, even if the field is optional."""
        generate = self._field_generators.get((model, name))
        if generate is None:
            generate = self._field_generators[model, name] = self._field_generator(model, name)
        try:
            return generate()
        except SampleError as error:
            raise SampleError(f"no value of {model.__name__}.{name} can be generated: {error}") from error

    def _field_generator(self, model: type[BaseModel], name: str) -> MakeValue:
        info = model.model_fields[name]
        if info.examples:
            label = f"{model.__name__}.{name}"
            return checked_choice(self.random, info.annotation, info.metadata, info.examples, label)
        if _is_mail(info.annotation, name):
            return self._mail
        return self._type_generators.generator_of(info.annotation, info.metadata)

    def _mail(self) -> str:
        return f"{self.word()}@example.com"

    def of_type(self, annotation: Any, name: str = "value") -> Any:
        """Generate a value of a type. `name` is the name of the field or parameter with this type, such as "email"."""
        if _is_mail(annotation, name):
            return self._mail()
        return self._type_generators.generator_of(annotation)()

    def nth(self, model: type[BaseModel], name: str, number: int, fits: Fits = _accept_any) -> Any:
        """Return the value with index `number` from a sequence of different values for a field.

        All models with a field of this name and type use the same sequence. Values that `fits` rejects (returns False
        for) are left out of the sequence.
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

    def up_to(self, model: type[BaseModel], name: str, number: int, fits: Fits = _accept_any) -> Any:
        """Return the value with index `number` from the sequence that `nth` uses. If the sequence is shorter, start
        again from its first value.
        """
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
        raise SampleError(f"{model.__name__}.{name} has only {len(pool)} different values, but more are required")

    def model(self, model: type[BaseModel], fields: Mapping[str, Any]) -> BaseModel:
        """Return an object of a model with the given field values. If the model has examples, the other values come
        from one of them.
        """
        examples = examples_of(model)
        reason: ValidationError | None = None
        for attempt in range(_MODEL_TRIES):
            values = (
                dict(self.random.choice(examples))
                if examples
                else self._values(model, fields, all_fields=attempt % 2 == 0)
            )
            try:
                return model.model_validate({**values, **fields}, by_name=True)
            except ValidationError as error:
                reason = error
        raise SampleError(
            f"no {model.__name__} can be generated that its validators accept: {reason}; add an example:"
            ' model_config = ConfigDict(json_schema_extra={"examples": [{...}]})'
        ) from reason

    def _values(self, model: type[BaseModel], fields: Mapping[str, Any], *, all_fields: bool) -> dict[str, Any]:
        """Return generated values for the fields of a model that are not in `fields`.

        Optional fields are omitted at random, and always in deeply nested models. If `all_fields` is True, they are
        omitted only in deeply nested models.
        """
        self._depth += 1
        try:
            return {
                name: self.field(model, name)
                for name, info in model.model_fields.items()
                if name not in fields
                and (info.is_required() or (self._depth <= DEEP and (all_fields or self.random.random() < _PRESENT)))
            }
        finally:
            self._depth -= 1

    def timestamp(self) -> datetime:
        """Return a time within the last ninety days, in whole seconds."""
        return self.timestamp_within(90 * _DAY_S)

    def timestamp_within(self, period_s: int) -> datetime:
        """Return a time within the last `period_s` seconds."""
        return datetime.fromtimestamp(math.floor(self.now_s) - self.random.randrange(1, period_s), UTC)

    def expiry(self) -> datetime:
        """Return a time within the next ninety days."""
        return datetime.fromtimestamp(math.floor(self.now_s) + self.random.randrange(_DAY_S, 90 * _DAY_S), UTC)

    def word(self) -> str:
        """Return a short random word."""
        return "".join(self.random.choices(ascii_lowercase, k=_WORD))

    def _plain(self) -> dict[Any, MakeValue]:
        """Return functions that generate values of basic types. The values depend only on the seed, and can be used in
        keys.
        """
        chance = self.random
        return {
            str: self.word,
            int: lambda: chance.randrange(1, 10_000),
            float: lambda: round(chance.uniform(0, 1000), 2),
            Decimal: lambda: Decimal(chance.randrange(0, 100_000)) / 100,
            bool: lambda: chance.random() < 0.5,
            bytes: lambda: chance.randbytes(16),
            UUID: lambda: UUID(int=chance.getrandbits(128), version=4),
            datetime: self.timestamp,
            date: lambda: self.timestamp().date() + timedelta(days=chance.randrange(365)),
            time: lambda: time(chance.randrange(24), chance.randrange(60)),
            timedelta: lambda: timedelta(seconds=chance.randrange(1, _DAY_S)),
            Any: self.word,
            object: self.word,
        }
