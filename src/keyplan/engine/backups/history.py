"""What the items of a table were: the record that each change leaves while point-in-time recovery is on.

A record keeps what an item was before a change, or that there was none. It lies in a tree of its own under
the item's key and the moment of the change, so that the first record of a key after some moment tells what
the item was at that moment, and an item without one has not changed since. Rows as of a moment are thus
two trees read side by side, in key order and in bounded memory, however much has changed.

Changes of one moment count together: a moment shows all of them or none. A transaction gives all of its
changes the same moment.

Source: developer guide, "Point-in-time backups for DynamoDB".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple, TypeAlias

from keyplan.dynamodb.values.keybytes import escaped, unescaped
from keyplan.engine.store.rows import Row, StoreView, Transaction, Tree
from keyplan.engine.tables.catalog import Recovery, Table

DAY_S = 86_400

Content: TypeAlias = tuple[int, bytes]
"""An item's size as the service counts it, and its stored body."""

ABSENT: Content = (0, b"")
"""What is stored for an item that was not there; none has an empty body."""

_MOMENT = struct.Struct(">d")  # of numbers that are not negative, the bytes sort as the numbers do
_ABOVE_MOMENTS = b"\x80"


class Former(NamedTuple):
    """An item's key, when it was changed, and what it was before that; None: it was not there."""

    key: bytes
    changed_at: float
    content: Content | None


class RecordedChange(NamedTuple):
    """What became of one item from one moment to another; None: it was not there. Bodies as they are stored."""

    key: bytes
    old: Content | None
    new: Content | None
    written_at_s: float
    """When it was written last in between."""


def earliest_s(recovery: Recovery, now: float) -> float:
    """The first moment that can be asked for: when recovery was turned on, or the period ago.

    In whole seconds, as clients write moments: one that lies in the second in which recovery was turned on,
    but before that, shows the table as it was when it was turned on.
    """
    return float(math.floor(max(recovery.since_s, now - recovery.days * DAY_S)))


def rows_at(view: StoreView, table: Table, moment_s: float, low: bytes = b"") -> Iterator[Row]:
    """The table's rows from a key on as they were at a moment, in key order; changes of that very moment included.

    The moment must not lie before `earliest_s`, and the view must see one moment (`Store.snapshot`, or a
    transaction). A table without recovery has the rows that it has now.
    """
    rows = view.span(table.tree, low, None)
    return rows if table.recovery is None else _merged(rows, changed_since(view, table.recovery, moment_s, low))


def changed_since(view: StoreView, recovery: Recovery, moment_s: float, low: bytes = b"") -> Iterator[Former]:
    """The items from a key on that were changed after a moment, in key order, as they were at it."""
    return first_after(view.span(recovery.tree, escaped(low), None), moment_s)


def first_after(records: Iterable[Row], moment_s: float) -> Iterator[Former]:
    """Of records as they are stored, in order: what each item was at a moment, where it was changed after it."""
    known = None
    for record in map(_former, records):
        if record.changed_at > moment_s and record.key != known:
            known = record.key
            yield record


def next_place(last: bytes, moment_s: float) -> bytes:
    """Where to read on behind a record for `first_after`, past those of the same item that it has no use for."""
    item = last[: -_MOMENT.size]
    return item + _ABOVE_MOMENTS if _moment(last) > moment_s else item + _MOMENT.pack(moment_s) + b"\x00"


def changes_between(
    view: StoreView, table: Table, from_s: float, to_s: float, low: bytes = b""
) -> Iterator[RecordedChange]:
    """The items, from a key on and in key order, that were written after one moment and not after another, as they
    were at both.

    An item may have been changed back in between: then both are equal, or both None. Moments and view as
    for `rows_at`; without recovery nothing is known of any change.
    """
    if table.recovery is None:
        return
    for key, records in _by_key(view, table.recovery.tree, low):
        first = _first_after(records, from_s)
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


def note(transaction: Transaction, recovery: Recovery, key: bytes, old: Content | None, now: float) -> None:
    """Record what an item was before it is changed."""
    place = escaped(key)
    newest = transaction.rows(recovery.tree, place, place + _ABOVE_MOMENTS, reverse=True, limit=1)
    if newest and _moment(newest[0][0]) >= now:
        return  # changed twice at one moment, or the clock was set back: what it was before the first time counts
    place += _MOMENT.pack(now)
    transaction.put(recovery.tree, place, *(ABSENT if old is None else old))


def is_trimmable(recovery: Recovery, now: float) -> bool:
    """Whether there can be records out of reach: recovery is older than its period."""
    return now - recovery.days * DAY_S >= recovery.since_s


def is_out_of_reach(recovery: Recovery, place: bytes, now: float) -> bool:
    """Whether no moment that can be asked for needs the record at that place any more."""
    return _moment(place) <= earliest_s(recovery, now)


def recorded(view: StoreView, recovery: Recovery) -> Iterator[Row]:
    """What items were, as rows: by key, then by age."""
    return (row for record in _records(view, recovery.tree) for row in _row(record))


def _by_key(view: StoreView, tree: Tree, low: bytes = b"") -> Iterator[tuple[bytes, Iterator[Former]]]:
    """Each key with its records, oldest first, which can be read once."""
    return groupby(_records(view, tree, low), key=lambda record: record.key)


def _records(view: StoreView, tree: Tree, low: bytes = b"") -> Iterator[Former]:
    return map(_former, view.span(tree, escaped(low), None))


def _former(record: Row) -> Former:
    place, size, body = record
    return Former(_key(place), _moment(place), None if (size, body) == ABSENT else (size, body))


def _key(place: bytes) -> bytes:
    return unescaped(place[: -_MOMENT.size])


def _moment(place: bytes) -> float:
    moment: float = _MOMENT.unpack(place[-_MOMENT.size :])[0]
    return moment


def _first_after(records: Iterator[Former], moment_s: float) -> Former | None:
    """The first record of a key after a moment: what the item was then."""
    return next((record for record in records if record.changed_at > moment_s), None)


def _merged(rows: Iterator[Row], former: Iterator[Former]) -> Iterator[Row]:
    """The rows, but as the records tell where there is one."""
    record = next(former, None)
    for row in rows:
        while record is not None and record.key < row[0]:
            yield from _row(record)
            record = next(former, None)
        if record is not None and record.key == row[0]:
            yield from _row(record)
            record = next(former, None)
        else:
            yield row
    while record is not None:
        yield from _row(record)
        record = next(former, None)


def _row(record: Former) -> Iterator[Row]:
    if record.content is not None:
        yield record.key, *record.content
