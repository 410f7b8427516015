"""The data model of request shapes.

Limits come from the DynamoDB service model (`data/dynamodb/2012-08-10/service-2.json` in botocore), unless DynamoDB is
known to use another limit. Enum values are in the order in which DynamoDB lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Layer(Enum):
    """The validation layer of an operation, which determines the error messages for invalid members and values.

    DynamoDB is moving its operations from one layer to another, so the same error has different messages in different
    operations (observed in DynamoDB, June to October 2026).

    OLDER: one message lists all invalid members with their values. Control plane operations use this layer.

    FRONT: violations of lengths and ranges are reported first, one at a time and without the value. Other violations
    are reported as in OLDER.

    ENVELOPED: as in FRONT. In addition, every later error that does not depend on the table, including errors in
    expressions and values, has the prefix "1 validation error detected: ". PutItem, UpdateItem and DeleteItem use this
    layer.
    """

    OLDER = "older"
    FRONT = "front"
    ENVELOPED = "enveloped"


@dataclass(frozen=True, slots=True)
class String:
    """A string. `min` and `max` are numbers of characters, and `pattern` must match the whole string.

    `newer_enum` contains the enum values that messages of the layers FRONT and ENVELOPED list. These messages do not
    contain the member name. If `arn` is True, the ARN of a table is accepted instead of a name. If both the pattern and
    the length are violated, the pattern is listed first, unless `length_first` is set.
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
    """A 32-bit integer. If the number in JSON has a fraction, the fraction is discarded, as in DynamoDB."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Long:
    """A 64-bit integer."""

    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Boolean:
    """A boolean. In JSON, the strings true, yes, 1, false, no and 0 are also accepted."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Binary data: base64 text in JSON, and bytes in Python."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A timestamp in seconds since 1970. In Python, a datetime is also accepted."""


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """An attribute value of any depth. A check against this shape tests only the JSON types of the content, not
    DynamoDB's rules for values.
    """


@dataclass(frozen=True, slots=True)
class List:
    """A list. `min` and `max` are the minimum and maximum numbers of elements."""

    element: Shape
    min: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """A map from names to values of one shape. `keys` contains the constraints on the names.

    If `json_echo` is True, messages show the map as JSON. `late` marks attribute values that are not checked until the
    operation converts them to canonical form (see `checker`).
    """

    value: Shape
    min: int | None = None
    max: int | None = None
    keys: String | None = None
    json_echo: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class LeadingMember:
    """The member of a request that is checked before all other members.

    `missing_message` is the error message for a missing value, and `length_message` the message for an invalid length.
    """

    name: str
    missing_message: str
    length_message: str | None = None


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure with named members. `name` is the class name that DynamoDB's messages use.

    `hidden` is the number of members that DynamoDB's internal class has in addition to those in the public model. This
    number affects the order of errors (see `java.hash_order`). `exclusive_enums` are members whose enum error is
    reported first and alone in the layers FRONT and ENVELOPED. `leading_member` is the member that is checked before
    all other members. `unsupported` are members that DynamoDB accepts and keyplan rejects, because ignoring them would
    give wrong results.
    """

    name: str
    members: Mapping[str, Shape]
    required: tuple[str, ...] = ()
    layer: Layer = Layer.OLDER
    hidden: int = 0
    exclusive_enums: tuple[str, ...] = ()
    leading_member: LeadingMember | None = None
    unsupported: tuple[str, ...] = ()


Scalar: TypeAlias = String | Integer | Long | Boolean | Blob | Timestamp
Shape: TypeAlias = Scalar | AttributeValue | List | Map | Structure

VALUE = AttributeValue()
ITEM = Map(VALUE)
"""The shape of a map from names to attribute values, such as an item, a key or the values of placeholders."""
LATE_ITEM = Map(VALUE, late=True)
"""The same shape as ITEM. Its values are not checked until the operation converts them to canonical form."""
