"""What a shape is: the tables that describe requests.

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
    """How an operation words what is wrong with its members and values.

    The service is moving its operations from one validation layer to another, so the same fault reads
    differently in different operations (seen on the service, June to October 2026).

    OLDER: every member in one message, values echoed (control plane).
    FRONT: lengths and ranges come first, one at a time and without the value; then as OLDER.
    ENVELOPED: as FRONT, and every later fault that needs no table, of expressions and values too, has
    the prefix "1 validation error detected: " (PutItem, UpdateItem, DeleteItem).
    """

    OLDER = "older"
    FRONT = "front"
    ENVELOPED = "enveloped"


@dataclass(frozen=True, slots=True)
class String:
    """Text. `min` and `max` count characters, `pattern` must match all of it.

    `newer_enum` is how the newer layers list the enum, without naming the member. `arn` admits the ARN
    of a table in place of a name. Where both are broken, the pattern is told before the length, unless
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
    """A whole number of 32 bits; JSON may give it with a fraction, which the service cuts off."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Long:
    """A whole number of 64 bits."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false; JSON may also give the words true, yes, 1, false, no, 0 as text."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Binary: base64 text in JSON, bytes in Python."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A point in time: seconds since 1970 in JSON, and a datetime too in Python."""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """An attribute value, nested to any depth: only its types are checked here, not its rules."""


@dataclass(frozen=True, slots=True)
class List:
    """A list; `min` and `max` count elements."""

    element: Shape
    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """Names to values of one shape; `keys` constrains the names, `json_echo` shows it as JSON in messages.

    `late`: attribute values that are not looked at before the operation makes them canonical (see `checker`).
    """

    value: Shape
    min: int | None = None
    max: int | None = None
    keys: String | None = None
    json_echo: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class Demanded:
    """A member whose absence is told before all else, by a sentence of its own; a wrong length too, if it has one."""

    name: str
    absent: str
    misfit: str | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """Named members. `name` is the service's class name, as messages show it.

    `hidden` is how many more members the service's own class has than its public model: it decides
    the order in which the service lists faults (see `order`). `alone` are members whose enum fault in
    the newer form is reported before and without all others. `demanded` is the member that is looked at
    before all others. `unsupported` are members of the service's that are refused here, where ignoring them
    would pretend.
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
"""Attribute names to values: a key, or what placeholders stand for."""
LATE_ITEM = Map(VALUE, late=True)
"""The same where the operation makes all of it canonical, whatever else the request says: walked once, not twice."""
