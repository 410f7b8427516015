"""The data model of request shapes.

Limits come from the service model (botocore's copy of it, `data/dynamodb/2012-08-10/service-2.json`), unless the
service is known to use another limit. Enum values are in the order in which the service lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Layer(Enum):
    """The validation layer of an operation, which determines the messages for errors in members and values.

    The service is moving its operations from one layer to another, so the same error has different messages in
    different operations (observed on the service, June to October 2026).

    OLDER: one message lists all invalid members with their values (control plane).

    FRONT: violated lengths and ranges are reported first, one at a time and without the value. The rest is like OLDER.

    ENVELOPED: like FRONT. Every later error that needs no table, including errors of expressions and values, has the
    prefix "1 validation error detected: " (PutItem, UpdateItem, DeleteItem).
    """

    OLDER = "older"
    FRONT = "front"
    ENVELOPED = "enveloped"


@dataclass(frozen=True, slots=True)
class String:
    """A string. `min` and `max` count characters, and `pattern` must match the whole string.

    `newer_enum` is the list of enum values in the newer layers, whose message does not contain the member name. `arn`
    accepts the ARN of a table instead of a name. If both are violated, the pattern is listed before the length, unless
    `length_first` is set.
    """

    min: int | None = None
    max: int | None = None
    pattern: str | None = None
    enum: tuple[str, ...] | None = None
    newer_enum: tuple[str, ...] | None = None
    arn: bool = False
    length_first: bool = False


@dataclass(frozen=True, slots=True)
class Integer:
    """A 32-bit integer. The service truncates fractions in JSON."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Long:
    """A 64-bit integer."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Boolean:
    """A boolean. In JSON, the strings true, yes, 1, false, no and 0 are accepted too."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Binary data: base64 text in JSON, and bytes in Python."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A timestamp in seconds since 1970. In Python, a datetime is accepted too."""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """An attribute value of any depth. Only its types are checked here, not its rules."""


@dataclass(frozen=True, slots=True)
class List:
    """A list. `min` and `max` count elements."""

    element: Shape
    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """A map of names to values of one shape. `keys` constrains the names.

    With `json_echo`, messages show the map as JSON. `late` marks attribute values that are not checked before the
    operation makes them canonical (see `checker`).
    """

    value: Shape
    min: int | None = None
    max: int | None = None
    keys: String | None = None
    json_echo: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class Demanded:
    """A member that is checked before all others, with its own messages for a missing value and for its length."""

    name: str
    absent: str
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure with named members. `name` is the service's class name, as in its messages.

    `hidden` is the number of members that the service's own class has in addition to its public model. It affects the
    order of errors (see `java.hash_order`). `alone` are members whose enum error is reported first and alone in the
    newer layers. `demanded` is the member that is checked before all others. `unsupported` are members of the service
    that are rejected, because ignoring them would give wrong results.
    """

    name: str
    members: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    layer: Layer = Layer.OLDER
    hidden: int = 0
    alone: tuple[str, ...] = ()
    demanded: Demanded | None = None
    unsupported: tuple[str, ...] = ()


Scalar: TypeAlias = String | Integer | Long | Boolean | Blob | Timestamp
Shape: TypeAlias = Scalar | AttributeValue | List | Map | Structure

VALUE = AttributeValue()
ITEM = Map(VALUE)
"""The shape of a map of names to values, such as an item, a key or the values of placeholders."""
LATE_ITEM = Map(VALUE, late=True)
"""The same shape for operations that make all values canonical later, which also checks them."""
