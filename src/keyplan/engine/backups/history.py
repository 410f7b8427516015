"""Change history of a table's items, recorded while point-in-time recovery is enabled.

A record contains the version of an item before a change, or states that the item did not exist. Records are stored in a
separate tree (a sorted set of rows), keyed by the item's key and the timestamp of the change. The first record of a key
after a timestamp therefore contains the item as of that timestamp. An item without such a record has not changed since
that timestamp. To read rows as of a timestamp, the current rows and the records are merged in key order. Memory use
does not depend on the number of changes.

All changes of a transaction have the same timestamp, so a read sees either all or none of them.

Source: developer guide, "Point-in-time backups for DynamoDB".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple, TypeAlias

from keyplan.dynamodb.values.keybytes import escape, unescape
from keyplan.engine.store.rows import Row, StoreView, Transaction, Tree
from keyplan.engine.tables.catalog import Recovery, Table

DAY_S = 86_400

Content: TypeAlias = tuple[int, bytes]
"""The size of an item in bytes, according to DynamoDB's rules, and the item's stored body."""

ABSENT: Content = (0, b"")
"""The content that a recovery record stores for an item that did not exist. Existing items never have an empty body."""

_TIME = struct.Struct(">d")  # bytes of non-negative numbers sort as the numbers do
_AFTER_ALL_TIMES = b"\x80"


class RecoveryRecord(NamedTuple):
    """An earlier version of an item: the item's key, the time of the change that replaced the version, and the content
    of the version.

    The content is None if the item did not exist.
    """

    key: bytes
    changed_at: float
    content: Content | None


class RecordedChange(NamedTuple):
    """The content of an item at two timestamps: `old` at the earlier timestamp and `new` at the later one. `old` or
    `new` is None if the item did not exist at that time.
    """

    key: bytes
    old: Content | None
    new: Content | None
    written_at_s: float
    """Time of the last write to the item between the two timestamps, in epoch seconds."""


def earliest_s(recovery: Recovery, now: float) -> float:
    """Return the earliest time, in epoch seconds, to which the table can be restored.

    This is the time when recovery was enabled or the start of the recovery period, whichever is later. The value is
    rounded down to whole seconds, because clients send timestamps in whole seconds. A restore to the start of the
    second in which recovery was enabled restores the rows as of the time when recovery was enabled.
    """
    return float(math.floor(max(recovery.since_s, now - recovery.days * DAY_S)))


def rows_at(view: StoreView, table: Table, time_s: float, low: bytes = b"") -> Iterator[Row]:
    """Yield the table's rows as of the time `time_s`, in key order, starting at the key `low`.

    Changes at exactly that time are included. The time must not be before `earliest_s`, and the view must be consistent
    (`Store.snapshot` or a transaction). If recovery is disabled for the table, yield the current rows.
    """
    rows = view.span(table.tree, low, None)
    return rows if table.recovery is None else _merge(rows, changed_since(view, table.recovery, time_s, low))


def changed_since(view: StoreView, recovery: Recovery, time_s: float, low: bytes = b"") -> Iterator[RecoveryRecord]:
    """Yield, for each item that has changed since `time_s`, the version of the item as of that time. The items are in
    key order, starting at the key `low`.
    """
    return first_records_after(view.span(recovery.tree, escape(low), None), time_s)


def first_records_after(records: Iterable[Row], time_s: float) -> Iterator[RecoveryRecord]:
    """Yield, for each item that has changed since `time_s`, the version of the item as of that time.

    `records` are the stored recovery records, sorted by key.
    """
    last_key = None
    for record in map(_parse_record, records):
        if record.changed_at > time_s and record.key != last_key:
            last_key = record.key
            yield record


def next_record_key(last: bytes, time_s: float) -> bytes:
    """Return the key at which to continue reading recovery records after the record with the key `last`.

    Records of the same item that `first_records_after` would ignore are skipped.
    """
    item = last[: -_TIME.size]
    return item + _AFTER_ALL_TIMES if _written_s(last) > time_s else item + _TIME.pack(time_s) + b"\x00"


def changes_between(
    view: StoreView, table: Table, from_s: float, to_s: float, low: bytes = b""
) -> Iterator[RecordedChange]:
    """Yield the items that were written between two timestamps, in key order, starting at the key `low`. Each result
    contains the item's content at both timestamps.

    If the last write restored an item's earlier content, the two contents are equal. If an item was created and then
    deleted, both are None. The timestamps and the view must meet the requirements of `rows_at`. If recovery is disabled
    for the table, yield nothing.
    """
    if table.recovery is None:
        return
    for key, records in _by_key(view, table.recovery.tree, low):
        first = _first_record_after(records, from_s)
        if first is None or first.changed_at > to_s:
            continue
        last = first
        for record in records:
            if record.changed_at > to_s:
                new = record.content
                break
            last = record
        else:
            new = view.point(table.tree, key)
        yield RecordedChange(key, first.content, new, last.changed_at)


def add_record(transaction: Transaction, recovery: Recovery, key: bytes, old: Content | None, now: float) -> None:
    """Add a recovery record for a change made at the time `now`, with the content of the item before the change.

    This content, `old`, is None if the item did not exist before the change.
    """
    record_key = escape(key)
    newest = transaction.rows(recovery.tree, record_key, record_key + _AFTER_ALL_TIMES, reverse=True, limit=1)
    if newest and _written_s(newest[0][0]) >= now:
        return  # keep the version from before the first change at this time
    record_key += _TIME.pack(now)
    transaction.put(recovery.tree, record_key, *(ABSENT if old is None else old))


def is_trimmable(recovery: Recovery, now: float) -> bool:
    """Return True if recovery was enabled before the start of the current recovery period. Only then can some records
    be obsolete.
    """
    return now - recovery.days * DAY_S >= recovery.since_s


def is_obsolete(recovery: Recovery, record_key: bytes, now: float) -> bool:
    """Return True if the recovery record with the key `record_key` is obsolete: its change was made at or before the
    earliest time to which the table can be restored.
    """
    return _written_s(record_key) <= earliest_s(recovery, now)


def record_rows(view: StoreView, recovery: Recovery) -> Iterator[Row]:
    """Yield all recovery records as rows, sorted by item key and then from oldest to newest."""
    return (row for record in _records(view, recovery.tree) for row in _row(record))


def _by_key(view: StoreView, tree: Tree, low: bytes = b"") -> Iterator[tuple[bytes, Iterator[RecoveryRecord]]]:
    """Yield each item key together with an iterator over its recovery records, oldest first. Each iterator can be used
    only once.
    """
    return groupby(_records(view, tree, low), key=lambda record: record.key)


def _records(view: StoreView, tree: Tree, low: bytes = b"") -> Iterator[RecoveryRecord]:
    return map(_parse_record, view.span(tree, escape(low), None))


def _parse_record(row: Row) -> RecoveryRecord:
    record_key, size, body = row
    return RecoveryRecord(
        _item_key(record_key), _written_s(record_key), None if (size, body) == ABSENT else (size, body)
    )


def _item_key(record_key: bytes) -> bytes:
    return unescape(record_key[: -_TIME.size])


def _written_s(record_key: bytes) -> float:
    written_s: float = _TIME.unpack(record_key[-_TIME.size :])[0]
    return written_s


def _first_record_after(records: Iterator[RecoveryRecord], time_s: float) -> RecoveryRecord | None:
    """Return the first of an item's recovery records after a timestamp, or None if no such record exists. The record
    contains the item as of that timestamp.
    """
    return next((record for record in records if record.changed_at > time_s), None)


def _merge(rows: Iterator[Row], records: Iterator[RecoveryRecord]) -> Iterator[Row]:
    """Merge current rows with earlier versions, which replace the rows with the same key.

    If an earlier version shows that the item did not exist, its row is omitted.
    """
    record = next(records, None)
    for row in rows:
        while record is not None and record.key < row[0]:
            yield from _row(record)
            record = next(records, None)
        if record is not None and record.key == row[0]:
            yield from _row(record)
            record = next(records, None)
        else:
            yield row
    while record is not None:
        yield from _row(record)
        record = next(records, None)


def _row(record: RecoveryRecord) -> Iterator[Row]:
    if record.content is not None:
        yield record.key, *record.content
