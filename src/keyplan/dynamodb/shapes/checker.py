"""Compilation of shapes into functions that check requests.

An acceptor is a closure that accepts only valid content. It can also reject a valid request that contains unknown
members, deep nesting or scalars that must be converted. The slower phases then check the request. An acceptor never
accepts an invalid request. A property test verifies this.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from keyplan import limits
from keyplan.dynamodb.shapes.constraints import check_constraints, is_table_arn
from keyplan.dynamodb.shapes.model import (
    AttributeValue,
    Blob,
    Boolean,
    Integer,
    List,
    Long,
    Map,
    Scalar,
    Shape,
    String,
    Structure,
    Timestamp,
)
from keyplan.dynamodb.shapes.wire import canonical_base64, check_types, encodable, is_time
from keyplan.dynamodb.values.encoding import Form

Acceptor: TypeAlias = Callable[[Any], bool]

_DEEPEST = 40  # deeper values are left to the phases, which keep their own stack
_ANY_WIDTH = 1 << 31
_TEXT_TYPES = frozenset("SN")


def acceptor(shape: Shape, wire: bool, late: bool = False) -> Acceptor:
    """Return a closure that returns True only for content that is valid for the shape.

    If `late` is True, the closure does not test members that are marked `late`. Their values are checked when the
    operation converts them.
    """
    match shape:
        case AttributeValue():
            return _value_acceptor(wire)
        case Structure():
            return _structure(shape, wire, late)
        case Map():
            return _map(shape, wire, late)
        case List():
            return _list(shape, wire, late)
        case _:
            return _scalar(shape, wire)


def _scalar(shape: Scalar, wire: bool) -> Acceptor:
    match shape:
        case String():
            return _string(shape, wire)
        case Integer() | Long():
            return _number(shape)
        case Boolean():
            return lambda content: content is True or content is False
        case Blob():
            return _wire_blob if wire else _python_blob
        case Timestamp():
            return lambda content: is_time(content, wire)


def _structure(shape: Structure, wire: bool, late: bool = False) -> Acceptor:
    tests = {name: acceptor(member, wire, late) for name, member in shape.members.items()}
    leading_member = () if shape.leading_member is None else (shape.leading_member.name,)
    required = tuple({*shape.required, *leading_member})
    if len(tests) == len(required) == 1:
        return _only_member(required[0], tests[required[0]])

    def accept(content: Any) -> bool:
        if type(content) is not dict:
            return False
        for name in required:
            if name not in content:
                return False
        try:
            for name, inner in content.items():
                if not tests[name](inner):
                    return False
        except (KeyError, TypeError):  # an unknown member, or a name that is not a string
            return False
        return True

    return accept


def _only_member(name: str, test: Acceptor) -> Acceptor:
    return lambda content: type(content) is dict and len(content) == 1 and name in content and test(content[name])


def _map(shape: Map, wire: bool, late: bool = False) -> Acceptor:
    if late and shape.late:
        return lambda content: type(content) is dict
    if isinstance(shape.value, AttributeValue) and shape.keys is None and shape.min is None and shape.max is None:
        return _item_acceptor(wire)
    test = acceptor(shape.value, wire, late)
    key_test = _string(shape.keys or String(), wire)
    low, high = _bounds(shape)

    def accept(content: Any) -> bool:
        if type(content) is not dict or not low <= len(content) <= high:
            return False
        return all(key_test(key) and test(inner) for key, inner in content.items())

    return accept


def _list(shape: List, wire: bool, late: bool = False) -> Acceptor:
    test = acceptor(shape.element, wire, late)
    low, high = _bounds(shape)

    def accept(content: Any) -> bool:
        return type(content) is list and low <= len(content) <= high and all(map(test, content))

    return accept


def _string(shape: String, wire: bool) -> Acceptor:
    if shape.enum is not None:
        words = frozenset(shape.enum)
        return lambda content: type(content) is str and content in words
    low, high = _bounds(shape)
    if shape.pattern is not None:
        matches = re.compile(shape.pattern).fullmatch
        arn = shape.arn
        if arn:
            low = max(low, limits.TABLE_NAME_MIN)

        def accept(content: Any) -> bool:
            if type(content) is not str:
                return False
            if low <= len(content) <= high and matches(content) is not None:
                return True
            return arn and is_table_arn(content)

        return accept
    if wire:
        return lambda content: type(content) is str and low <= len(content) <= high
    return lambda content: type(content) is str and low <= len(content) <= high and encodable(content)


def _number(shape: Integer | Long) -> Acceptor:
    width = _ANY_WIDTH if isinstance(shape, Integer) else 1 << 63
    low = -width if shape.min is None else shape.min
    high = width - 1 if shape.max is None else shape.max
    return lambda content: type(content) is int and low <= content <= high


def _bounds(shape: String | List | Map) -> tuple[int, int]:
    return shape.min or 0, _ANY_WIDTH if shape.max is None else shape.max


def _wire_blob(content: Any) -> bool:
    return type(content) is str and canonical_base64(content)


def _python_blob(content: Any) -> bool:
    return isinstance(content, bytes | bytearray | memoryview) or (type(content) is str and encodable(content))


def _item_acceptor(wire: bool) -> Acceptor:
    return _wire_item(_value_acceptor(wire)) if wire else _python_item(_value_acceptor(wire))


def _wire_item(value_test: Acceptor) -> Acceptor:
    """Return a closure that accepts only valid items in JSON. For speed, strings and numbers are tested inline."""

    def accept(content: Any) -> bool:
        if type(content) is not dict:
            return False
        for value in content.values():
            if type(value) is not dict or len(value) != 1:
                return False
            ((kind, inner),) = value.items()
            if kind in _TEXT_TYPES:
                if type(inner) is not str:
                    return False
            elif not value_test(value):
                return False
        return True

    return accept


def _python_item(value_test: Acceptor) -> Acceptor:
    """Return a closure that accepts only valid items in Python form. It also tests that names and strings are of type
    str.
    """

    def accept(content: Any) -> bool:
        if type(content) is not dict:
            return False
        for name, value in content.items():
            if type(value) is not dict or len(value) != 1 or type(name) is not str:
                return False
            if not name.isascii() and not encodable(name):
                return False
            ((kind, inner),) = value.items()
            if kind in _TEXT_TYPES:
                if type(inner) is not str or not (inner.isascii() or encodable(inner)):
                    return False
            elif not value_test(value):
                return False
        return True

    return accept


def _value_acceptor(wire: bool) -> Acceptor:
    text = _string(String(), wire)
    texts = _list(List(String()), wire)
    blob = _wire_blob if wire else _python_blob
    blobs = _list(List(Blob()), wire)
    tests: dict[str, Acceptor] = {
        "S": text,
        "N": text,
        "B": blob,
        "SS": texts,
        "NS": texts,
        "BS": blobs,
        "BOOL": lambda content: content is True or content is False,
        "NULL": lambda content: content is True or content is False,
    }

    def accept(value: Any, level: int = 0) -> bool:
        if type(value) is not dict or len(value) != 1 or level > _DEEPEST:
            return False
        ((kind, content),) = value.items()
        if kind == "M":
            return type(content) is dict and all(
                text(name) and accept(inner, level + 1) for name, inner in content.items()
            )
        if kind == "L":
            return type(content) is list and all(accept(inner, level + 1) for inner in content)
        test = tests.get(kind)
        return test is not None and test(content)

    return accept


T = TypeVar("T")
Request: TypeAlias = dict[str, Any]

Check: TypeAlias = Callable[[dict[str, Any], bool], None]
"""A function that checks a request. The second argument is True for wire form, in which binary values are base64 text,
and False for Python form, in which they are bytes.

The function raises SerializationError or ValidationError with DynamoDB's message. A member that is None is treated as
missing. Unknown members are ignored in wire form and rejected in Python form.
"""


def compile(shape: Structure, *, late: bool = False) -> Check:  # noqa: A001  # used as shapes.compile, as re.compile is
    """Return the checker for a shape.

    If `late` is True, the checker skips members that are marked `late`, and the operation must be decorated with
    `late_check`.
    """
    accepts_wire = acceptor(shape, wire=True, late=late)
    accepts_python = acceptor(shape, wire=False, late=late)

    def check(request: dict[str, Any], wire: bool) -> None:
        if accepts_wire(request) if wire else accepts_python(request):
            return
        check_types(shape, request, wire)
        check_constraints(shape, request)

    return check


def late_check(shape: Structure) -> Callable[[Callable[[Request, Form], T]], Callable[[Request, Form], T]]:
    """Return a decorator for a function that converts a request to canonical values and has no other effect.

    If the function raises an exception, a member that is marked `late` may be invalid. The decorator then checks the
    whole request against the shape. This check raises DynamoDB's error or converts values as DynamoDB does. If it
    succeeds, the function is called again.
    """

    def decorate(prepare: Callable[[Request, Form], T]) -> Callable[[Request, Form], T]:
        @functools.wraps(prepare)
        def prepared(request: Request, form: Form) -> T:
            try:
                return prepare(request, form)
            except Exception:  # noqa: BLE001 - reported by the check, or raised again
                check_types(shape, request, form.wire)
                check_constraints(shape, request)
                return prepare(request, form)

        return prepared

    return decorate
