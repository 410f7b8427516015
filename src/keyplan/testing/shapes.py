"""What botocore's service model says of an operation, compiled: sound requests, blobs, timestamps.

An unmodified client walks every request and every answer against the model. Most of that is not
needed when the engine is in the same process: the engine reads the request itself, and its answers
have the right form but for timestamps. What stays is compiled once per operation to closures:

- `request_check` answers whether a request is *surely* one that botocore would send as it is. It
  looks at member names, types, required members and least lengths, but not at the contents of
  attribute values, which the engine checks anyway. A request that fails it is not yet wrong: it may
  hold a tuple or a datetime, so it goes through botocore's own validator and serializer.
- `blob_reader` turns the base64 text in what the serializer made back into bytes.
- `time_reader` turns the seconds of an answer into the datetimes that botocore gives.
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
    """The type of members that always need the serializer: timestamps and whatever is new."""


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
    """A test that holds only for requests which botocore's validator and serializer leave as is."""
    if shape is None:
        return _is_empty
    return _check(shape, ()) or _is_dict


def blob_reader(shape: Shape | None) -> Reader | None:
    """What turns the base64 text of a serialized request into bytes; None where there is none."""
    if shape is None or not _holds(shape, "blob"):
        return None
    return _reader(shape, "blob", b64decode, {})


def time_reader(shape: Shape | None) -> Reader | None:
    """What turns epoch seconds of an answer into datetimes; None where it has no timestamps.

    As botocore's parser does, it leaves out of structures what the model does not know.
    """
    if shape is None or not _holds(shape, "timestamp"):
        return None
    return _reader(shape, "timestamp", parse_timestamp, {})


def _is_empty(value: Any) -> bool:
    return bool(value == {})


def _is_dict(value: Any) -> bool:
    return type(value) is dict


def _are_single(values: Iterable[Any]) -> bool:
    """Whether each of several attribute values has one member, and so has all inside.

    The engine refuses an unknown member that stands alone and every content of a wrong type. What it does
    not mind, and botocore does, are further members that are unknown, and None.
    """
    try:
        for value in values:
            [kind] = value
            content = value[kind]
            if kind == "M":
                if not _are_named(content):
                    return False
            elif content is None or (kind == "L" and not _are_single(content)):
                return False
    except (TypeError, ValueError, LookupError):  # not of its type, or there are several members or none
        return False
    return True


def _are_named(values: Any) -> bool:
    """Whether a map has texts as names, and values as above."""
    if type(values) is not dict:
        return False
    try:
        "".join(values)
    except TypeError:  # a name that is no text
        return False
    return _are_single(values.values())


def _check(shape: Shape, above: tuple[str, ...]) -> Check | None:
    """The test of a value whose Python type is right already; None if there is no more to ask."""
    if shape.name == "AttributeValue":
        return lambda value: _are_single((value,))
    if shape.name in above:
        return None
    above = (*above, shape.name)
    if isinstance(shape, StructureShape):
        return _structure_check(shape, above)
    if isinstance(shape, MapShape):
        return _map_check(shape, above)
    if isinstance(shape, ListShape):
        return _list_check(shape, above)
    least = shape.metadata.get("min")
    if least is None:
        return None
    if shape.type_name == "string":
        return lambda value: len(value) >= least
    return lambda value: bool(value >= least)


def _plain_type(shape: Shape) -> type:
    return _PLAIN_TYPES.get(shape.type_name, _NeverPlain)


def _structure_check(shape: StructureShape, above: tuple[str, ...]) -> Check:
    members = {name: (_plain_type(member), _check(member, above)) for name, member in shape.members.items()}
    required = frozenset(shape.metadata.get("required", ()))

    def check(value: Any) -> bool:
        for name, given in value.items():
            member = members.get(name)
            if member is None or type(given) is not member[0]:
                return False
            deeper = member[1]
            if deeper is not None and not deeper(given):
                return False
        return bool(required <= value.keys())

    return check


def _map_check(shape: MapShape, above: tuple[str, ...]) -> Check:
    plain = _plain_type(shape.value)
    deeper = _check(shape.value, above)
    key_check = _check(shape.key, above)
    if shape.value.name == "AttributeValue":
        return _are_named

    def check(value: Any) -> bool:
        for name, given in value.items():
            if type(given) is not plain or type(name) is not str:
                return False
            if key_check is not None and not key_check(name):
                return False
            if deeper is not None and not deeper(given):
                return False
        return True

    return check


def _list_check(shape: ListShape, above: tuple[str, ...]) -> Check:
    plain = _plain_type(shape.member)
    deeper = _check(shape.member, above)
    least = shape.metadata.get("min", 0)

    def check(value: Any) -> bool:
        for given in value:
            if type(given) is not plain or (deeper is not None and not deeper(given)):
                return False
        return bool(len(value) >= least)

    return check


def _holds(shape: Shape, wanted: str, above: tuple[str, ...] = ()) -> bool:
    """Whether a scalar of the wanted type is anywhere inside."""
    if shape.type_name == wanted:
        return True
    if shape.name in above:
        return False
    above = (*above, shape.name)
    if isinstance(shape, StructureShape):
        return any(_holds(member, wanted, above) for member in shape.members.values())
    if isinstance(shape, MapShape):
        return _holds(shape.value, wanted, above)
    return isinstance(shape, ListShape) and _holds(shape.member, wanted, above)


def _reader(shape: Shape, wanted: str, convert: Reader, known: dict[str, Reader]) -> Reader:
    """A function that copies a value with every scalar of the wanted type converted.

    Anything that does not have the shape's form is returned as it is: with botocore's validation
    switched off, a request may hold anything, and the engine is the one to refuse it.
    """
    if shape.type_name == wanted:
        return convert
    if shape.name in known:
        return known[shape.name]
    # A shape may hold itself, so it is known before it is built.
    known[shape.name] = lambda value: built(value)  # noqa: PLW0108  bound further down
    if isinstance(shape, StructureShape):
        built = _structure_reader(shape, wanted, convert, known)
    elif isinstance(shape, MapShape):
        built = _map_reader(_reader(shape.value, wanted, convert, known))
    elif isinstance(shape, ListShape):
        built = _list_reader(_reader(shape.member, wanted, convert, known))
    else:
        raise TypeError(f"{shape.name} holds no {wanted}")
    known[shape.name] = built
    return built


def _structure_reader(shape: StructureShape, wanted: str, convert: Reader, known: dict[str, Reader]) -> Reader:
    readers = {
        name: _reader(member, wanted, convert, known)
        for name, member in shape.members.items()
        if _holds(member, wanted)
    }
    keeps_all = wanted != "timestamp"  # of an answer, botocore's parser gives only what its model knows

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            name: readers[name](given) if name in readers else given
            for name, given in value.items()
            if keeps_all or name in shape.members
        }

    return read


def _map_reader(inner: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: inner(given) for name, given in value.items()}

    return read


def _list_reader(inner: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [inner(given) for given in value]

    return read
