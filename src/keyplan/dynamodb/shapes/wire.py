"""Phase 1: checks of the types in a request, with DynamoDB's messages.

The traversal of attribute values uses an explicit stack, so that deep nesting cannot exhaust Python's stack. A request
in wire form is JSON that the server has parsed. Values that DynamoDB converts (a truncated fraction, "yes" for true)
are converted in place, and unknown members are removed. A request in Python form is never changed, so such values and
unknown members are rejected.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64
from datetime import datetime
from typing import Any, NoReturn

from keyplan.dynamodb.messages import requests as messages
from keyplan.dynamodb.shapes.model import (
    VALUE,
    AttributeValue,
    Blob,
    Boolean,
    Integer,
    List,
    Long,
    Map,
    Shape,
    String,
    Structure,
    Timestamp,
)
from keyplan.errors import SerializationError, ValidationError

_PACKAGE = "com.amazonaws.dynamodb.v20120810."
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_TRUE_WORDS = frozenset(("TRUE", "YES", "1"))
_FALSE_WORDS = frozenset(("FALSE", "NO", "0"))
_INTEGER_BITS = {Integer: 31, Long: 63}

_SCALAR_JAVA = {
    String: "java.lang.String",
    Integer: "java.lang.Integer",
    Long: "java.lang.Long",
    Boolean: "java.lang.Boolean",
    Blob: "java.nio.ByteBuffer",
    Timestamp: "java.util.Date",
}

STRING = String()
BLOB = Blob()
BOOLEAN = Boolean()
VALUES = List(VALUE)
NAMED_VALUES = Map(VALUE)

VALUE_MEMBERS: dict[str, Shape] = {
    "S": STRING,
    "N": STRING,
    "B": BLOB,
    "SS": List(STRING),
    "NS": List(STRING),
    "BS": List(BLOB),
    "BOOL": BOOLEAN,
    "NULL": BOOLEAN,
    "L": VALUES,
    "M": NAMED_VALUES,
}
"""Maps each type code of an attribute value to the shape of the content of such a value."""


def check_types(shape: Structure, request: Any, wire: bool) -> None:
    """Raise SerializationError for the first value in a request whose type differs from the type in the shape.

    `wire` is True for a request in wire form.
    """
    _TypeChecker(wire).check_structure(shape, request, field=True)


class _TypeChecker:
    """Checks the types in one request.

    In the methods, `name` is the name of the checked member. `field` is True for a member of a structure, and False for
    a member of a list or map.
    """

    def __init__(self, wire: bool) -> None:
        self.wire = wire

    def check(self, shape: Shape, content: Any, name: str, field: bool) -> None:
        """Check the types in a value of any shape.

        This method does not convert scalars. The method `check_member` converts them.
        """
        if isinstance(shape, AttributeValue):
            self.check_value(content, name, field)
        elif isinstance(shape, Structure):
            self.check_structure(shape, content, field)
        elif isinstance(shape, Map):
            self.check_map(shape, content, name, field)
        elif isinstance(shape, List):
            self.check_list(shape, content, name, field)
        else:
            self.check_scalar(shape, content, name)

    def check_structure(self, shape: Structure, content: Any, field: bool) -> None:
        """Check the types in a structure and its members."""
        if not isinstance(content, dict):
            _refuse_as_structure(shape, content, field)
        for member, inner in list(content.items()):
            inner_shape = shape.members.get(member)
            if inner_shape is not None:
                if inner is not None:
                    self.check_member(content, member, inner_shape, str(member), True)
            elif inner is not None and member in shape.unsupported:
                raise ValidationError(messages.unsupported_parameter(member))
            elif self.wire:
                del content[member]
            elif inner is not None:
                raise ValidationError(messages.unknown_member(str(member), shape.members))

    def check_map(self, shape: Map, content: Any, name: str, field: bool) -> None:
        """Check the types in a map and its members."""
        _expect_map(shape, content, field)
        for key, inner in list(content.items()):
            self.check_text(key, f"a key of {name}")
            if inner is not None:
                self.check_member(content, key, shape.value, key, False)

    def check_list(self, shape: List, content: Any, name: str, field: bool) -> None:
        """Check the types in a list and its elements."""
        _expect_list(content, field)
        for position, inner in enumerate(content):
            if inner is not None:
                self.check_member(content, position, shape.element, name, False)

    def check_member(self, holder: Any, key: Any, shape: Shape, name: str, field: bool) -> None:
        """Check the types in the value `holder[key]`. `holder` is a structure or map with a string key, or a list with
        an index.

        If DynamoDB converts the value, it is replaced by the converted value.
        """
        content = holder[key]
        if self.wire and isinstance(shape, Integer | Long | Boolean):
            converted = _converted(shape, content)
            if converted is not content:
                holder[key] = content = converted
        self.check(shape, content, name, field)

    def check_value(self, content: Any, name: str, field: bool) -> None:
        """Check the types in an attribute value of any depth."""
        pending = [(content, name, field)]
        while pending:
            content, name, field = pending.pop()
            if not isinstance(content, dict):
                _refuse_as_structure(VALUE, content, field)
            for kind, inner in list(content.items()):
                shape = VALUE_MEMBERS.get(kind)
                if shape is None or inner is None:
                    continue
                if shape is VALUES:
                    _expect_list(inner, True)
                    pending.extend((element, name, False) for element in reversed(inner) if element is not None)
                elif shape is NAMED_VALUES:
                    _expect_map(NAMED_VALUES, inner, True)
                    for key in inner:
                        self.check_text(key, f"a key of {name}")
                    pending.extend((inner[key], key, False) for key in reversed(inner) if inner[key] is not None)
                else:
                    self.check_member(content, kind, shape, name, True)

    def check_scalar(self, shape: Shape, content: Any, name: str) -> None:
        """Check the type of a string, number, boolean, timestamp or binary value."""
        if isinstance(content, dict):
            raise SerializationError(messages.STRUCTURE_NOT_EXPECTED)
        if isinstance(content, list | tuple):
            raise SerializationError(messages.unrecognized_collection(f"class {_SCALAR_JAVA[type(shape)]}"))
        if isinstance(shape, String):
            self.check_text(content, name)
        elif isinstance(shape, Blob):
            self.check_blob(content, name)
        elif isinstance(shape, Timestamp):
            if not is_time(content, self.wire):
                raise SerializationError(messages.not_convertible(_token(content), "Date"))
        elif isinstance(shape, Boolean):
            if not isinstance(content, bool):
                raise SerializationError(_not_boolean(content))
        elif not isinstance(content, int) or isinstance(content, bool) or _too_wide(shape, content):
            raise SerializationError(messages.not_convertible(_token(content), type(shape).__name__))

    def check_text(self, content: Any, name: str) -> None:
        """Check that a value is a string. In Python form, it must not contain lone surrogates, which cannot be encoded
        as UTF-8.
        """
        if not isinstance(content, str):
            raise SerializationError(messages.not_convertible(_token(content), "String"))
        if not self.wire and not encodable(content):
            raise SerializationError(messages.not_unicode(name))

    def check_blob(self, content: Any, name: str) -> None:
        """Check that a value is binary data: base64 text in wire form, and bytes or str in Python form."""
        if self.wire:
            if not isinstance(content, str):
                raise SerializationError(messages.NOT_BASE64)
            _check_base64(content)
        elif isinstance(content, str):
            self.check_text(content, name)
        elif not isinstance(content, bytes | bytearray | memoryview):
            raise SerializationError(messages.NOT_BASE64)


def is_time(content: Any, wire: bool) -> bool:
    """Return True if the content is a timestamp: a number or, in Python form, a datetime."""
    if isinstance(content, int | float):
        return not isinstance(content, bool)
    return not wire and isinstance(content, datetime)


def encodable(text: str) -> bool:
    """Return True if a string can be encoded as UTF-8. A string with a lone surrogate cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def canonical_base64(text: str) -> bool:
    """Return True if a string is base64 with padding, in which the unused bits of the last character are zero."""
    try:
        return b64encode(a2b_base64(text)).decode() == text
    except (Base64Error, ValueError):
        return False


def _check_base64(text: str) -> None:
    if len(text) % 4:
        raise SerializationError(messages.base64_length(len(text)))
    for character in text:
        if character not in _BASE64:
            raise SerializationError(messages.base64_character(character))
    if not canonical_base64(text):
        raise SerializationError(messages.BASE64_LAST_CHARACTER)


def _converted(shape: Shape, content: Any) -> Any:
    if isinstance(shape, Boolean):
        if isinstance(content, str):
            word = content.upper()
            return True if word in _TRUE_WORDS else False if word in _FALSE_WORDS else content
    elif isinstance(content, float) and abs(content) < 2.0**63:
        return int(content)
    return content


def _too_wide(shape: Shape, content: int) -> bool:
    bits = _INTEGER_BITS[type(shape)]
    return not -(1 << bits) <= content < 1 << bits


def _not_boolean(content: Any) -> str:
    if isinstance(content, str):
        return messages.UNREADABLE
    return messages.not_convertible(_token(content), "Boolean")


def _refuse_as_structure(shape: Structure | AttributeValue, content: Any, field: bool) -> NoReturn:
    if isinstance(content, list | tuple):
        raise SerializationError(messages.unrecognized_collection(f"class {_java(shape)}"))
    raise SerializationError(messages.UNEXPECTED_FIELD if field else messages.UNEXPECTED_VALUE)


def _expect_map(shape: Map, content: Any, field: bool) -> None:
    if isinstance(content, dict):
        return
    if isinstance(content, list | tuple):
        raise SerializationError(messages.unrecognized_collection(_java(shape)))
    raise SerializationError(messages.UNEXPECTED_FIELD if field else messages.PARAMETERIZED_CAST)


def _expect_list(content: Any, field: bool) -> None:
    if isinstance(content, list | tuple):
        return
    if isinstance(content, dict):
        raise SerializationError(messages.STRUCTURE_NOT_EXPECTED)
    raise SerializationError(messages.UNEXPECTED_FIELD if field else messages.PARAMETERIZED_CAST)


def _java(shape: Shape) -> str:
    """Return the Java type of a shape, for use in messages."""
    if isinstance(shape, Map):
        return f"java.util.Map<java.lang.String, {_java(shape.value)}>"
    if isinstance(shape, List):
        return f"java.util.List<{_java(shape.element)}>"
    if isinstance(shape, Structure):
        return _PACKAGE + shape.name
    if isinstance(shape, AttributeValue):
        return _PACKAGE + "AttributeValue"
    return _SCALAR_JAVA[type(shape)]


def _token(content: Any) -> str:
    """Return the name that DynamoDB's messages use for a scalar in JSON, such as STRING_VALUE."""
    if isinstance(content, bool):
        return "TRUE_VALUE" if content else "FALSE_VALUE"
    if isinstance(content, str):
        return "STRING_VALUE"
    if isinstance(content, int):
        return "NUMBER_VALUE"
    if isinstance(content, float):
        return "DECIMAL_VALUE"
    return f"{type(content).__name__.upper()}_VALUE"
