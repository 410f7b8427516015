"""Decoders and encoders of whole items, generated for the fields of one entity.

A loop over fields takes longer than the conversion of most values, so the generated functions are straight-line code.
An item whose attributes have their declared types is decoded with one lookup per field. For any other item, the
function raises an error, and `keyplan.client.codec` decodes the item field by field.

If pydantic would return the decoded values unchanged, `item_reader` also creates the object without validation, because
validation would take most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NamedTuple, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel

from keyplan.design.fields.annotations import Attribute, AttributeValue, unwrap
from keyplan.design.fields.stored import (
    StoredField,
    encode_set,
    encode_value,
    number_text,
    plain_decoder,
    timestamp_text,
)

ItemDecoder = Callable[[Mapping[str, Any]], dict[str, Any]]
ItemEncoder = Callable[[Mapping[str, Any]], dict[str, AttributeValue]]
ItemReader = Callable[[Mapping[str, Any]], Any]
IRREGULAR = (KeyError, TypeError, ValueError, ArithmeticError, AttributeError)
"""The exceptions that a generated decoder raises for an item that it cannot decode."""


def item_decoder(fields: Sequence[StoredField]) -> ItemDecoder:
    """Return a function that converts an item to a dict of field values, omitting absent fields.

    The function raises an exception in IRREGULAR if a required attribute is missing or an attribute has another type.
    """
    scope: dict[str, Any] = {"Decimal": Decimal}
    required_fields, optional_lines = [], []
    for number, field in enumerate(fields):
        scope[f"decode{number}"] = plain_decoder(field) or field.decode
        if field.is_needed:
            required_fields.append(
                f"{field.name!r}: {_decoding_expression(field, number, f'item[{field.attribute!r}]')}"
            )
        else:
            optional_lines.append(f"    stored = get({field.attribute!r})")
            optional_lines.append(
                f"    if stored is not None: values[{field.name!r}] = {_decoding_expression(field, number, 'stored')}"
            )
    lines = [
        f"    values = {{{', '.join(required_fields)}}}",
        "    get = item.get",
        *optional_lines,
        "    return values",
    ]
    decode: ItemDecoder = _define_function("def convert(item):", lines, scope)
    return decode


def _decoding_expression(field: StoredField, number: int, stored: str) -> str:
    """Return the source expression that decodes a field.

    `stored` is the expression for the attribute value. `number` distinguishes the names that the generated code uses
    for this field, such as `decode3`.
    """
    if plain_decoder(field) is None:
        return f"decode{number}({stored})"
    content = f"{stored}[{field.type_code!r}]"
    if field.type_code in {"S", "BOOL"}:
        return content
    if field.type_code == "N" and field.annotation in {int, Decimal}:
        return f"{field.annotation.__name__}({content})"
    if field.type_code == "L" and _is_list_of_text(field):
        return f"[member['S'] for member in {content}]"
    return f"decode{number}({content})"


def _is_list_of_text(field: StoredField) -> bool:
    return get_origin(field.annotation) is list and get_args(field.annotation) == (str,)


# Objects of a model.


def item_reader(
    model: type[BaseModel],
    fields: Mapping[str, StoredField],
    fallback: ItemReader,
    *,
    always_present: Collection[str] = (),
) -> ItemReader | None:
    """Return a function that converts an item to an object, or None if pydantic must validate the values.

    `fields` are all fields of the model. `always_present` are the names of optional fields whose attributes are present
    in every item. The function passes items that it cannot decode to `fallback`.
    """
    if fields.keys() != model.model_fields.keys() or not _constructs_plainly(model):
        return None
    scope: dict[str, Any] = {
        **_SCOPE,
        "new": object.__new__,
        "model": model,
        "all_fields": frozenset(fields),
        "otherwise": fallback,
        "irregular": IRREGULAR,
        **{f"set_{name.strip('_')}": vars(BaseModel)[name].__set__ for name in _STATE},
    }
    required_fields: list[str] = []
    lines: list[str] = []
    for number, name in enumerate(model.model_fields):
        field = fields[name]
        absent = None if name in always_present else _absent_value(field, number, scope)
        code = f"stored[{field.type_code!r}]"
        content = _exact_expression(
            field, number, scope, code if absent else f"item[{field.attribute!r}][{field.type_code!r}]"
        )
        if content is None:
            return None
        if absent is not None and absent.is_given:
            content = f"{content} if (stored := get({field.attribute!r})) is not None else {absent.value}"
        if absent is not None and not absent.is_given:
            lines += [
                f"    stored = get({field.attribute!r})",
                f"    if stored is not None: values[{name!r}] = {content}",
                f"    else: values[{name!r}] = {absent.value}; fields_set = fields_set - {{{name!r}}}",
            ]
        elif lines:
            lines.append(f"    values[{name!r}] = {content}")
        else:
            required_fields.append(f"{name!r}: {content}")
    lines = [
        "    try:",
        "        get = item.get",
        *(["        fields_set = all_fields"] if lines else []),
        f"        values = {{{', '.join(required_fields)}}}",
        *(f"    {line}" for line in lines),
        "    except irregular:",
        "        return otherwise(item)",
        "    entity = new(model)",
        "    set_dict(entity, values)",
        f"    set_pydantic_fields_set(entity, set({'fields_set' if lines else 'all_fields'}))",
        "    set_pydantic_extra(entity, None)",
        "    set_pydantic_private(entity, None)",
        "    return entity",
    ]
    read: ItemReader = _define_function("def convert(item):", lines, scope)
    return read


_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
"""The attributes that BaseModel.model_construct sets on an object."""
_SETTINGS = frozenset(
    {
        "alias_generator",
        "arbitrary_types_allowed",
        "frozen",
        "json_schema_extra",
        "populate_by_name",
        "protected_namespaces",
        "serialize_by_alias",
        "strict",
        "title",
        "use_attribute_docstrings",
        "validate_assignment",
        "validate_by_alias",
        "validate_by_name",
    }
)
"""Names of pydantic settings that do not affect the validation of values that already have their declared types."""


def _constructs_plainly(model: type[BaseModel]) -> bool:
    """Return True if a model does not customize validation or construction."""
    rules = model.__pydantic_decorators__
    if rules.validators or rules.field_validators or rules.root_validators or rules.model_validators:
        return False
    if model.__private_attributes__ or model.__pydantic_post_init__ or model.__pydantic_custom_init__:
        return False
    settings = {name for name in model.model_config if name != "extra"} - _SETTINGS
    if settings or model.model_config.get("extra") == "allow" or model.__new__ is not object.__new__:
        return False
    return all(
        getattr(model, name).__func__ is getattr(BaseModel, name).__func__
        for name in ("__get_pydantic_core_schema__", "model_construct", "model_validate")
    )


def _exact_expression(field: StoredField, number: int, scope: dict[str, Any], content: str) -> str | None:
    """Return the source expression that converts the content of an attribute to a field value.

    Objects that the expression refers to are added to `scope`, under names that end with `number`. Return
    None if pydantic must validate the value.
    """
    annotation, _, metadata = unwrap(field.info.annotation)
    if not all(isinstance(entry, Attribute) for entry in (*metadata, *field.info.metadata)):
        return None
    if field.stored is not None:
        return f"{field.stored}({content})" if field.type_code == "N" else _TIMESTAMP.format(content)
    if field.type_code == "L" and get_origin(annotation) is list:
        member = _simple_expression(get_args(annotation)[0])
        return None if member is None else f"[{member[1].format(f'member[{member[0]!r}]')} for member in {content}]"
    if field.type_code == "M" and get_origin(annotation) is dict and get_args(annotation)[0] is str:
        member = _simple_expression(get_args(annotation)[1])
        expression = "" if member is None else member[1].format(f"member[{member[0]!r}]")
        return f"{{name: {expression} for name, member in {content}.items()}}" if expression else None
    if field.is_set and get_origin(annotation) in {set, frozenset}:
        member = _simple_expression(get_args(annotation)[0])
        if member is None or f"{member[0]}S" != field.type_code:
            return None
        members = content if member[1] == "{}" else f"[{member[1].format('member')} for member in {content}]"
        return f"{get_origin(annotation).__name__}({members})"
    choices = _choices(annotation)
    if choices is not None and field.type_code == "S":
        scope[f"choice{number}"] = choices
        return f"choice{number}[{content}]"
    exact = _simple_expression(annotation)
    return exact[1].format(content) if exact is not None and exact[0] == field.type_code else None


def _simple_expression(annotation: Any) -> tuple[str, str] | None:
    """Return the attribute type of a simple type, and an expression template in which {} is replaced by the content.

    Return None for any other type.
    """
    return _EXACT.get(annotation) if isinstance(annotation, type) and not get_args(annotation) else None


def _choices(annotation: Any) -> dict[str, Any] | None:
    """Map the string of each choice of a Literal or Enum to the choice itself.

    Return None for any other type, and for a Literal or Enum with a value that is not a string.
    """
    if get_origin(annotation) is Literal:
        choices = {value: value for value in get_args(annotation)}
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        choices = {member.value: member for member in annotation}
    else:
        return None
    return choices if all(type(text) is str for text in choices) else None


def _unsupported(text: str) -> Any:
    raise ValueError(f"{text!r} is not in the ISO 8601 form of stored timestamps")


_TIMESTAMP_LENGTHS = frozenset({20, 24, 27})
"""The lengths of ISO 8601 timestamps in UTC with second, millisecond and microsecond precision."""
_TIMESTAMP = "(iso(t) if len(t := {}) in lengths and t[-1] == 'Z' and t[7] == '-' else unsupported(t))"


def _date(text: str) -> date:
    if len(text) != len("2026-01-01") or text[7] != "-":
        raise ValueError(text)
    return date.fromisoformat(text)


def _epoch_s(number: str) -> datetime:
    return datetime.fromtimestamp(int(number), UTC)


def _epoch_ms(number: str) -> datetime:
    seconds, milliseconds = divmod(int(number), 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)


_EXACT: dict[type, tuple[str, str]] = {
    str: ("S", "{}"),
    bool: ("BOOL", "{}"),
    int: ("N", "int({})"),
    float: ("N", "float({})"),
    Decimal: ("N", "Decimal({})"),
    bytes: ("B", "bytes({})"),
    UUID: ("S", "UUID({})"),
    date: ("S", "date({})"),
    datetime: ("S", _TIMESTAMP),
}
"""Maps each type that needs no validation to its attribute type and the expression that decodes the content."""
_SCOPE: dict[str, Any] = {
    "Decimal": Decimal,
    "UUID": UUID,
    "date": _date,
    "iso": datetime.fromisoformat,
    "lengths": _TIMESTAMP_LENGTHS,
    "unsupported": _unsupported,
    "epoch_s": _epoch_s,
    "epoch_ms": _epoch_ms,
}
_IMMUTABLE = (str, int, float, bool, Decimal, bytes, UUID, date, Enum, type(None))


class _AbsentValue(NamedTuple):
    """The value that generated code creates for a field whose attribute is absent."""

    value: str
    """The source expression that creates the field value."""
    is_given: bool
    """Whether pydantic treats the field as set. A field with its default value is not treated as set."""


def _absent_value(field: StoredField, number: int, scope: dict[str, Any]) -> _AbsentValue | None:
    """Return the value that generated code creates for a field whose attribute is absent.

    Objects that the generated code refers to are added to `scope`. Return None if the generated code cannot decode an
    item in which the attribute is absent.
    """
    info = field.info
    if field.is_set and not field.optional:
        return _AbsentValue("frozenset()" if get_origin(field.annotation) is frozenset else "set()", is_given=True)
    if info.is_required():
        return _AbsentValue("None", is_given=True) if field.optional else None
    if info.validate_default or info.default_factory_takes_validated_data:
        return None
    scope[f"default{number}"] = info.default if info.default_factory is None else info.default_factory
    if info.default_factory is not None:
        return _AbsentValue(f"default{number}()", is_given=False)
    if isinstance(info.default, _IMMUTABLE):
        return _AbsentValue(f"default{number}", is_given=False)
    scope["deepcopy"] = deepcopy
    return _AbsentValue(f"deepcopy(default{number})", is_given=False)


# Items of values.


def item_encoder(
    fields: Sequence[StoredField], texts: Sequence[tuple[str, Callable[[Mapping[str, Any]], str]]] = ()
) -> ItemEncoder:
    """Return a function that converts field values to an item, omitting None and empty sets.

    `texts` are the attributes that combine several field values in one string. Each element is the name of the
    attribute and the function that builds the string.
    """
    scope: dict[str, Any] = {
        "encode_value": encode_value,
        "Decimal": Decimal,
        "datetime": datetime,
        "encode_set": encode_set,
        "number_text": number_text,
        "timestamp_text": timestamp_text,
    }
    lines = ["    item = {}"]
    for number, field in enumerate(fields):
        scope[f"encode{number}"] = field.encode
        lines.append(f"    value = values[{field.name!r}]")
        for test_number, (test, text) in enumerate(
            _SIMPLE_ENCODINGS.get(field.type_code, ()) if field.stored is None else ()
        ):
            lines.append(f"    {'elif' if test_number else 'if'} {test}: item[{field.attribute!r}] = {text}")
        condition = "value is not None and not ((value.__class__ is set or value.__class__ is frozenset) and not value)"
        is_first = lines[-1].startswith("    value =")
        lines.append(
            f"    {'if' if is_first else 'elif'} {condition}: item[{field.attribute!r}] = encode{number}(value)"
        )
    for number, (attribute, render) in enumerate(texts):
        scope[f"render{number}"] = render
        lines.append(f"    item[{attribute!r}] = {{'S': render{number}(values)}}")
    encode: ItemEncoder = _define_function("def convert(values):", [*lines, "    return item"], scope)
    return encode


_IS_PRESENT = "value is not None and not ((value.__class__ is set or value.__class__ is frozenset) and not value)"
_MEMBERS = "[{'S': member} if member.__class__ is str else encode_value(member) for member in value]"
_SIMPLE_ENCODINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "S": (
        ("value.__class__ is str", "{'S': value}"),
        ("value.__class__ is datetime", "{'S': timestamp_text(value)}"),
    ),
    "N": (
        ("value.__class__ is int", "{'N': str(value)}"),
        ("value.__class__ is Decimal", "{'N': number_text(value)}"),
    ),
    "BOOL": (("value.__class__ is bool", "{'BOOL': value}"),),
    "L": (("value.__class__ is list", f"{{'L': {_MEMBERS}}}"),),
    "SS": (("value.__class__ is set and value", "encode_set(value)"),),
}
"""Maps each attribute type to pairs `(test, expression)`. `test` is source code that tests a value, and `expression` is
source code that encodes a value for which the test is true.
"""


def _define_function(head: str, lines: Sequence[str], scope: dict[str, Any]) -> Any:
    exec("\n".join([head, *lines]), scope)  # noqa: S102 - the source contains only names and types of declared fields
    return scope["convert"]
