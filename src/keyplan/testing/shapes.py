"""Compiled parts of botocore's model of an operation: request checks, and conversion of binary data and timestamps.

An unmodified client validates and converts every request and response with the model. Most of that is unnecessary if
the engine is in the same process: the engine reads the request itself, and its responses have the right form except for
timestamps. The remaining work is compiled once per operation to closures:

- `request_check` checks whether botocore would *certainly* send a request unchanged. It checks member names, types,
  required members and minimum lengths, but not the contents of attribute values, which the engine checks anyway. A
  request that fails the check may still be valid. For example, it may contain a tuple or a datetime. Such requests are
  processed by botocore's own validator and serializer.
- `blob_reader` converts base64 text in the serializer's output back to bytes.
- `time_reader` converts seconds in a response to datetimes, like botocore.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape
from botocore.utils import parse_timestamp

Check = Callable[[Any], bool]
Reader = Callable[[Any], Any]


class _NeverPlain:
    """A type without instances. It represents the types that always need botocore's serializer: timestamps and unknown
    types.
    """


_PLAIN_TYPES: dict[str, type] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "long": int,
    "float": float,
    "double": float,
    "blob": bytes,
    "structure": dict,
    "map": dict,
    "list": list,
}


def request_check(shape: Shape | None) -> Check:
    """Return a test for requests. It accepts only valid requests that botocore would send unchanged."""
    if shape is None:
        return _is_empty
    return _check(shape, ()) or _is_dict


def blob_reader(shape: Shape | None) -> Reader | None:
    """Return a function that decodes the base64 text in a serialized request.

    Return None if requests with this shape have no binary members.
    """
    if shape is None or not _contains_type(shape, "blob"):
        return None
    return _reader(shape, "blob", b64decode, {})


def time_reader(shape: Shape | None) -> Reader | None:
    """Return a function that converts epoch seconds in a response to datetimes.

    Return None if responses with this shape have no timestamps. Like botocore's parser, the function removes members
    that the service model does not contain.
    """
    if shape is None or not _contains_type(shape, "timestamp"):
        return None
    return _reader(shape, "timestamp", parse_timestamp, {})


def _is_empty(value: Any) -> bool:
    return bool(value == {})


def _is_dict(value: Any) -> bool:
    return type(value) is dict


def _have_one_member(values: Iterable[Any]) -> bool:
    """Return True if each of the attribute values, including nested values, has exactly one member, such as {"S": "x"}.

    The engine rejects a single unknown member, and values of a wrong type. However, it accepts additional unknown
    members and None, which botocore rejects.
    """
    try:
        for value in values:
            [kind] = value
            content = value[kind]
            if kind == "M":
                if not _is_valid_map(content):
                    return False
            elif content is None or (kind == "L" and not _have_one_member(content)):
                return False
    except (TypeError, ValueError, LookupError):  # the type is wrong, or the number of members is not one
        return False
    return True


def _is_valid_map(values: Any) -> bool:
    if type(values) is not dict:
        return False
    try:
        "".join(values)
    except TypeError:  # a name that is not a text
        return False
    return _have_one_member(values.values())


def _check(shape: Shape, enclosing: tuple[str, ...]) -> Check | None:
    """Return a test for a value whose Python type has already been checked. Return None if no further test is needed.

    `enclosing` contains the names of the enclosing shapes. A shape that contains itself is not checked again.
    """
    if shape.name == "AttributeValue":
        return lambda value: _have_one_member((value,))
    if shape.name in enclosing:
        return None
    enclosing = (*enclosing, shape.name)
    if isinstance(shape, StructureShape):
        return _structure_check(shape, enclosing)
    if isinstance(shape, MapShape):
        return _map_check(shape, enclosing)
    if isinstance(shape, ListShape):
        return _list_check(shape, enclosing)
    minimum = shape.metadata.get("min")
    if minimum is None:
        return None
    if shape.type_name == "string":
        return lambda value: len(value) >= minimum
    return lambda value: bool(value >= minimum)


def _plain_type(shape: Shape) -> type:
    return _PLAIN_TYPES.get(shape.type_name, _NeverPlain)


def _structure_check(shape: StructureShape, enclosing: tuple[str, ...]) -> Check:
    members = {name: (_plain_type(member), _check(member, enclosing)) for name, member in shape.members.items()}
    required = frozenset(shape.metadata.get("required", ()))

    def check(value: Any) -> bool:
        for name, content in value.items():
            member = members.get(name)
            if member is None or type(content) is not member[0]:
                return False
            check_content = member[1]
            if check_content is not None and not check_content(content):
                return False
        return bool(required <= value.keys())

    return check


def _map_check(shape: MapShape, enclosing: tuple[str, ...]) -> Check:
    value_type = _plain_type(shape.value)
    check_value = _check(shape.value, enclosing)
    key_check = _check(shape.key, enclosing)
    if shape.value.name == "AttributeValue":
        return _is_valid_map

    def check(value: Any) -> bool:
        for name, member in value.items():
            if type(member) is not value_type or type(name) is not str:
                return False
            if key_check is not None and not key_check(name):
                return False
            if check_value is not None and not check_value(member):
                return False
        return True

    return check


def _list_check(shape: ListShape, enclosing: tuple[str, ...]) -> Check:
    member_type = _plain_type(shape.member)
    check_member = _check(shape.member, enclosing)
    minimum = shape.metadata.get("min", 0)

    def check(value: Any) -> bool:
        for element in value:
            if type(element) is not member_type or (check_member is not None and not check_member(element)):
                return False
        return bool(len(value) >= minimum)

    return check


def _contains_type(shape: Shape, kind: str, enclosing: tuple[str, ...] = ()) -> bool:
    """Return True if a shape contains a scalar of the botocore type `kind` at any depth.

    `enclosing` contains the names of the enclosing shapes.
    """
    if shape.type_name == kind:
        return True
    if shape.name in enclosing:
        return False
    enclosing = (*enclosing, shape.name)
    if isinstance(shape, StructureShape):
        return any(_contains_type(member, kind, enclosing) for member in shape.members.values())
    if isinstance(shape, MapShape):
        return _contains_type(shape.value, kind, enclosing)
    return isinstance(shape, ListShape) and _contains_type(shape.member, kind, enclosing)


def _reader(shape: Shape, kind: str, convert: Reader, readers: dict[str, Reader]) -> Reader:
    """Return a function that copies a value and converts every scalar of the type `kind`.

    A value that does not match the shape is returned unchanged. Requests can contain such values if botocore's
    validation is turned off, and the engine then rejects them.
    """
    if shape.type_name == kind:
        return convert
    if shape.name in readers:
        return readers[shape.name]
    # A shape may contain itself, so it is registered before it is built.
    readers[shape.name] = lambda value: reader(value)  # noqa: PLW0108  bound further down
    if isinstance(shape, StructureShape):
        reader = _structure_reader(shape, kind, convert, readers)
    elif isinstance(shape, MapShape):
        reader = _map_reader(_reader(shape.value, kind, convert, readers))
    elif isinstance(shape, ListShape):
        reader = _list_reader(_reader(shape.member, kind, convert, readers))
    else:
        raise TypeError(f"{shape.name} contains no {kind}")
    readers[shape.name] = reader
    return reader


def _structure_reader(shape: StructureShape, kind: str, convert: Reader, known_readers: dict[str, Reader]) -> Reader:
    readers = {
        name: _reader(member, kind, convert, known_readers)
        for name, member in shape.members.items()
        if _contains_type(member, kind)
    }
    keeps_all = kind != "timestamp"  # botocore's parser returns only members of its model from a response

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            name: readers[name](member) if name in readers else member
            for name, member in value.items()
            if keeps_all or name in shape.members
        }

    return read


def _map_reader(read_value: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: read_value(member) for name, member in value.items()}

    return read


def _list_reader(read_element: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [read_element(element) for element in value]

    return read
