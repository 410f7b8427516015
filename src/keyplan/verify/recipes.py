"""How a value of a type is made: worked out once for each type, so that making many is quick.

Collections, unions and models are put together here; what they are made of comes from polyfactory. A value that the
type's own constraints refuse is made again: a text of a pattern may be right in form and cut in the wrong place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import EnumMeta
from random import Random
from string import ascii_lowercase
from types import UnionType
from typing import Annotated, Any, Literal, NewType, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo

from keyplan.design.field_types import without_none
from keyplan.verify.errors import MissingGeneratorError, SampleError

Recipe = Callable[[], Any]
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


class Recipes:
    """Works out how values are made."""

    def __init__(
        self,
        chance: Random,
        plain: Mapping[Any, Recipe],
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

    def of(self, annotation: Any, metadata: Sequence[Any] = ()) -> Recipe:
        """How a value of a type is made, never None. The recipe raises SampleError where none can be."""
        told = _examples(annotation)
        if told:
            return checked_choice(self._chance, annotation, metadata, told, f"{annotation}")
        kind, marks = unwrapped(annotation, metadata)
        made = self._of_kind(kind, marks)
        return made if not marks or _is_model(kind) else self._checked(made, kind, marks)

    def _of_kind(self, kind: Any, marks: Sequence[Any]) -> Recipe:
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

    def _bounded(self, kind: Any, marks: Sequence[Any]) -> Recipe | None:
        """The most usual constraints: a whole number from one to another, a text of some length."""
        if kind is int and not _told(marks, "multiple_of"):
            low, high = _bounds(marks)
            return lambda: self._chance.randint(low, high)
        if kind is str and not _told(marks, "pattern"):
            least, most = _lengths(marks, _LETTERS if _told(marks, "max_length") else _WORD)
            return lambda: "".join(self._chance.choices(ascii_lowercase, k=self._chance.randint(least, most)))
        return None

    def _many(self, kind: type, element: Recipe, marks: Sequence[Any]) -> Recipe:
        """Some elements, different ones as far as a few tries find them."""
        least, most = _lengths(marks, _ELEMENTS)
        may_be_empty = not any(_told(marks, "min_length"))

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

    def _different(self, element: Recipe, wanted: int) -> list[Any]:
        made: list[Any] = []
        for _ in range(wanted):
            one = element()
            for _ in range(_DIFFERENT_TRIES):
                if one not in made:
                    break
                one = element()
            made.append(one)
        return made

    def _checked(self, made: Recipe, kind: Any, marks: Sequence[Any]) -> Recipe:
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

    def _by_polyfactory(self, kind: Any, marks: Sequence[Any]) -> Recipe:
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
) -> Recipe:
    """One of some examples, each as its type reads it. Raises SampleError for one that does not fit."""
    reads = _holder(annotation, metadata)
    fitting = []
    for example in examples:
        try:
            fitting.append(reads.model_validate({"value": example}).__dict__["value"])
        except ValidationError as error:
            raise SampleError(f"example {example!r} of {what} does not fit its own type: {error}") from error
    return lambda: chance.choice(fitting)


def _told(marks: Sequence[Any], name: str) -> list[Any]:
    """What constraints say under a name."""
    return [value for mark in marks if (value := getattr(mark, name, None)) is not None]


def _lengths(marks: Sequence[Any], spread: int) -> tuple[int, int]:
    """The least and most elements or letters to make; none only where there may be none."""
    least = max([1, *_told(marks, "min_length")])
    most = min([least + spread, *_told(marks, "max_length")])
    return min(least, most), most


def _bounds(marks: Sequence[Any]) -> tuple[int, int]:
    """The least and most of a whole number; where only one is said, the other is not far from it."""
    lows = [*(math.ceil(low) for low in _told(marks, "ge")), *(math.floor(low) + 1 for low in _told(marks, "gt"))]
    highs = [*(math.floor(high) for high in _told(marks, "le")), *(math.ceil(high) - 1 for high in _told(marks, "lt"))]
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
