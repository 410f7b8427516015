"""Stream records as read: the change, its time, its position and its origin."""

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
    """A change of one item in a stream."""

    arn: str
    """The stream's ARN."""
    shard: str
    sequence: int
    """The position in the shard, which increases with gaps."""
    event_id: str
    event_name: EventName
    at_s: float
    """Approximate time of the change, seconds since 1970."""
    keys: Item
    old: Item | None
    new: Item | None
    by_service: bool
    """True if the service deleted the item because it had expired."""

    @property
    def sequence_number(self) -> str:
        """Return the sequence number in the service's format."""
        return str(self.sequence)


def record_of(arn: str, shard: str, raw: Mapping[str, Any]) -> StreamRecord:
    """Convert a record from the GetRecords format, with binary values as bytes."""
    change = raw["dynamodb"]
    who = raw.get("userIdentity") or {}
    return StreamRecord(
        arn,
        shard,
        int(change["SequenceNumber"]),
        raw["eventID"],
        raw["eventName"],
        _seconds(change.get("ApproximateCreationDateTime", 0.0)),
        change["Keys"],
        change.get("OldImage"),
        change.get("NewImage"),
        (who.get("Type"), who.get("PrincipalId")) == _SERVICE,
    )


def _seconds(time: datetime | float) -> float:
    """Return a time in seconds. boto3 returns a datetime, and an engine returns seconds."""
    return time.timestamp() if isinstance(time, datetime) else float(time)


def as_plain(record: StreamRecord) -> dict[str, Any]:
    """Convert a record to JSON, with binary values as base64, as in the service's own JSON."""
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
    """Convert a record from the format of `as_plain`."""
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
    """Return an error's traceback."""
    return "".join(traceback.format_exception(error))


@dataclass(frozen=True)
class Failure:
    """A record that a consumer could not handle."""

    consumer: str
    """The table name and the consumer name, such as orders/notify."""
    record: StreamRecord
    error: str
    """The type and text of the last error."""
    trace: str
    """The last error's traceback."""
    attempts: int
    """Number of attempts, alone or in a batch."""
    failed_at_s: float
    """The time when the record was given up, in seconds since 1970."""

    @property
    def key_text(self) -> str:
        """Return the item's key in readable form."""
        return " ".join(f"{name}={next(iter(value.values()))!r}" for name, value in self.record.keys.items())

    def again(self, error: Exception) -> Failure:
        """Return the failure with one more failed attempt."""
        return replace(self, error=error_text(error), trace=trace_of(error), attempts=self.attempts + 1)

    def as_plain(self) -> dict[str, Any]:
        """Convert the failure to JSON."""
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
        """Convert a failure from the format of `as_plain`."""
        return cls(
            plain["consumer"],
            from_plain(plain["record"]),
            plain["error"],
            plain["trace"],
            plain["attempts"],
            plain["failed_at_s"],
        )
