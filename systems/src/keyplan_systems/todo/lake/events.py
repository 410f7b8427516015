"""Converts the stream records of the to-do table to change events with unique identities, and validates them.

Records are in the format of the DynamoDB Streams API, with attribute values such as `{"S": ...}`, `{"N": "..."}` and
`{"B": bytes}`. Both forms of `userIdentity` are supported: GetRecords uses `Type` and `PrincipalId`, and Lambda events
use `type` and `principalId`. Numbers are kept as strings, and images are converted to DynamoDB JSON.

Source: API reference, "Record" and "StreamRecord" of DynamoDB Streams; developer guide, "DynamoDB Streams and Time to
Live".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson

from keyplan_systems.todo.lake.errors import BadRecordError

SEQUENCE_DIGITS = 40
"""Maximum number of digits of a sequence number. Shorter numbers are padded with zeros, so that the strings sort
numerically.
"""

_SECOND_US = 1_000_000
_CHANGES = {"INSERT": "insert", "MODIFY": "modify", "REMOVE": "delete"}
_TTL_PRINCIPAL = "dynamodb.amazonaws.com"
_SCALARS = {"S": str, "N": str, "BOOL": bool, "NULL": bool}
_SETS = frozenset(("SS", "NS", "BS"))


@dataclass(frozen=True, slots=True)
class Event:
    """A change to one item of the table."""

    stream: str
    """Label of the stream, which is the stream's creation time, or an empty string if it is unknown.

    Sequence numbers can only be compared within one stream.
    """
    sequence: str
    """Sequence number of the stream record, padded with zeros to 40 digits."""
    event_id: str
    change: str
    """Type of the change: `insert`, `modify`, `delete`, or `expire` (deleted by time to live)."""
    at_us: int
    """Time of the change in microseconds since the Unix epoch, with the precision that the service reports."""
    entity: str
    """Type of the item: `user`, `task`, `email` (the item that reserves an email address), or `unknown`."""
    user_id: str | None
    task_id: str | None
    pk: str
    sk: str
    new_image: str | None
    old_image: str | None
    size_bytes: int | None
    view_type: str | None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """A key that is unique among the events of a table."""
        return self.stream, self.sequence, self.pk, self.sk


def position_of(stream: str, sequence: str) -> str:
    """Return the position of an event as a string. The events of an item, sorted by position, are in the order in which
    they happened.
    """
    return f"{stream} {sequence}"


def event_of(record: Mapping[str, Any], index: int, stream: str = "") -> Event | None:
    """Return the change in a stream record, or None if the item is an idempotency record.

    `index` is the position of the record in its batch, which is part of error messages. `stream` is the label of the
    stream. It is used for a record that does not contain the label. Raises BadRecordError if the record is malformed.
    """
    try:
        return _event(record, stream)
    except _MalformedError as error:
        raise BadRecordError(str(error), index=index) from None


def entity_of(pk: str, sk: str) -> tuple[str, str | None, str | None]:
    """Return the type of an item (`user`, `task`, `email` or `unknown`), its user ID and its task ID, given its PK and
    SK.

    An ID that items of this type do not have is None.
    """
    prefix, _, rest = pk.partition("#")
    if prefix == "USER" and rest and sk == "METADATA":
        return "user", rest, None
    if prefix == "TASK" and rest and sk.startswith("TASK#") and len(sk) > len("TASK#"):
        return "task", rest, sk.removeprefix("TASK#")
    if prefix == "EMAIL" and rest:
        return "email", None, None
    return "unknown", None, None


def is_idempotency(pk: str) -> bool:
    """Return True if `pk` is the partition key of an idempotency record. These records contain response bodies and are
    not stored in the lake.
    """
    return pk.startswith("IDEMPOTENCY#")


def key_of(keys: Any) -> tuple[str, str]:
    """Return the values of PK and SK in the keys of a record or in an item. Raises ValueError if they are
    not strings.
    """
    try:
        pk, sk = keys["PK"]["S"], keys["SK"]["S"]
    except (KeyError, TypeError):
        raise _MalformedError("PK and SK must be strings: the record does not belong to the to-do table") from None
    if not isinstance(pk, str) or not isinstance(sk, str):
        raise _MalformedError("PK and SK must be strings: the record does not belong to the to-do table")
    return _text(pk, "PK"), _text(sk, "SK")


def image_json(image: Any) -> str:
    """Return an item as DynamoDB JSON with sorted members. Binary values are encoded in base64, and numbers are
    strings.

    Raises ValueError if a value is not a valid attribute value.
    """
    if not isinstance(image, Mapping):
        raise _MalformedError("an image must be a map of attribute values")
    for name, value in image.items():
        if not _is_plain(value):
            _check(value, name)
    try:
        return orjson.dumps(image, default=_base64, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as error:
        raise _MalformedError(f"an image cannot be written as JSON: {error}") from None


def stream_label(text: str) -> str:
    """Return the label of a stream, given its ARN or the label itself."""
    return text.rpartition("/stream/")[2]


class _MalformedError(ValueError):
    """Raised internally if a record is malformed. The message contains the reason."""


def _event(record: Mapping[str, Any], stream: str) -> Event | None:
    if not isinstance(record, Mapping) or not isinstance(record.get("dynamodb"), Mapping):
        raise _MalformedError("not a stream record: it has no map `dynamodb`")
    body = record["dynamodb"]
    pk, sk = key_of(body.get("Keys"))
    if is_idempotency(pk):
        return None
    entity, user_id, task_id = entity_of(pk, sk)
    new, old = body.get("NewImage"), body.get("OldImage")
    change = _change(record)
    if new is None and change in {"insert", "modify"}:
        raise _MalformedError("no NewImage: the stream's view type must be NEW_IMAGE or NEW_AND_OLD_IMAGES")
    return Event(
        stream=stream_label(_text(stream or record.get("eventSourceARN", ""), "eventSourceARN")),
        sequence=_sequence(body.get("SequenceNumber")),
        event_id=_text(record.get("eventID"), "eventID"),
        change=change,
        at_us=_microseconds(body.get("ApproximateCreationDateTime")),
        entity=entity,
        user_id=user_id,
        task_id=task_id,
        pk=pk,
        sk=sk,
        new_image=None if new is None else image_json(new),
        old_image=None if old is None else image_json(old),
        size_bytes=_size(body.get("SizeBytes")),
        view_type=_text(body.get("StreamViewType", ""), "StreamViewType") or None,
    )


def _change(record: Mapping[str, Any]) -> str:
    change = _CHANGES.get(record.get("eventName", ""))
    if change is None:
        raise _MalformedError(f"eventName is {record.get('eventName')!r}; it must be one of {', '.join(_CHANGES)}")
    return "expire" if change == "delete" and _by_service(record.get("userIdentity")) else change


def _by_service(identity: Any) -> bool:
    if not isinstance(identity, Mapping):
        return False
    members = {name.lower(): value for name, value in identity.items()}
    return members.get("type") == "Service" and members.get("principalid") == _TTL_PRINCIPAL


def _sequence(number: Any) -> str:
    if not (isinstance(number, str) and number.isascii() and number.isdigit() and len(number) <= SEQUENCE_DIGITS):
        raise _MalformedError(f"SequenceNumber is {number!r}; it must be text of 1 to {SEQUENCE_DIGITS} digits")
    return number.zfill(SEQUENCE_DIGITS)


def _microseconds(value: Any) -> int:
    if isinstance(value, datetime) and value.tzinfo is not None:
        elapsed = value.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        return (elapsed.days * 86_400 + elapsed.seconds) * _SECOND_US + elapsed.microseconds
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and 0 <= value < 253_402_300_800:
        return round(value * _SECOND_US)
    raise _MalformedError(
        f"ApproximateCreationDateTime is {value!r}; it must be Unix seconds or a datetime with a zone"
    )


def _size(size: Any) -> int | None:
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 0):
        return size
    raise _MalformedError(f"SizeBytes is {size!r}; it must be a whole number")


def _text(text: Any, name: str) -> str:
    if not isinstance(text, str):
        raise _MalformedError(f"{name} is {text!r}; it must be text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _MalformedError(f"{name} contains a lone surrogate, which is not valid text") from None
    return text


def _is_plain(value: Any) -> bool:
    """Return True if an attribute value is a simple string or number. Most values are, so this fast check
    saves time.
    """
    if type(value) is not dict or len(value) != 1:
        return False
    content = value.get("S") or value.get("N")
    return type(content) is str


def _check(value: Any, name: str) -> None:
    """Raise _MalformedError unless the value is a DynamoDB attribute value such as `{"S": "text"}`. Numbers must be
    strings.
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        raise _MalformedError(f"attribute {name} is {value!r}, which is not an attribute value")
    ((kind, content),) = value.items()
    if not _is_content(kind, content, name):
        raise _MalformedError(f"attribute {name} is {value!r}, which is not an attribute value")


def _is_content(kind: str, content: Any, name: str) -> bool:
    if kind in _SCALARS:
        return isinstance(content, _SCALARS[kind])
    if kind == "B":
        return isinstance(content, bytes | str)
    if kind in _SETS:
        members = bytes | str if kind == "BS" else str
        return isinstance(content, list | tuple) and all(isinstance(member, members) for member in content)
    if kind == "M" and isinstance(content, Mapping):
        for member in content.values():
            _check(member, name)
        return True
    if kind == "L" and isinstance(content, list | tuple):
        for member in content:
            _check(member, name)
        return True
    return False


def _base64(value: Any) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} cannot be part of an attribute value")
