"""Stand-ins for the parameters of a pattern. The pattern's body runs once, at its declaration, with stand-ins as its
arguments.

A body declares which items it reads or writes, and it cannot depend on argument values. A stand-in rejects every
operation on its value (comparison, branch, formatting, arithmetic) with an error that shows the location and a fix.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum
from typing import Any, Generic, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel

from keyplan.design.errors import DesignError, calling_place, refuse
from keyplan.design.fields.annotations import annotation_with_limits, without_none, without_unset

T = TypeVar("T")


_FIX_BRANCH = "declare one pattern for each case, or decide before the pattern is called"
_FIX_TEXT = "pass the parameter unchanged: the entity's templates write the key text"
_FIX_COMPUTE = "compute the value before the call and pass it as a parameter"


class Param:
    """A stand-in for a parameter of a pattern or, if it has a path, for an attribute of the parameter."""

    # Private names, so that every field of an entity is available under its own name.
    __slots__ = ("_annotation", "_name", "_path")

    def __init__(self, name: str, annotation: Any, path: tuple[str, ...] = ()) -> None:
        self._name, self._annotation, self._path = name, annotation, path

    def __getattr__(self, name: str) -> Param:
        if name.startswith("_"):
            raise AttributeError(name)
        _check_attribute(self, name)
        return Param(self._name, self._annotation, (*self._path, name))

    def _refuse(self, verb: str, fix: str) -> NoReturn:
        refuse(f"the pattern {verb} its parameter {self!r}", fix)

    def __repr__(self) -> str:
        return ".".join((self._name, *self._path))

    def __bool__(self) -> bool:  # noqa: PLE0304 - it never returns
        self._refuse("branches on", _FIX_BRANCH)

    def __eq__(self, other: object) -> bool:
        self._refuse("compares", _FIX_BRANCH)

    def __ne__(self, other: object) -> bool:
        self._refuse("compares", _FIX_BRANCH)

    def __lt__(self, other: object) -> bool:
        self._refuse("compares", _FIX_BRANCH)

    __le__ = __gt__ = __ge__ = __lt__

    def __hash__(self) -> int:  # noqa: PLE0309 - it never returns
        self._refuse("hashes", _FIX_COMPUTE)

    def __contains__(self, other: object) -> bool:
        self._refuse("searches", _FIX_BRANCH)

    def __len__(self) -> int:  # noqa: PLE0303 - it never returns
        self._refuse("counts", _FIX_BRANCH)

    def __iter__(self) -> Iterator[Any]:
        self._refuse("loops over", "use each(...) for one request per value")

    def __getitem__(self, part: object) -> Any:
        self._refuse("indexes", _FIX_COMPUTE)

    def __call__(self, *_args: object, **_kwargs: object) -> Any:
        self._refuse("calls a method of", _FIX_COMPUTE)

    def __str__(self) -> str:  # noqa: PLE0307 - it never returns
        self._refuse("formats", _FIX_TEXT)

    def __format__(self, spec: str) -> str:
        self._refuse("formats", _FIX_TEXT)

    def _compute(self, *_others: object) -> Any:
        self._refuse("computes with", _FIX_COMPUTE)

    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __divmod__ = __pow__ = __matmul__ = _compute
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rdivmod__ = __rpow__ = _compute
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _compute
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rmatmul__ = _compute
    __pos__ = __abs__ = __invert__ = __round__ = _compute

    def __neg__(self) -> Any:
        self._refuse("computes with", f"use subtract(...), or {_FIX_COMPUTE}")

    def __index__(self) -> int:  # noqa: PLE0305 - it never returns
        self._refuse("computes with", _FIX_COMPUTE)

    def __int__(self) -> int:
        self._refuse("computes with", _FIX_COMPUTE)

    def __float__(self) -> float:
        self._refuse("computes with", _FIX_COMPUTE)


class Each:
    """A stand-in for several values where a single value is expected.

    In a key, each value results in a separate request or key. In `is_in`, a single condition contains all values.
    """

    __slots__ = ("values",)

    def __init__(self, values: Param | tuple[Any, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"each({self.values!r})"


class EveryShard:
    """A stand-in for all shards of a `{field:shard(n)}` placeholder."""

    def __repr__(self) -> str:
        return "every_shard()"


def each(values: Iterable[T]) -> T:
    """Pass several values where a pattern expects a single value.

    In a key, one request is sent for each value, and the results are merged in order. In `F.field.is_in(...)`, the
    condition matches any of the values. The number of values must be between 1 and 100.
    """
    values = values if isinstance(values, (Param, str, bytes)) or not isinstance(values, Iterable) else tuple(values)
    if not isinstance(values, (Param, tuple)) or (isinstance(values, tuple) and not values):
        refuse(f"each({values!r}) has no values", "pass a list parameter: each(user_ids)")
    return cast("T", Each(values))


def every_shard() -> Any:
    """Query every shard of a key whose template contains `{field:shard(n)}`, and merge the results in order."""
    return EveryShard()


Source = Any
"""The source of a value in a call: a Param, an Each, an EveryShard, or a constant."""
WRITE_TIME = Param("time of the write", datetime)
"""The parameter for fields declared with Created() or Updated(). A connection adds the time to the arguments."""
CALL_SOURCES = (Param, Each, EveryShard)
"""The classes of stand-ins for values that a call provides. Objects of other classes are constants."""


def annotation_of(source: Source) -> Any:
    """Return the annotation of a parameter, or of the attribute at its path, excluding Unset.

    Return None if it does not have an annotation.
    """
    return without_unset(_declared_annotation(source))


def may_be_unset(source: Source) -> bool:
    """Return True if the annotation of a parameter, or of the attribute at its path, contains Unset."""
    annotation = _declared_annotation(source)
    return without_unset(annotation) is not annotation


def _declared_annotation(source: Source) -> Any:
    if not isinstance(source, Param):
        return None
    annotation = source._annotation
    for part in source._path:
        model, _ = without_none(annotation)
        info = model.model_fields.get(part) if isinstance(model, type) and issubclass(model, BaseModel) else None
        if info is None:
            return None
        annotation = annotation_with_limits(info)
    return annotation


def attribute_of(source: Source, name: str) -> Source:
    """Return an attribute of a parameter or constant.

    The annotated class of a parameter may not have the attribute, because the values can be instances of a subclass or
    elements of an annotated list. Only the bodies of patterns are checked for such attributes.
    """
    if not isinstance(source, Param):
        return getattr(source, name)
    return Param(source._name, source._annotation, (*source._path, name))


def _check_attribute(param: Param, name: str) -> None:
    """Raise DesignError, at the line that reads an attribute of a parameter, if the annotated class cannot have it."""
    kind, _ = without_none(annotation_of(param))
    if not isinstance(kind, type) or _may_have(kind, name):
        return
    fields = _field_names(kind)
    similar_names = get_close_matches(name, fields, n=3)
    if similar_names:
        fix = f"use {' or '.join(f'{param!r}.{similar_name}' for similar_name in similar_names)}"
    else:
        fix = f"use one of its fields: {', '.join(fields)}"
    problem = f"the pattern reads {param!r}.{name}, but {kind.__name__} has no field {name}"
    raise DesignError(problem, place=calling_place(), fix=fix, code="KP201")


def _may_have(kind: type, name: str) -> bool:
    """Return False if no instance of a class, or of its current subclasses, has an attribute.

    Methods, properties and class attributes are attributes too. Return True if the attributes are not known.
    """
    fields = _field_names(kind)
    if not fields or name in fields or hasattr(kind, name):
        return True
    subclasses: list[type] = kind.__subclasses__()
    return any(_may_have(subclass, name) for subclass in subclasses)


def _field_names(kind: type) -> tuple[str, ...]:
    """Return the field names of a pydantic model or a dataclass. Return () for other classes, and if an instance can
    have an attribute that is neither a field nor an attribute of its class.
    """
    root = BaseModel if issubclass(kind, BaseModel) else object
    is_frozen = root is object and getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    overrides = [name for name in _ATTRIBUTE_ACCESS if getattr(kind, name, None) is not getattr(root, name, None)]
    if overrides != (["__setattr__"] if is_frozen else []):  # a frozen dataclass has a generated __setattr__
        return ()
    config = getattr(kind, "model_config" if root is BaseModel else "__pydantic_config__", {})
    if config.get("extra") == "allow":
        return ()
    if root is BaseModel:
        return tuple(getattr(kind, "model_fields"))  # noqa: B009 - not every class has it
    return _dataclass_fields(kind)


_ATTRIBUTE_ACCESS = ("__getattr__", "__getattribute__", "__setattr__")
"""Methods that can add attributes to the instances of a class that defines them."""


def _dataclass_fields(kind: type) -> tuple[str, ...]:
    """Return the field names of a dataclass without methods. Return () for other classes, because a method can set
    other attributes.
    """
    fields: list[str] = []
    for base in kind.__mro__:
        if base in {object, Generic}:
            continue
        names = vars(base)
        if "__dataclass_fields__" not in names or "__post_init__" in names or not names["__dataclass_params__"].init:
            return ()
        fields += [name for name in names["__dataclass_fields__"] if name not in fields]
        if any(name not in fields and not name.startswith("__") for name in names):
            return ()
    return tuple(fields)


def is_never_none(source: Source) -> bool:
    """Return True if a parameter's annotation excludes None and empty sets, so its value is always stored."""
    return _is_always_stored(annotation_of(source))


def _is_always_stored(annotation: Any) -> bool:
    bare, optional = without_none(annotation)
    if optional or bare is None:
        return False
    origin = get_origin(bare) or bare
    if origin in {Union, types.UnionType}:
        return all(map(_is_always_stored, get_args(bare)))
    return origin is Literal or (isinstance(origin, type) and issubclass(origin, _ALWAYS_STORED))


_ALWAYS_STORED = (str, bytes, int, float, Decimal, date, time, timedelta, UUID, Enum, list, tuple, dict)
"""Types whose values are always stored. Values of other types may be stored as absent attributes."""


def value_of(source: Source, arguments: Mapping[str, Any]) -> Any:
    """Return the value of a parameter or constant in a call. For an Each, return a tuple of its values."""
    if isinstance(source, Each):
        if isinstance(source.values, tuple):
            return tuple(value_of(value, arguments) for value in source.values)
        return tuple(value_of(source.values, arguments))
    if not isinstance(source, Param):
        return source
    value = arguments[source._name]
    for part in source._path:
        value = getattr(value, part)
    return value


def substitute(source: Source, step_sources: Mapping[str, Source]) -> Source:
    """Return the value that a transaction passes for a parameter of one of its steps: a parameter of the transaction or
    a constant.

    `step_sources` maps the names of the step's parameters to the values that the transaction passes. Return any other
    source unchanged.
    """
    if isinstance(source, Each):
        return Each(substitute(source.values, step_sources)) if isinstance(source.values, Param) else source
    if not isinstance(source, Param) or source._name not in step_sources:
        return source
    outer = step_sources[source._name]
    inner = outer.values if isinstance(outer, Each) else outer
    for part in source._path:
        inner = attribute_of(inner, part)
    return Each(inner) if isinstance(outer, Each) else inner
