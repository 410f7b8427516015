"""The shapes of requests.

Limits are the service model's (botocore's copy of it, `data/dynamodb/2012-08-10/service-2.json`),
except where the service is known to answer by another one. Enum values stand in the order in which
the service lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Layer(Enum):
    """The validation layer of an operation, which decides the texts of errors in members and values.

    The service is moving its operations from one layer to another, so the same error has different texts in
    different operations (seen on the service, June to October 2026).

    OLDER: every member in one message, with its value (control plane).
    FRONT: lengths and ranges first, one at a time and without the value; then like OLDER.
    ENVELOPED: like FRONT, and every later error that needs no table, also of expressions and values, has
    the prefix "1 validation error detected: " (PutItem, UpdateItem, DeleteItem).
    """

    OLDER = "older"
    FRONT = "front"
    ENVELOPED = "enveloped"


@dataclass(frozen=True, slots=True)
class String:
    """Text. `min` and `max` count characters, `pattern` must match all of it.

    `newer_enum` is the enum as the newer layers list it, without the name of the member. `arn` accepts the ARN
    of a table in place of a name. If both are broken, the pattern is listed before the length, unless
    `length_first`.
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
    """An integer of 32 bits; the service truncates a fraction in JSON."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Long:
    """An integer of 64 bits."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false; in JSON also the strings true, yes, 1, false, no and 0."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Binary: base64 text in JSON, bytes in Python."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A timestamp: seconds since 1970 in JSON, also a datetime in Python."""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """An attribute value of any depth; only its types are checked here, not its rules."""


@dataclass(frozen=True, slots=True)
class List:
    """A list; `min` and `max` count elements."""

    element: Shape
    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """Names to values of one shape; `keys` constrains the names, `json_echo` shows it as JSON in messages.

    `late` marks attribute values that are not checked before the operation makes them canonical (see `checker`).
    """

    value: Shape
    min: int | None = None
    max: int | None = None
    keys: String | None = None
    json_echo: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class Demanded:
    """A member that is checked before all others, with its own message if missing and, optionally, for its length."""

    name: str
    absent: str
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """Named members. `name` is the service's class name, as messages show it.

    `hidden` is the number of members that the service's own class has in addition to its public model: it affects
    the order of errors (see `java.hash_order`). `alone` are members whose enum error in the newer layers is
    reported first and alone. `demanded` is the member that is checked before all others. `unsupported` are members
    of the service that are rejected, because ignoring them would give wrong results.
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
"""Attribute names to values: an item, a key or the values of placeholders."""
LATE_ITEM = Map(VALUE, late=True)
"""The same for operations that make all of it canonical in any case: it is walked once instead of twice."""
