"""Analysis of field annotations: attribute types, limits, storage formats, and unsupported types.

Attribute values use the format of the boto3 client: {"S": ...}, {"N": "..."}, {"B": bytes}.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import permutations
from typing import Annotated, Any, Final, ForwardRef, Literal, Union, final, get_args, get_origin
from uuid import UUID

from pydantic import (
    BaseModel,
    EncodedBytes,
    EncodedStr,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Json,
    JsonValue,
    RootModel,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticOmit, core_schema

from keyplan.design.arguments import checked_call

AttributeValue = dict[str, Any]
TypeCode = Literal["S", "N", "B", "BOOL", "SS", "NS", "BS", "L", "M", "ANY"]
StoredAs = Literal["epoch_s", "epoch_ms", "iso_s", "iso_ms"]
"""Storage formats of a timestamp: a Number of seconds or milliseconds since 1970, or an ISO 8601 String with second or
millisecond precision.
"""
KEY_TYPES = ("S", "N", "B")


class UnstorableTypeError(TypeError):
    """Raised for a type whose values cannot be stored, or cannot be read back unchanged."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem)
        self.fix = fix or (
            "use str, int, Decimal, float, bool, bytes, datetime, date, UUID, an Enum or Literal of these, list, set,"
            " dict or a pydantic model"
        )


@final
class Unset:
    """The type of UNSET, the default of a patch parameter, as in `title: str | Unset = UNSET`."""

    # Not an Enum, because pydantic converts members of an Enum to strings if a model expects a str.
    __slots__ = ()

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that accepts only UNSET, and serializes it to JSON as null."""
        to_json = core_schema.plain_serializer_function_ser_schema(lambda _unset: None, when_used="json")
        return core_schema.is_instance_schema(cls, serialization=to_json)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Omit Unset from the types in a JSON schema."""
        raise PydanticOmit


UNSET: Final = Unset()
"""The default value of a patch parameter.

If a call omits the argument, the field is not written. UNSET is falsy.
"""


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Strip Annotated, NewType and None from an annotation. Return the remaining type, and True if the annotation
    allows None.
    """
    bare, optional, _ = unwrap(annotation)
    return bare, optional


def unwrap(annotation: Any) -> tuple[Any, bool, list[Any]]:
    """Strip Annotated, NewType and None from an annotation. Return the remaining type, True if the annotation allows
    None, and the metadata from Annotated.
    """
    optional, metadata = False, []
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            metadata += annotation.__metadata__
            annotation = annotation.__origin__
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif origin is Literal and None in get_args(annotation):
            annotation, optional = Literal[tuple(choice for choice in get_args(annotation) if choice is not None)], True
        elif origin in {Union, types.UnionType} and type(None) in get_args(annotation):
            members = tuple(part for part in get_args(annotation) if part is not type(None))
            annotation, optional = (members[0] if len(members) == 1 else Union[members]), True  # noqa: UP007 - created at run time
        elif (resolved := without_alias(annotation)) is not annotation:
            annotation = resolved
        else:
            return annotation, optional, metadata


def without_unset(annotation: Any) -> Any:
    """Return the annotation without Unset."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner = without_unset(annotation.__origin__)
        return annotation if inner is annotation.__origin__ else Annotated[(inner, *annotation.__metadata__)]
    if origin in {Union, types.UnionType} and Unset in get_args(annotation):
        return Union[tuple(part for part in get_args(annotation) if part is not Unset)]  # noqa: UP007 - at run time
    resolved = without_alias(annotation)
    if resolved is annotation:
        return annotation
    bare = without_unset(resolved)
    return annotation if bare is resolved else bare


def without_alias(annotation: Any) -> Any:
    """Resolve a type alias declared with `type Name = ...`. Return a recursive alias unchanged."""
    return annotation.__value__ if _is_alias(annotation) and not _is_recursive(annotation, frozenset()) else annotation


def _is_alias(annotation: Any) -> bool:
    return type(annotation).__name__ == "TypeAliasType"  # typing has the class since Python 3.12


def _is_recursive(annotation: Any, enclosing: frozenset[Any]) -> bool:
    if _is_alias(annotation):
        return annotation in enclosing or _is_recursive(annotation.__value__, enclosing | {annotation})
    if isinstance(annotation, (str, ForwardRef)):
        return True
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in {Literal, Annotated}:
        parts = parts[:1] if origin is Annotated else ()
    return any(_is_recursive(part, enclosing) for part in parts)


def annotation_with_limits(info: FieldInfo) -> Any:
    """Return the annotation of a model field together with its constraints, such as `max_length`."""
    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


def plain_value(value: Any) -> Any:
    """Return the value of an Enum member. Return any other object unchanged."""
    return value.value if isinstance(value, Enum) else value


def type_code(annotation: Any, stored: StoredAs | None = None) -> TypeCode:
    """Return the DynamoDB type that stores values of a Python type, or "ANY" if the DynamoDB type depends on the value.

    `stored` is the storage format of a timestamp.
    """
    if stored is not None:
        return "N" if stored in {"epoch_s", "epoch_ms"} else "S"
    annotation, _ = without_none(annotation)
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        return _common_code([type(value) for value in get_args(annotation)])
    if origin in {Union, types.UnionType}:
        codes = {type_code(part) for part in get_args(annotation)}
        return codes.pop() if len(codes) == 1 else "ANY"
    if origin in {set, frozenset}:
        return _set_code(annotation)
    if not isinstance(origin, type) or origin is Any:
        return "ANY"
    if issubclass(origin, BaseModel):
        _check_model(origin)
    return _scalar_code(origin)


def is_set_type(annotation: Any) -> bool:
    """Return True if an annotation is a set type that does not allow None. An empty set of such a type is stored as an
    absent attribute.
    """
    annotation, optional = without_none(annotation)
    return not optional and (get_origin(annotation) or annotation) in {set, frozenset}


def _check_model(model: type[BaseModel]) -> None:
    """Raise UnstorableTypeError for a RootModel, and for a model that allows extra fields."""
    if issubclass(model, RootModel):
        raise UnstorableTypeError(f"{model.__name__} is a RootModel", "use the type that it wraps")
    if model.model_config.get("extra") == "allow":
        raise UnstorableTypeError(
            f"{model.__name__} allows extra fields, which would not be stored",
            'declare the fields, or one dict for them, and leave extra="allow" out',
        )


def _scalar_code(kind: type) -> TypeCode:
    if kind is Unset:
        raise UnstorableTypeError(
            "Unset is the type of an omitted argument, not of a stored value", "use None for an absent value"
        )
    if issubclass(kind, Enum):
        if not len(kind):
            raise UnstorableTypeError(f"{kind.__name__} has no members", "add members: no value could have this type")
        return _common_code([type(member.value) for member in kind])
    for types_, code in _CODES:
        if issubclass(kind, types_):
            return code
    if kind is object:
        return "ANY"
    raise UnstorableTypeError(f"{kind.__name__} has no attribute type")


def _common_code(kinds: list[type]) -> TypeCode:
    codes = {_scalar_code(kind) for kind in kinds}
    return codes.pop() if len(codes) == 1 else "ANY"


def _set_code(annotation: Any) -> TypeCode:
    parts = get_args(annotation)
    code = type_code(parts[0]) if parts else "S"
    if code not in KEY_TYPES:
        kind = getattr(parts[0], "__name__", parts[0])
        raise UnstorableTypeError(f"a set holds strings, numbers or binary, not {kind}")
    sets: dict[str, TypeCode] = {"S": "SS", "N": "NS", "B": "BS"}
    return sets[code]


# bool precedes int, because a bool is an int in Python. This is a list of pairs, because subclasses match too.
_CODES: tuple[tuple[tuple[type, ...], TypeCode], ...] = (
    ((bool,), "BOOL"),
    ((int, float, Decimal, timedelta), "N"),
    ((str, UUID, datetime, date, time), "S"),
    ((bytes, bytearray, memoryview), "B"),
    ((list, tuple), "L"),
    ((dict, Mapping, BaseModel), "M"),
)


@dataclass(frozen=True)
class DeclaredField:
    """The type of a field without Annotated, Optional or NewType, together with its declared constraints.

    `choices` are the members of an Enum or the values of a Literal, in declaration order. Lengths are in characters.
    `pattern` is a regular expression. `minimum` and `maximum` are inclusive bounds for a number.
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
    def from_annotation(cls, name: str, annotation: Any, info: FieldInfo | None = None) -> DeclaredField:
        """Return the field that an annotation declares, including the constraints in `info`."""
        bare, optional, metadata = unwrap(annotation)
        limits = dict(_limits([*metadata, *([info] if info is not None else [])]))
        choices = _choices(bare)
        if get_origin(bare) is Literal:
            kinds = {type(choice) for choice in choices or ()}
            bare = kinds.pop() if len(kinds) == 1 else object
        return cls(name, bare, optional, choices, **limits)

    @property
    def stored_choices(self) -> tuple[Any, ...]:
        """The choices of the field as stored values. An Enum member is stored as its value. Empty if the field has no
        choices.
        """
        return tuple(map(plain_value, self.choices or ()))

    @property
    def type_name(self) -> str:
        """The type of the field as source text."""
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
    """Yield the name and value of each constraint in pydantic or annotated_types metadata."""
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            yield from _limits(entry.metadata)
            continue
        for name in ("min_length", "max_length", "pattern"):
            value = getattr(entry, name, None)
            if value is not None:
                yield name, getattr(value, "pattern", value)  # a compiled expression contains its source
        yield from _number_limits(entry)


def _number_limits(entry: Any) -> Iterator[tuple[str, int]]:
    for attribute, name, step in _NUMBER_LIMITS:
        value = getattr(entry, attribute, None)
        if isinstance(value, int):
            yield name, value + step


_STORED_AS: tuple[StoredAs, ...] = get_args(StoredAs)


Kind = Literal["id", "timestamp", "tenant", "holder"]
_KINDS: tuple[Kind, ...] = get_args(Kind)


@checked_call
@dataclass(frozen=True)
class Attribute:
    """Storage settings of a field, as in `Annotated[datetime, Attribute("createdAt", stored="epoch_s")]`."""

    name: str | None = None
    """The name of the attribute. The default is the name of the field."""
    stored: StoredAs | None = None
    """The storage format of a timestamp: a Number of seconds or milliseconds since 1970, or an ISO 8601 String with
    second or millisecond precision. The default is an ISO 8601 String with microsecond precision.
    """
    kind: Kind | None = None
    """The role of the field in `keyplan check`, if its type does not imply it: a generated ID ("id"), a timestamp
    ("timestamp"), the ID of the customer whose data must be isolated ("tenant"), or the owner of a lock or task
    ("holder").
    """


WriteEvent = Literal["created", "updated"]


@dataclass(frozen=True)
class WriteTime:
    """Marker for a field that stores the time of a write."""

    event: WriteEvent

    @property
    def function_name(self) -> str:
        """The name of the function that declares the field: Created or Updated."""
        return self.event.capitalize()


def Created() -> Any:  # noqa: N802 - reads like the type of a field, as pydantic's Field does
    """Declare a field that stores the time at which an item was created, as in `created_at: datetime = Created()`.

    The value is None until the item is written. A `create` pattern sets it to the time of the connection's clock. A
    `put`, `replace` or `batch_put` pattern keeps the value in the item, or sets it if it is None. An upsert sets it if
    it creates the item. Other updates do not change it.
    """
    return _write_time_field("created")


def Updated() -> Any:  # noqa: N802
    """Declare a field that stores the time of the last write, as in `updated_at: datetime = Updated()`.

    The value is None until the item is written. Every `create`, `put`, `replace`, `batch_put` and `update` pattern sets
    it to the time of the connection's clock, and updates the index keys that contain it.
    """
    return _write_time_field("updated")


def _write_time_field(event: WriteEvent) -> Any:
    """Return the pydantic field for a write time. Its default is None, so that the constructor does not require a
    value.
    """
    info: Any = Field(default=None, validate_default=False, json_schema_extra=_as_read_only)
    info.metadata.append(WriteTime(event))
    return info


def _as_read_only(schema: dict[str, Any]) -> None:
    """Mark a field as read-only in its JSON schema, and remove its default, because None is not a valid value."""
    schema.pop("default", None)
    schema["readOnly"] = True


def write_time_of(info: FieldInfo, annotation: Any) -> WriteEvent | None:
    """Return the event whose time a field stores, or None if the field does not store a write time.

    Raises UnstorableTypeError if a field that stores a write time is not a datetime.
    """
    write_time = next((write_time for write_time in info.metadata if isinstance(write_time, WriteTime)), None)
    if write_time is None:
        return None
    if not (isinstance(annotation, type) and issubclass(annotation, datetime)):
        raise UnstorableTypeError(
            f"{write_time.function_name}() requires a datetime field",
            f"declare it as a datetime: {write_time.event}_at: datetime = {write_time.function_name}()",
        )
    return write_time.event


def attribute_of(info: FieldInfo) -> Attribute:
    """Return a field's storage settings: its Attribute, which can be nested in an optional type, or the default
    settings.

    If the Attribute does not set a name, a serialization alias is used as the attribute name.
    """
    candidates = [settings for settings in info.metadata if isinstance(settings, Attribute)] or list(
        _attributes_in(info.annotation)
    )
    settings = candidates[-1] if candidates else Attribute()
    # Fields with serialization aliases are stored under their aliases.
    return (
        replace(settings, name=info.serialization_alias)
        if settings.name is None and info.serialization_alias
        else settings
    )


def _attributes_in(annotation: Any) -> Iterator[Attribute]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from (entry for entry in annotation.__metadata__ if isinstance(entry, Attribute))
        yield from _attributes_in(annotation.__origin__)
    elif origin in {Union, types.UnionType}:
        for part in get_args(annotation):
            yield from _attributes_in(part)


def check_attribute(settings: Attribute, annotation: Any) -> None:
    """Raise UnstorableTypeError if the storage settings of a field are not valid for its type. For example, `stored` is
    valid only for a datetime.
    """
    if not (settings.name is None or (isinstance(settings.name, str) and settings.name)):
        raise UnstorableTypeError(f"Attribute({settings.name!r}) is not an attribute name", 'write Attribute("name")')
    if settings.kind is not None and settings.kind not in _KINDS:
        raise UnstorableTypeError(f"unknown kind={settings.kind!r}", f"use {' or '.join(map(repr, _KINDS))}")
    if settings.stored is None:
        return
    if settings.stored not in _STORED_AS:
        raise UnstorableTypeError(f"unknown stored={settings.stored!r}", f"use {' or '.join(map(repr, _STORED_AS))}")
    if not (isinstance(annotation, type) and issubclass(annotation, datetime)):
        raise UnstorableTypeError(
            f"stored={settings.stored!r} applies only to a datetime", "leave it out, or make it a datetime"
        )


def check_union_attributes(annotation: Any) -> None:
    """Raise UnstorableTypeError for a union with a model whose fields have storage settings.

    The model that wrote a stored map cannot be determined from the map.
    """
    annotation, _ = without_none(annotation)
    union = get_origin(annotation) in {Union, types.UnionType}
    for part in get_args(annotation) if get_origin(annotation) is not Literal else ():
        model, _ = without_none(part)
        if union and isinstance(model, type) and issubclass(model, BaseModel):
            for name, info in model.model_fields.items():
                if replace(attribute_of(info), kind=None) != Attribute():
                    raise UnstorableTypeError(
                        f"{model.__name__}.{name} has an Attribute, and its model is part of a union",
                        "remove the Attribute or the union",
                    )
        check_union_attributes(part)


def check_aliases(model: type[BaseModel]) -> None:
    """Raise UnstorableTypeError if a field of a model has an alias, unless the model also accepts the field name as
    input.
    """
    for name in model.model_fields:
        check_alias(model, name)


def check_alias(model: type[BaseModel], name: str) -> None:
    """Raise UnstorableTypeError if the field `name` has an alias, unless the model also accepts the field name as
    input.
    """
    config = model.model_config
    if config.get("populate_by_name") or config.get("validate_by_name"):
        return
    if model.model_fields[name].validation_alias is not None:
        raise UnstorableTypeError(
            f"{model.__name__}.{name} has an alias, and only the alias is read",
            "add populate_by_name=True to the model's model_config",
        )


_STORED_AS_TEXT = (datetime, date, time, UUID, Enum)
_READ_AS: tuple[tuple[tuple[type, ...], type], ...] = (
    (_STORED_AS_TEXT, str),
    ((timedelta,), int),
    ((timedelta,), float),
    ((timedelta,), Decimal),
    ((datetime,), date),
    ((tuple,), list),
)
"""Types that cannot be distinguished when a stored value is read.

Each element contains a tuple of types, and another type that is stored in the same way. In a union of one of these
types and the other type, each stored value would be read back as the other type.
"""
_MAP_KEY_TYPES = (str, int, float, bool, Decimal, UUID, datetime, date, time, timedelta, Enum)
"""Types of dict keys that can be restored from the keys of a DynamoDB map, which are always strings."""
_DECODING: tuple[tuple[type, str, str], ...] = (
    (EncodedBytes, "encoded bytes, as Base64Bytes, are", "use bytes, which are stored as they are"),
    (EncodedStr, "encoded text, as Base64Str, is", "use str, which is stored as it is"),
    (Json, "a Json is", "use the type of the decoded value"),
)
"""Unsupported types whose validation decodes the input, each with the text for the error message and the text for the
fix.

Validation would decode a stored value a second time.
"""


def check_decoding_types(annotation: Any, metadata: Sequence[Any] = ()) -> None:
    """Raise UnstorableTypeError for types that decode their input, such as Base64Bytes and Json, including nested
    types.

    `metadata` is the metadata of the field.
    """
    annotation = without_alias(annotation)
    parts = () if get_origin(annotation) is Literal else get_args(annotation)
    if get_origin(annotation) is Annotated:
        parts, metadata = parts[:1], [*metadata, *annotation.__metadata__]
    for entry in metadata:
        for kind, subject, fix in _DECODING:
            if isinstance(entry, kind) or entry is kind:
                raise UnstorableTypeError(f"{subject} decoded by the model, but stored values are already decoded", fix)
    if annotation is JsonValue:
        raise UnstorableTypeError(
            "numbers are read as int and Decimal, and a JsonValue does not accept Decimal",
            "use Any, or the types of its values",
        )
    for part in parts:
        check_decoding_types(part)


def check_round_trip(annotation: Any) -> None:
    """Raise UnstorableTypeError for types whose stored values are ambiguous, including nested types.

    These are unions of types that are stored in the same way, and dicts whose keys cannot be restored from strings.
    """
    annotation, _ = without_none(annotation)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return
    if origin in {Union, types.UnionType}:
        _check_union(parts)
    if origin is dict and parts:
        _check_map_keys(parts[0])
    for part in parts:
        check_round_trip(part)


def _check_union(parts: tuple[Any, ...]) -> None:
    for part, other in permutations(parts, 2):
        first, second = _class_of(part), _class_of(other)
        for written_types, read_type in _READ_AS:
            if (
                second is read_type
                and first is not second
                and issubclass(first, written_types)
                and not _is_same_value(first, read_type)
            ):
                raise UnstorableTypeError(
                    f"a {first.__name__} of the union would be read back as {second.__name__}: both are stored in"
                    " the same form",
                    "declare only one of them, or a separate field for each",
                )


def _is_same_value(kind: type, read_type: type) -> bool:
    """Return True if values of type `kind` equal the values that are read back as type `read_type`.

    For example, a member of a StrEnum equals a str.
    """
    return issubclass(kind, read_type) and not issubclass(kind, datetime)


def _check_map_keys(annotation: Any) -> None:
    """Raise UnstorableTypeError for a dict type whose keys cannot be restored from strings."""
    bare, optional = without_none(annotation)
    choices = get_args(bare) if get_origin(bare) is Literal else ()
    is_restorable = (
        all(isinstance(choice, str) for choice in choices) if choices else issubclass(_class_of(bare), _MAP_KEY_TYPES)
    )
    if optional or not is_restorable:
        raise UnstorableTypeError(
            f"keys of a dict are stored as text, and {getattr(annotation, '__name__', annotation)} cannot be restored"
            " from that",
            "use str, a number, a datetime, a UUID or an Enum as keys, or a list of models",
        )


def _class_of(annotation: Any) -> type:
    bare, _ = without_none(annotation)
    origin = get_origin(bare) or bare
    if isinstance(origin, type) and not issubclass(origin, BaseModel):
        return origin
    return object
