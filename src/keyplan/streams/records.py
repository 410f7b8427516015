"""Stream records and failed records, and functions that convert them to and from JSON."""

from __future__ import annotations

import traceback
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

Item = dict[str, Any]
EventName = Literal["INSERT", "MODIFY", "REMOVE"]
_SERVICE = ("Service", "dynamodb.amazonaws.com")


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream record, which describes a change to one item."""

    arn: str
    """The ARN of the stream that contains the record."""
    shard: str
    sequence: int
    """The sequence number of the record. Sequence numbers increase within a shard but are not contiguous."""
    event_id: str
    event_name: EventName
    at_s: float
    """The approximate time at which the item was changed, in epoch seconds."""
    keys: Item
    old: Item | None
    new: Item | None
    by_service: bool
    """True if DynamoDB deleted the item because it had expired."""

    @property
    def sequence_number(self) -> str:
        """Return the sequence number as a string, as in DynamoDB's API."""
        return str(self.sequence)


def record_of(arn: str, shard: str, raw: Mapping[str, Any]) -> StreamRecord:
    """Convert a record in a GetRecords response to a StreamRecord.

    `arn` is the stream's ARN, and `shard` is the shard's ID. Binary values in the response are bytes.
    """
    change = raw["dynamodb"]
    identity = raw.get("userIdentity") or {}
    return StreamRecord(
        arn,
        shard,
        int(change["SequenceNumber"]),
        raw["eventID"],
        raw["eventName"],
        _epoch_seconds(change.get("ApproximateCreationDateTime", 0.0)),
        change["Keys"],
        change.get("OldImage"),
        change.get("NewImage"),
        (identity.get("Type"), identity.get("PrincipalId")) == _SERVICE,
    )


def _epoch_seconds(time: datetime | float) -> float:
    """Return a time in epoch seconds. `time` is a datetime from boto3, or a number of seconds from an engine."""
    return time.timestamp() if isinstance(time, datetime) else float(time)


def as_plain(record: StreamRecord) -> dict[str, Any]:
    """Convert a record to a JSON-compatible mapping. Binary values are base64 strings, as in DynamoDB's JSON."""
    return {
        "arn": record.arn,
        "shard": record.shard,
        "sequence_number": record.sequence_number,
        "event_id": record.event_id,
        "event_name": record.event_name,
        "at_s": record.at_s,
        "keys": _plain_item(record.keys),
        "old": None if record.old is None else _plain_item(record.old),
        "new": None if record.new is None else _plain_item(record.new),
        "by_service": record.by_service,
    }


def from_plain(plain: Mapping[str, Any]) -> StreamRecord:
    """Convert a mapping from `as_plain` to a record."""
    return StreamRecord(
        plain["arn"],
        plain["shard"],
        int(plain["sequence_number"]),
        plain["event_id"],
        plain["event_name"],
        plain["at_s"],
        _stored_item(plain["keys"]),
        None if plain["old"] is None else _stored_item(plain["old"]),
        None if plain["new"] is None else _stored_item(plain["new"]),
        plain["by_service"],
    )


def _plain_item(item: Item) -> Item:
    return {name: _plain(value) for name, value in item.items()}


def _stored_item(item: Item) -> Item:
    return {name: _stored(value) for name, value in item.items()}


def _plain(value: Item) -> Item:
    ((code, content),) = value.items()
    if code == "B":
        return {code: b64encode(bytes(content)).decode()}
    if code == "BS":
        return {code: [b64encode(bytes(member)).decode() for member in content]}
    if code == "L":
        return {code: [_plain(member) for member in content]}
    if code == "M":
        return {code: _plain_item(content)}
    return {code: list(content)} if code in {"SS", "NS"} else value


def _stored(value: Item) -> Item:
    ((code, content),) = value.items()
    if code == "B":
        return {code: b64decode(content)}
    if code == "BS":
        return {code: [b64decode(member) for member in content]}
    if code == "L":
        return {code: [_stored(member) for member in content]}
    if code == "M":
        return {code: _stored_item(content)}
    return value


def error_text(error: Exception) -> str:
    """Return the type and message of an error."""
    return f"{type(error).__name__}: {error}"


def trace_of(error: Exception) -> str:
    """Return the traceback of an error as text."""
    return "".join(traceback.format_exception(error))


@dataclass(frozen=True)
class Failure:
    """A record that a consumer failed to handle, and the last error."""

    consumer: str
    """The consumer that failed to handle the record: the physical table name and the consumer name, such as
    orders/notify.
    """
    record: StreamRecord
    error: str
    """The type and message of the error that the last attempt to handle the record raised."""
    trace: str
    """The traceback of the error that the last attempt to handle the record raised."""
    attempts: int
    """The number of attempts to deliver the record, alone or in a batch."""
    failed_at_s: float
    """The time at which the runner gave up delivering the record, in epoch seconds."""

    @property
    def key_text(self) -> str:
        """Return the key of the changed item as text for messages."""
        return " ".join(f"{name}={next(iter(value.values()))!r}" for name, value in self.record.keys.items())

    def with_error(self, error: Exception) -> Failure:
        """Return a copy of the failure that contains the new error and counts this attempt too."""
        return replace(self, error=error_text(error), trace=trace_of(error), attempts=self.attempts + 1)

    def as_plain(self) -> dict[str, Any]:
        """Convert the failure to a JSON-compatible mapping."""
        return {
            "consumer": self.consumer,
            "error": self.error,
            "trace": self.trace,
            "attempts": self.attempts,
            "failed_at_s": self.failed_at_s,
            "record": as_plain(self.record),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Failure:
        """Convert a mapping from `as_plain` to a failure."""
        return cls(
            plain["consumer"],
            from_plain(plain["record"]),
            plain["error"],
            plain["trace"],
            plain["attempts"],
            plain["failed_at_s"],
        )
