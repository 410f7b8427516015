"""Ranges of stored keys, selected by a key condition, a scan segment and a start key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from keyplan import limits
from keyplan.dynamodb.expressions.compiled import KeyRange
from keyplan.dynamodb.messages import items as messages
from keyplan.dynamodb.values.attribute import value_bytes
from keyplan.dynamodb.values.keybytes import (
    after_value,
    escape,
    partition_prefix,
    scalar_key,
    segment_bounds,
    strip_terminator,
    successor,
)
from keyplan.dynamodb.values.types import AttributeValue, Item
from keyplan.engine.items.keys import IndexKey, KeyAttribute, KeySchema, partition_bytes_of
from keyplan.engine.tables.catalog import Index, Table
from keyplan.errors import ValidationError


class Span(NamedTuple):
    """A range of stored keys, `low` <= key < `high`. A `high` of None means no upper bound."""

    low: bytes
    high: bytes | None

    def after(self, key: bytes, *, reverse: bool) -> Span:
        """Return the part of the range that follows a key in reading order, which is descending if
        `reverse` is True.
        """
        if reverse:
            return Span(self.low, key if self.high is None else min(self.high, key))
        return Span(max(self.low, _key_after(key)), self.high)

    def contains(self, key: bytes) -> bool:
        """Return True if the range contains the key."""
        return self.low <= key and (self.high is None or key < self.high)


def key_schema(table: Table, index: Index | None) -> KeySchema:
    """Return the key schema of the table or index."""
    return table.key.schema if index is None else index.key.schema


def partition_span(index: Index | None, partition: tuple[AttributeValue, ...]) -> Span:
    """Return the range of all stored keys with this partition key."""
    prefix = _prefix(index, partition)
    return Span(prefix, successor(prefix))


def condition_span(index: Index | None, key_range: KeyRange) -> Span:
    """Return the range of stored keys that a key condition selects. Raises ValidationError if a value in the condition
    is too long.
    """
    prefix = _prefix(index, key_range.partition)
    if index is not None:
        prefix += IndexKey.sort_bytes(key_range.sort_equals)
    operator = key_range.sort_op
    if operator is None:
        return Span(prefix, successor(prefix))
    parts = _sort_parts(key_range)
    key_after: Callable[[bytes], bytes] = _key_after  # in a table, the stored key ends with the unchanged sort key
    if index is not None:  # in an index, the sort key is escaped and more bytes follow
        parts, key_after = [escape(part) for part in parts], after_value
    first = prefix + parts[0]
    match operator:
        case "=":
            return Span(first, key_after(first))
        case "<":
            return Span(prefix, first)
        case "<=":
            return Span(prefix, key_after(first))
        case ">":
            return Span(key_after(first), successor(prefix))
        case ">=":
            return Span(first, successor(prefix))
        case "begins_with":
            start = first if index is None else strip_terminator(first)
            return Span(start, successor(start))
        case _:
            return Span(first, key_after(prefix + parts[1]))


def _sort_parts(key_range: KeyRange) -> list[bytes]:
    """Return the stored form of each value in the condition on the last sort key attribute.

    Raises ValidationError if the sort key is too long.
    """
    parts = [scalar_key(*next(iter(value.items()))) for value in key_range.sort_values]
    if sum(map(value_bytes, key_range.sort_equals)) + max(map(len, parts)) > limits.SORT_KEY_BYTES:
        raise ValidationError(messages.SORT_KEY_TOO_LONG)
    return parts


def _key_after(key: bytes) -> bytes:
    """Return the smallest key that is larger than `key`."""
    return key + b"\x00"


def _prefix(index: Index | None, partition: tuple[AttributeValue, ...]) -> bytes:
    """Return the prefix of all stored keys with this partition key. Raises ValidationError if a value is too long."""
    if sum(map(value_bytes, partition)) > limits.PARTITION_KEY_BYTES:
        raise ValidationError(messages.PARTITION_KEY_TOO_LONG)
    if index is not None:
        return index.key.prefix(partition)
    ((kind, content),) = partition[0].items()
    return partition_prefix(scalar_key(kind, content))


def segment_span(segment: int | None, total: int | None) -> Span:
    """Return the range of stored keys that a scan reads.

    This is the range of the segment with the number `segment`, out of `total` segments. If `segment` is None, it is the
    range of all keys.
    """
    if segment is None or total is None:
        return Span(b"", None)
    return Span(*segment_bounds(segment, total))


def check_start_partition(table: Table, index: Index | None, start: Item) -> None:
    """Raise ValidationError unless a query's start key has all required attributes and a partition key of the right
    type.
    """
    schema = key_schema(table, index)
    _check_names(table, schema, start, schema.partition)


def check_start_names(table: Table, index: Index, start: Item) -> None:
    """Raise ValidationError unless an index scan's start key has all required attributes and its index key attributes
    have the right types.
    """
    schema = index.key.schema
    _check_names(table, schema, start, schema.partition)
    _check_names(table, schema, start, schema.sort)


def _check_names(table: Table, schema: KeySchema, start: Item, attributes: Iterable[KeyAttribute]) -> None:
    if len(start) != len({*table.key.names, *schema.names}) or any(name not in start for name, _ in attributes):
        raise ValidationError(messages.START_KEY_INVALID)
    for name, kind in attributes:
        if kind not in start[name]:
            raise ValidationError(messages.KEY_MISMATCH)


def query_start(table: Table, index: Index | None, start: Item) -> bytes:
    """Return the stored form of a query's ExclusiveStartKey. Raises ValidationError if the start key is invalid."""
    schema = key_schema(table, index)
    _check_names(table, schema, start, schema.sort)
    return _start_key(table, index, start)


def scan_start(table: Table, index: Index | None, start: Item) -> bytes:
    """Return the stored form of a scan's ExclusiveStartKey.

    For an index, `check_start_names` must be called first. Raises ValidationError if the start key is invalid.
    """
    if index is None:
        try:
            return table.key.of_key(start)
        except ValidationError as error:
            if error.message == messages.KEY_MISMATCH:
                raise ValidationError(messages.START_KEY_INVALID) from error
            raise ValidationError(messages.start_key_problem(error.message)) from error
    return _start_key(table, index, start)


def _start_key(table: Table, index: Index | None, start: Item) -> bytes:
    table_part = {name: start[name] for name in table.key.names if name in start}
    try:
        table_key = table.key.of_key(table_part)
    except ValidationError as error:
        raise ValidationError(messages.start_key_problem(error.message)) from error
    if index is None:
        return table_key
    entry = index.key.entry_key(start, table_key)
    if entry is None:  # every key attribute exists, so one is empty
        raise ValidationError(messages.START_KEY_INVALID)
    return entry


def finds_one_row(table: Table, index: Index | None) -> bool:
    """Return True if a query can return at most one item, because the partition key is the complete key."""
    return index is None and not table.key.schema.sort


def check_query_start(table: Table, index: Index | None, key_range: KeyRange, span: Span, key: bytes) -> None:
    """Raise ValidationError if a query that reads the range `span` cannot continue after the start key `key`."""
    partition_range = partition_span(index, key_range.partition)
    if key_range.sort_op is None and not key_range.sort_equals:
        if not partition_range.contains(key):
            raise ValidationError(messages.START_KEY_OUTSIDE)
        if finds_one_row(table, index):
            raise ValidationError(messages.START_KEY_SINGLE_ROW)
        return
    if partition_range.contains(key):
        if not span.contains(key):
            raise ValidationError(messages.START_KEY_PREDICATE)
        return
    raise ValidationError(_other_partition(span, partition_range, key))


def _other_partition(span: Span, partition_range: Span, key: bytes) -> str:
    """Return DynamoDB's error message for a start key whose partition key differs from that of the query. The message
    depends on whether the sort key of the start key is in the queried range.
    """
    moved_key = partition_range.low + key[len(partition_bytes_of(key)) :]
    return messages.START_KEY_SINGLE_ROW if span.contains(moved_key) else messages.START_KEY_PREDICATE


def check_scan_start(span: Span, key: bytes, segment: int | None, total: int | None) -> None:
    """Raise ValidationError if the start key `key` of a parallel scan belongs to another segment."""
    if segment is not None and total is not None and not span.contains(key):
        raise ValidationError(messages.start_key_segment(segment, total))
