"""Phase 2: checks of the constraints on request members. One message lists all violations.

The text depends on the `Layer` of the operation. Two kinds of requests get the text of `Layer.OLDER` in every layer:
requests without a required member, and requests with a value that is nested 63 levels deep or deeper (observed in
DynamoDB, October 2026).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import orjson

from keyplan import limits
from keyplan.dynamodb.java import byte_buffer, hash_order
from keyplan.dynamodb.messages import items as item_messages
from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import (
    AttributeValue,
    Blob,
    Boolean,
    Integer,
    Layer,
    LeadingMember,
    List,
    Long,
    Map,
    Shape,
    String,
    Structure,
)
from keyplan.dynamodb.shapes.wire import NAMED_VALUES, VALUE_MEMBERS, VALUES
from keyplan.dynamodb.values.encoding import binary_text
from keyplan.errors import ValidationError


def camel(name: str) -> str:
    """Return the name of a member with a lowercase first letter, as it appears in messages."""
    return name[:1].lower() + name[1:]


_VALUE_ORDER = ("S", "N", "B", "INT", "DECIMAL", "DOUBLE", "SS", "NS", "BS", "INTSET", "DECIMALSET", "DOUBLESET")
_VALUE_ORDER_LAST = ("M", "L", "NULL", "BOOL")
_DEEPEST = 40  # deeper values are cut off; the service's limit is 32


def display_value(shape: Shape, content: Any) -> str:
    """Return a value as it appears in messages: null, or the rendered value in quotes."""
    return "null" if content is None else f"'{render(shape, content)}'"


def render(shape: Shape, content: Any, level: int = 0) -> str:
    """Format a value as the Java code of DynamoDB prints it. `level` is the nesting depth of the value."""
    if content is None:
        return "null"
    match shape:
        case Map():
            return _map(shape, content, level)
        case List():
            return f"[{', '.join(render(shape.element, inner, level) for inner in content)}]"
        case Structure():
            return _structure(shape, content, level)
        case AttributeValue():
            return _value(content, level + 1)
        case Blob():
            return _blob(content)
        case Boolean():
            return "true" if content else "false"
        case _:
            return str(content)


def _map(shape: Map, content: dict[str, Any], level: int) -> str:
    if shape.json_echo:
        return _json(content)
    entries = (f"{key}={render(shape.value, inner, level)}" for key, inner in content.items())
    return f"{{{', '.join(entries)}}}"


def _structure(shape: Structure, content: dict[str, Any], level: int) -> str:
    members = (f"{camel(name)}={render(inner, content.get(name), level)}" for name, inner in shape.members.items())
    return f"{shape.name}({', '.join(members)})"


def _value(content: dict[str, Any], level: int) -> str:
    if level > _DEEPEST:
        return "AttributeValue(...)"
    members = []
    for kind in _VALUE_ORDER + _VALUE_ORDER_LAST:
        shape = VALUE_MEMBERS.get(kind)
        inner = content.get(kind) if shape is not None else None
        text = "null" if shape is None or inner is None else _member(shape, inner, level)
        members.append(f"{camel(kind)}={text}")
    return f"AttributeValue({', '.join(members)})"


def _member(shape: Shape, inner: Any, level: int) -> str:
    if shape is VALUES:
        return f"[{', '.join('null' if element is None else _value(element, level + 1) for element in inner)}]"
    if shape is NAMED_VALUES:
        entries = (
            f"{key}={'null' if element is None else _value(element, level + 1)}" for key, element in inner.items()
        )
        return f"{{{', '.join(entries)}}}"
    return render(shape, inner, level)


def _blob(content: Any) -> str:
    # Base64 text in JSON; in Python, text is not base64, and this length is not exact.
    length = len(content.rstrip("=")) * 3 // 4 if isinstance(content, str) else len(content)
    return byte_buffer(length)


def _json(content: Any) -> str:
    """Return content as compact JSON, with binary values as base64 text."""
    try:
        return orjson.dumps(content, default=binary_text).decode()
    except orjson.JSONEncodeError:
        return "..."  # nested deeper than orjson supports


_MAX_ERRORS = 10  # the service does not list more
OLDER_READING_LEVELS = 63

_TABLE_ARN = re.compile(r"arn:[a-z-]+:dynamodb:[a-z0-9-]*:[0-9]*:table/[a-zA-Z0-9_.-]{1,255}")

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BrokenConstraint:
    """A violated constraint, with the path, shape and content of the value that violates it, and the text of the
    constraint.

    `enum` is True for an enum constraint.
    """

    path: Path
    shape: Shape
    content: Any
    text: str
    enum: bool = False


def check_constraints(shape: Structure, request: dict[str, Any]) -> None:
    """Raise a ValidationError that lists all violated constraints of a request.

    The types in the request must already have been checked.
    """
    if shape.leading_member is not None:
        _check_leading_member(shape, shape.leading_member, request)
    if shape.layer is not Layer.OLDER and not _has_missing_members(shape, request) and not reads_older(request):
        _check_front_layer(shape, request)
        _check_exclusive_enums(shape, request)
        _raise_all(shape, request, newer=True)
    else:
        _raise_all(shape, request, newer=False)
    message = _null_value(request, shape)
    if message is not None:
        raise ValidationError(messages.enveloped(message) if shape.layer is Layer.ENVELOPED else message)


def _check_leading_member(shape: Structure, leading_member: LeadingMember, request: dict[str, Any]) -> None:
    """Raise ValidationError if the member `leading_member` is missing or has an invalid length. This member is checked
    before all others.
    """
    content, member = request.get(leading_member.name), shape.members[leading_member.name]
    if content is None:
        raise ValidationError(leading_member.missing_message)
    texts = [text for text, _ in _lengths(member, content)]
    if not texts:
        return
    if leading_member.length_message is not None:
        raise ValidationError(leading_member.length_message)
    if isinstance(member, String):
        texts += [text for text, _ in _patterns(member, content)]
    faults = [BrokenConstraint((leading_member.name,), member, content, text) for text in texts]
    raise ValidationError(messages.detected([_constraint_message(fault, newer=False) for fault in faults]))


def _has_missing_members(shape: Structure, request: dict[str, Any]) -> bool:
    return any(request.get(name) is None for name in shape.required)


def _check_front_layer(shape: Structure, request: dict[str, Any]) -> None:
    for fault in _faults(shape, request, (), _bounds):
        path = ".".join(fault.path)
        raise ValidationError(messages.detected([messages.front_constraint(path, fault.text)]))


def _check_exclusive_enums(shape: Structure, request: dict[str, Any]) -> None:
    for name in shape.exclusive_enums:
        member = shape.members[name]
        content = request.get(name)
        if isinstance(member, String) and content is not None and content not in (member.enum or ()):
            message = messages.newer_enum(member.newer_enum or ())
            raise ValidationError(messages.enveloped(message) if shape.layer is Layer.ENVELOPED else message)


def _raise_all(shape: Structure, request: dict[str, Any], newer: bool) -> None:
    faults = []
    for fault in _faults(shape, request, (), _all_constraints):
        faults.append(_constraint_message(fault, newer))
        if len(faults) == _MAX_ERRORS:
            break
    if faults:
        raise ValidationError(messages.detected(faults))


def _constraint_message(fault: BrokenConstraint, newer: bool) -> str:
    if newer and fault.enum and isinstance(fault.shape, String) and fault.shape.newer_enum:
        return messages.newer_enum(fault.shape.newer_enum)
    path = ".".join(camel(step) for step in fault.path)
    return messages.constraint(display_value(fault.shape, fault.content), path, fault.text)


_Constraints: TypeAlias = Callable[[Shape, Any], Iterator[tuple[str, bool]]]


def _faults(shape: Shape, content: Any, path: Path, constraints: _Constraints) -> Iterator[BrokenConstraint]:
    """Yield the constraints that a value violates, followed by the constraints that its members or elements violate.

    `constraints` is the function that checks a single value. It yields a pair `(text, is_enum)` for each violated
    constraint.
    """
    if content is None:
        if constraints is _all_constraints and not isinstance(shape, AttributeValue):
            yield BrokenConstraint(path, shape, None, messages.NOT_NULL)
        return
    for text, enum in constraints(shape, content):
        yield BrokenConstraint(path, shape, content, text, enum)
    for inner_path, inner_shape, inner in _children(shape, content, hashed=constraints is _all_constraints):
        yield from _faults(inner_shape, inner, (*path, *inner_path), constraints)


def _children(shape: Shape, content: Any, hashed: bool) -> Iterator[tuple[Path, Shape, Any]]:
    """Yield the path, shape and content of each member of a structure, list or map.

    If `hashed` is True, the members of a structure are in the order in which DynamoDB reports errors. Attribute values
    are excluded, because they have no constraints.
    """
    if isinstance(shape, Structure):
        for name in _member_order(shape, hashed):
            if content.get(name) is not None or name in shape.required:
                yield (name,), shape.members[name], content.get(name)
    elif isinstance(shape, Map) and not isinstance(shape.value, AttributeValue):
        for key in hash_order(content):
            yield (key, "member"), shape.value, content[key]
    elif isinstance(shape, List) and not isinstance(shape.element, AttributeValue):
        for position, element in enumerate(content, 1):
            yield (str(position), "member"), shape.element, element


def _member_order(shape: Structure, hashed: bool) -> list[str]:
    return _hashed_members(shape.hidden, tuple(shape.members)) if hashed else list(shape.members)


@cache
def _hashed_members(hidden_count: int, names: tuple[str, ...]) -> list[str]:
    by_camel = {camel(name): name for name in names}
    return [by_camel[name] for name in hash_order(by_camel, hidden_count)]


def _all_constraints(shape: Shape, content: Any) -> Iterator[tuple[str, bool]]:
    """Yield a pair `(text, is_enum)` for each constraint that the value itself violates."""
    if isinstance(shape, String):
        yield from _text_constraints(shape, content)
        return
    if isinstance(shape, Map) and shape.keys is not None:
        keys = shape.keys
        if any(next(_text_constraints(keys, key), None) for key in content):
            yield messages.map_keys(_key_constraint_texts(keys)), False
    yield from _bounds(shape, content)


def _bounds(shape: Shape, content: Any) -> Iterator[tuple[str, bool]]:
    """Yield a pair `(text, is_enum)` for each length or range constraint that a value violates. `is_enum` is always
    False here.
    """
    if isinstance(shape, Integer | Long):
        if shape.min is not None and content < shape.min:
            yield messages.min_value(shape.min), False
        if shape.max is not None and content > shape.max:
            yield messages.max_value(shape.max), False
    elif not isinstance(shape, String) or not shape.arn:
        yield from _lengths(shape, content)
    elif shape.min is not None and len(content) < shape.min:
        # The front layer accepts ARNs in place of names, which may be longer.
        yield messages.min_length(shape.min), False


def _lengths(shape: Shape, content: Any) -> Iterator[tuple[str, bool]]:
    """Yield a pair `(text, is_enum)` for each length constraint that a value violates. `is_enum` is always False here.

    Table ARNs are not checked for length.
    """
    if not isinstance(shape, String | List | Map):
        return
    if isinstance(shape, String) and shape.arn and is_table_arn(content):
        return
    if shape.min is not None and len(content) < shape.min:
        yield messages.min_length(shape.min), False
    if shape.max is not None and len(content) > shape.max:
        yield messages.max_length(shape.max), False


def _text_constraints(shape: String, text: str) -> Iterator[tuple[str, bool]]:
    if shape.enum is not None and text not in shape.enum:
        yield messages.enum(shape.enum), True
    if shape.arn:
        yield from _name_constraints(shape, text)
        return
    checks = (_bounds, _patterns) if shape.length_first else (_patterns, _bounds)
    for check in checks:
        yield from check(shape, text)


def _patterns(shape: String, text: str) -> Iterator[tuple[str, bool]]:
    """Yield a pair `(text, is_enum)` if a string does not match its pattern. `is_enum` is always False here."""
    if shape.pattern is not None and not re.fullmatch(shape.pattern, text):
        yield messages.pattern(shape.pattern), False


def _name_constraints(shape: String, text: str) -> Iterator[tuple[str, bool]]:
    """Yield a pair `(text, is_enum)` for each constraint that a table name violates. `is_enum` is always False here.

    The pattern comes before the length. An empty name violates only the length constraint. Table ARNs are not checked.
    """
    if is_table_arn(text):
        return
    if text:
        yield from _patterns(shape, text)
    too_long_or_short = next(_lengths(shape, text), None)
    if too_long_or_short is not None:
        yield too_long_or_short
    elif len(text) < limits.TABLE_NAME_MIN:
        yield messages.min_length(limits.TABLE_NAME_MIN), False


def is_table_arn(text: str) -> bool:
    """Return True if the text is the ARN of a table."""
    return text.startswith("arn:") and _TABLE_ARN.fullmatch(text) is not None


def _key_constraint_texts(keys: String) -> list[str]:
    """Return the texts of all constraints on the keys of a map."""
    texts = []
    if keys.max is not None:
        texts.append(messages.max_length(keys.max))
    if keys.min is not None:
        texts.append(messages.min_length(keys.min))
    if keys.pattern is not None:
        texts.append(messages.pattern(keys.pattern))
    return texts


def reads_older(request: Any) -> bool:
    """Return True if a value in the request is nested so deeply that DynamoDB uses the messages of `Layer.OLDER`."""
    pending = [(request, 0)]
    while pending:
        content, level = pending.pop()
        if isinstance(content, dict):
            for name, inner in content.items():
                if isinstance(inner, dict | list | tuple):
                    # Only the members M and L of attribute values can be nested.
                    deeper = level + 1 if name in ("M", "L") else level
                    if deeper >= OLDER_READING_LEVELS:
                        return True
                    pending.append((inner, deeper))
        elif isinstance(content, list | tuple):
            pending.extend((inner, level) for inner in content if isinstance(inner, dict))
    return False


def _null_value(content: Any, shape: Shape) -> str | None:
    """Return the message for an attribute value or set element that is null, or None if `content` contains no null."""
    if isinstance(shape, AttributeValue):
        return _null_inside(content)
    if content is None:
        return None
    members: Iterable[tuple[Any, Shape]] = ()
    if isinstance(shape, Structure):
        members = ((content[name], member) for name, member in shape.members.items() if content.get(name) is not None)
    elif isinstance(shape, Map):
        members = ((inner, shape.value) for inner in content.values())
    elif isinstance(shape, List):
        members = ((inner, shape.element) for inner in content)
    return next((message for inner, member in members if (message := _null_value(inner, member)) is not None), None)


def _null_inside(value: Any) -> str | None:
    pending = [value]
    while pending:
        value = pending.pop()
        if value is None:
            return item_messages.EMPTY_VALUE
        for kind, inner in value.items():
            if inner is None:
                continue
            if kind == "L":
                pending.extend(inner)
            elif kind == "M":
                pending.extend(inner.values())
            elif kind in ("SS", "NS", "BS") and None in inner:
                return item_messages.NULL_STRING if kind == "SS" else item_messages.EMPTY_VALUE
    return None


def key_fault(shape: Map, content: Any, path: str) -> str | None:
    """Return the error message for a map whose keys violate constraints, or None if all keys are valid."""
    for text, _ in _all_constraints(shape, content):
        return messages.constraint(display_value(shape, content), path, text)
    return None
