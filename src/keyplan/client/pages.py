"""Page cursors, and the request programs (generators that yield requests) that read pages and count items.

A cursor is an opaque string that is valid only for the same pattern, arguments and cursor key. It contains the key of
the last returned item of each partition that the call reads. It also contains a keyed digest (BLAKE2b) of these keys,
the table, the pattern, the direction and the partitions. Cursors are signed but not encrypted, so anyone who decodes a
cursor can read the keys in it.
"""

from __future__ import annotations

import heapq
import hmac
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import orjson

from keyplan import limits
from keyplan.client.codec import EntityMatcher
from keyplan.client.errors import CursorError, UnreadableItemError
from keyplan.client.reads import fetch
from keyplan.client.requests import Context, Program, Request, send
from keyplan.design.arguments import shorten
from keyplan.design.conditions.conditions import Condition
from keyplan.design.conditions.evaluation import holds, with_values
from keyplan.design.declaring.patterns import Page
from keyplan.design.entities import EntitySpec
from keyplan.design.fields.annotations import AttributeValue
from keyplan.design.planning.indexes import entities_in_range, index_holds
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.build import range_request
from keyplan.design.requests.items import Item, key_identity
from keyplan.design.requests.reads import RangeRequest, hydration_members, sort_value
from keyplan.design.requests.writer import Arguments, reader
from keyplan.design.requests.writes import NOW
from keyplan.errors import ServiceError

ItemKey = Mapping[str, AttributeValue]
Position = ItemKey | None
"""A position in a partition: the key of the last returned item, or None at the start."""
DONE: ItemKey = {}
"""The position at the end of a partition, after all of its items were returned."""
_DIGEST_BYTES = 16


def write_cursor(key: bytes, binding: Sequence[Any], positions: Sequence[Position]) -> str:
    """Return a cursor that contains the positions in the partitions that a call reads, signed with `key`.

    The cursor is valid only for a call with the same values in `binding`, such as the table and the pattern.
    """
    plain = {str(number): _plain(position) for number, position in enumerate(positions) if position is not None}
    payload = orjson.dumps(plain)
    return urlsafe_b64encode(_digest(key, binding, payload) + payload).rstrip(b"=").decode()


def read_cursor(key: bytes, binding: Sequence[Any], cursor: str, partitions: int) -> list[Position]:
    """Return the position in each of the `partitions` partitions from a cursor. `key` is the key that signed the
    cursor.

    Raises CursorError if the cursor is damaged or belongs to another call.
    """
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except (ValueError, AttributeError) as error:
        raise CursorError("not a cursor") from error
    digest, payload = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    if not hmac.compare_digest(digest, _digest(key, binding, payload)):
        raise CursorError(
            "the cursor is damaged, or was made by another pattern, for other arguments, or by a connection with"
            " another cursor key: pass it to the same pattern with the same arguments, and give all processes the"
            " same cursor_key"
        )
    plain = orjson.loads(payload)
    return [_stored(plain[str(number)]) if str(number) in plain else None for number in range(partitions)]


def _digest(key: bytes, binding: Sequence[Any], payload: bytes) -> bytes:
    # The length separates the data that the cursor is bound to from the data that it contains.
    bound = repr(binding).encode()
    return blake2b(b"%d:" % len(bound) + bound + payload, key=key, digest_size=_DIGEST_BYTES).digest()


def _plain(position: ItemKey) -> dict[str, list[str]]:
    plain = {}
    for name, value in position.items():
        ((code, content),) = value.items()
        plain[name] = [code, b64encode(content).decode() if code == "B" else content]
    return plain


def _stored(plain: Mapping[str, Sequence[str]]) -> ItemKey:
    return {name: {code: b64decode(content) if code == "B" else content} for name, (code, content) in plain.items()}


Unreadable = Callable[[UnreadableItemError], object]
"""A function that is called with the error for each item that cannot be read as its entity."""


def report_once(unreadable: Unreadable | None) -> Unreadable | None:
    """Return a function that calls `unreadable` only once for each item, because pages of merged partitions can repeat
    items.

    Return None if `unreadable` is None.
    """
    if unreadable is None:
        return None
    reported: set[str] = set()

    def report(error: UnreadableItemError) -> None:
        if str(error) not in reported:
            reported.add(str(error))
            unreadable(error)

    return report


@dataclass(frozen=True, slots=True)
class PageOptions:
    """The options that select which results a call returns."""

    limit: int | None = None
    """The maximum number of results."""
    page_size: int | None = None
    """The maximum number of items that one request reads before filtering."""
    cursor: str | None = None
    unreadable: Unreadable | None = None
    """A function that is called with the error for each unreadable item, which is then omitted.

    If None, the error is raised.
    """
    segment: tuple[int, int] | None = None
    """The index of the segment that a scan reads, starting from 0, and the number of segments."""

    def __post_init__(self) -> None:
        if self.segment is not None:
            _check_segment(self.segment)

    def check(self, call_text: str) -> None:
        """Raise TypeError or ValueError for an invalid option. `call_text` is the call as text for error messages."""
        for name, value, expected_type in (
            ("limit", self.limit, int),
            ("page_size", self.page_size, int),
            ("cursor", self.cursor, str),
        ):
            if value is None:
                continue
            if not isinstance(value, expected_type) or isinstance(value, bool):
                value_text = f"{type(value).__name__}: {shorten(value)}"
                raise TypeError(f"{call_text} expects {name} as {expected_type.__name__}, got {value_text}")
            if isinstance(value, int) and value < 1:
                raise ValueError(f"{call_text}: {name} must be at least 1, not {value}")
        if self.unreadable is not None and not callable(self.unreadable):
            value_text = f"{type(self.unreadable).__name__}: {shorten(self.unreadable)}"
            raise TypeError(f"{call_text} expects unreadable as a function, got {value_text}")

    def with_defaults_of(self, plan: Plan) -> PageOptions:
        """Return a copy of these options. An unset limit or page size gets the value that the pattern of `plan`
        declares.
        """
        if plan.limit is None and plan.page_size is None:
            return self
        limit = plan.limit if self.limit is None else self.limit
        page_size = plan.page_size if self.page_size is None else self.page_size
        return replace(self, limit=limit, page_size=page_size)


def _check_segment(segment: object) -> None:
    match segment:
        case (int(number), int(total)) if 0 <= number < total <= limits.SCAN_SEGMENTS:
            return
    raise ValueError(
        f"segment={segment!r} is invalid: pass the number of the segment, from 0, and the number of segments, up to"
        f" {limits.SCAN_SEGMENTS:,}; (0, 4) is the first of four"
    )


class RangeReader:
    """A reader of the results of queries and scans, compiled once per pattern."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.request: RangeRequest = range_request(plan)
        self.matcher = EntityMatcher(plan.entities, entities_in_range(plan), plan.view)
        index = plan.index
        self.position_of = tuple(dict.fromkeys((*plan.schema.key, *(index.attributes if index is not None else ()))))
        """The key attributes that identify the position of an item in the table or index."""
        sort = index.sort if index is not None else plan.schema.key[1:]
        self.sorted_by = sort if plan.operation == "Query" else ()
        self._hydration_members = hydration_members(plan) if plan.hydrated else {}
        self._identifies_entities = plan.schema.discriminator is None or index_holds(plan, plan.schema.discriminator)

    def entries(self, items: list[Item], arguments: Arguments) -> list[tuple[Item, Item]]:
        """Return the index entries whose full items must be read from the table.

        Entries that have expired or belong to other entities are omitted. Each entry is returned as a pair (entry,
        entry), because `entities` also returns pairs.
        """
        if not self._identifies_entities:
            return [(item, item) for item in items]
        drops, now_s = self.plan.expired == "drop", arguments[NOW]
        pairs = [(self.matcher.reader(item), item) for item in items]
        return [
            (item, item)
            for entity_reader, item in pairs
            if entity_reader is not None and not (drops and entity_reader.has_expired(item, now_s))
        ]

    def hydrate(
        self, context: Context, entries: Sequence[Item], arguments: Arguments, unreadable: Unreadable | None
    ) -> Program[tuple[list[Any], int]]:
        """Read the full items of index entries from the table.

        Return the entities in the order of the entries, and the number of entries whose item no longer exists.
        """
        table = context.table(self.plan.schema)
        keys = [{name: entry[name] for name in self.plan.schema.key} for entry in entries]
        items_by_place = yield from fetch(context, [(table, key) for key in keys], {table: self._hydration_members})
        items = [items_by_place.get((table, key_identity(key))) for key in keys]
        stored = [item for item in items if item]
        return [entity for _, entity in self.entities(stored, arguments, unreadable)], len(items) - len(stored)

    def entities(
        self, items: list[Item], arguments: Arguments, unreadable: Unreadable | None = None
    ) -> list[tuple[Item, Any]]:
        """Return pairs of an item and its entity, for items of the requested entities.

        If an item is unreadable, UnreadableItemError is passed to `unreadable`, or raised if `unreadable` is None.
        """
        drops, now_s = self.plan.expired == "drop", arguments[NOW]
        condition, reader_of_item = self._remaining_condition(arguments), self.matcher.reader
        results = []
        for item in items:
            entity_reader = reader_of_item(item)
            if entity_reader is None or (drops and entity_reader.expires and entity_reader.has_expired(item, now_s)):
                continue
            try:
                entity = entity_reader.entity(item)
            except UnreadableItemError as error:
                explanation = self._explain(error, entity_reader.spec, item)
                if unreadable is None:
                    raise explanation from error.__cause__
                unreadable(explanation)
                continue
            if condition is None or holds(condition, entity.__dict__) is True:
                results.append((item, entity))
        return results

    def _explain(self, error: UnreadableItemError, spec: EntitySpec, item: Item) -> UnreadableItemError:
        """Return an error for an unreadable item, with a note if required attributes are absent.

        The note says that the index might not project these attributes.
        """
        index = self.plan.index
        if index is None or index.kind != "GSI" or self.plan.hydrated:
            return error
        fields = (field for name, field in spec.fields.items() if name not in spec.key_only_fields)
        read_fields = set(self.plan.fields_read(spec))
        required = (
            field for field in fields if field.name in read_fields and field.info.is_required() and not field.optional
        )
        absent = [field.attribute for field in required if field.attribute not in item]
        if not absent:
            return error
        names = ", ".join(absent)
        problem = (
            f"{error}; {index.name} returned no {names}: the index does not project it, or the item does not have it"
        )
        return UnreadableItemError(problem, entity=error.entity, key=error.key)

    def _remaining_condition(self, arguments: Arguments) -> Condition | None:
        """Return the part of the key condition that DynamoDB cannot evaluate on key strings, with the argument values
        of a call.

        The client evaluates it on the returned items. Return None if DynamoDB evaluates the whole key condition.
        """
        residue = self.plan.residue
        return None if residue is None else with_values(residue, lambda source: reader(source)(arguments))

    def count_items(self, items: list[Item], arguments: Arguments) -> int:
        """Return how many of the items belong to the requested entities and have not expired."""
        if self.plan.residue is not None:
            return len(self.entities(items, arguments))
        drops, now_s = self.plan.expired == "drop", arguments[NOW]
        readers = [(self.matcher.reader(item), item) for item in items]
        return sum(
            entity_reader is not None and not (drops and entity_reader.has_expired(item, now_s))
            for entity_reader, item in readers
        )


class _Partition:
    """The state of one of the partitions that a call reads: its position, and the results that were not yet
    returned.
    """

    def __init__(
        self,
        range_reader: RangeReader,
        context: Context,
        arguments: Arguments,
        position: Position,
        options: PageOptions,
    ) -> None:
        self._range_reader, self._context, self._arguments = range_reader, context, arguments
        self._unreadable = options.unreadable
        request = range_reader.request.request(arguments, context.table(range_reader.plan.schema))
        if options.segment is not None:
            request["Segment"], request["TotalSegments"] = options.segment
        self._request: Request = request
        self._position = position
        self.more = position != DONE and not range_reader.request.is_empty(request)
        if not self.more:
            self._position = DONE
        self._last: Item | None = None
        self._end_position: Position = None
        self.waiting: deque[tuple[Item, Any]] = deque()
        self._last_limit: int | None = None

    @property
    def position(self) -> Position:
        """The position after the last returned result. The next page continues there."""
        if self._last is None:
            return self._position
        return {name: self._last[name] for name in self._range_reader.position_of}

    def fill(self, needed: int | None, page_size: int | None, *, single_request: bool = False) -> Program[None]:
        """Send requests until a result is available or the key range ends.

        If `single_request` is True, send only one request. `needed` is the number of results that the call still needs,
        or None if the call has no limit. `page_size` is the maximum number of items that one request reads.
        """
        while self.more and not self.waiting:
            read_page = yield from self._read_page(needed, page_size)
            items = read_page.get("Items", [])
            if self._range_reader.plan.hydrated:
                self.waiting.extend(self._range_reader.entries(items, self._arguments))
            else:
                self.waiting.extend(self._range_reader.entities(items, self._arguments, self._unreadable))
            self._end_position = read_page.get("LastEvaluatedKey") or None
            self.more = self._end_position is not None
            if not self.waiting:
                self._advance_to_end()
            if single_request:
                return

    def _read_page(self, needed: int | None, page_size: int | None) -> Program[Mapping[str, Any]]:
        request = self._request
        start = self.position
        if start is not None:
            request = {**request, "ExclusiveStartKey": start}
        if needed is not None:
            # If filters leave fewer results than requested, the limit is doubled with each request. This keeps both the
            # number of requests and the number of items read low.
            needed = needed if self._last_limit is None else max(needed, self._last_limit * 2)
            self._last_limit = needed
        sizes = [size for size in (needed, page_size) if size is not None]
        if sizes:
            request = {**request, "Limit": min(sizes)}
        operation = self._range_reader.plan.operation
        try:
            response = yield from send(self._context, operation, request)
        except ServiceError as error:
            if error.code == "ValidationException" and start is not None and "tarting key" in error.message:
                raise CursorError(
                    f"the cursor is outside the range of {self._range_reader.plan.pattern}: {error.message}",
                    code=error.code,
                ) from error
            raise
        return response

    def take(self) -> Any:
        """Remove and return the next result, and advance the position.

        The result is an entity or, if full items are read after a query on an index, an index entry.
        """
        item, entity = self.waiting.popleft()
        if self.waiting:
            self._last = item
        else:
            self._advance_to_end()
        return entity

    def pop_results(self) -> list[Any]:
        """Return all results that were read but not yet returned, and advance the position."""
        entities = [entity for _, entity in self.waiting]
        self.waiting.clear()
        self._advance_to_end()
        return entities

    def _advance_to_end(self) -> None:
        """Advance the position to the end of the last response, including items that were filtered out."""
        self._last, self._position = None, DONE if self._end_position is None else self._end_position

    def order(self) -> Any:
        """Return the sort key values of the next result, which determine its position when partitions are merged."""
        item = self.waiting[0][0]
        return tuple(sort_value(item[name]) for name in self._range_reader.sorted_by)

    @property
    def has_more(self) -> bool:
        """Whether the key range of this partition may contain more results."""
        return self.more or bool(self.waiting)


def page(context: Context, range_reader: RangeReader, arguments: Arguments, options: PageOptions) -> Program[Page[Any]]:
    """Read a page of results.

    If no limit is set, the page ends after the first response that contains results. If the results of several
    partitions are merged, the page ends when a further request is needed to determine the next result. Only the last
    page can be empty, unless `page_size` is set.
    """
    options = options.with_defaults_of(range_reader.plan)
    if options.segment is not None and range_reader.plan.operation != "Scan":
        raise TypeError(f"{range_reader.plan.pattern} is not a scan: only scans accept segment=")
    limit, page_size, cursor = options.limit, options.page_size, options.cursor
    partition_arguments = range_reader.request.partitions(arguments)
    binding = _cursor_binding(context, range_reader, partition_arguments, options.segment)
    positions = (
        [None] * len(partition_arguments)
        if cursor is None
        else read_cursor(context.cursor_key, binding, cursor, len(partition_arguments))
    )
    pairs = zip(partition_arguments, positions, strict=True)
    partitions = [_Partition(range_reader, context, bound, position, options) for bound, position in pairs]
    single_request = limit is None and page_size is not None and len(partitions) == 1
    items: list[Any] = []
    deleted_count = 0
    while True:
        needed = None if limit is None else limit - len(items)
        if len(partitions) == 1:
            results = yield from _read_results(partitions[0], needed, page_size, single_request=single_request)
        else:
            results = yield from _merge(partitions, needed, page_size, descending=range_reader.plan.descending)
        if range_reader.plan.hydrated:
            results, missing_count = yield from range_reader.hydrate(context, results, arguments, options.unreadable)
            deleted_count += missing_count
        items += results
        # Continue only after hydration, which leaves out entries whose items were deleted.
        has_more = any(partition.has_more for partition in partitions)
        if (
            single_request
            or not has_more
            or len(items) == limit
            or (limit is None and items)
            or not range_reader.plan.hydrated
        ):
            break
    if not has_more:
        return Page(tuple(items), None, deleted_count)
    ends = [partition.position if partition.has_more else DONE for partition in partitions]
    return Page(tuple(items), write_cursor(context.cursor_key, binding, ends), deleted_count)


def _cursor_binding(
    context: Context, range_reader: RangeReader, partition_arguments: list[Arguments], segment: tuple[int, int] | None
) -> tuple[Any, ...]:
    plan = range_reader.plan
    partition_values = (
        [*segment] if segment is not None else [range_reader.request.partition(bound) for bound in partition_arguments]
    )
    return context.table(plan.schema), plan.pattern, plan.index and plan.index.name, plan.descending, partition_values


def _read_results(
    partition: _Partition, limit: int | None, page_size: int | None, *, single_request: bool
) -> Program[list[Any]]:
    items: list[Any] = []
    while partition.has_more:
        needed = None if limit is None else limit - len(items)
        yield from partition.fill(needed, page_size, single_request=single_request)
        if limit is None or len(items) + len(partition.waiting) <= limit:
            items += partition.pop_results() if partition.waiting else []
        else:
            items += [partition.take() for _ in range(limit - len(items))]
        if single_request or len(items) == limit or (limit is None and items):
            break
    return items


class _Descending:
    """A wrapper for a sort key value that reverses its order in comparisons."""

    __slots__ = ("order",)

    def __init__(self, order: Any) -> None:
        self.order = order

    def __lt__(self, other: _Descending) -> bool:
        return bool(self.order > other.order)


def _merge(
    partitions: list[_Partition], limit: int | None, page_size: int | None, *, descending: bool
) -> Program[list[Any]]:
    """Return up to `limit` results from several partitions, merged in the order of their sort keys.

    If results in several partitions have the same sort key values, those of the first partition come first.
    """
    items: list[Any] = []
    heap: list[tuple[Any, int]] = []

    def push(number: int) -> None:
        order = partitions[number].order()
        heapq.heappush(heap, (_Descending((order, -number)) if descending else (order, number), number))

    for number, partition in enumerate(partitions):
        yield from partition.fill(limit, page_size)
        if partition.waiting:
            push(number)
    while heap and len(items) != limit:
        _, number = heapq.heappop(heap)
        partition = partitions[number]
        items.append(partition.take())
        if not partition.waiting and partition.more:
            if limit is None:
                break  # the next result is unknown without another request
            if len(items) == limit:
                break
            yield from partition.fill(limit - len(items), page_size)
        if partition.waiting:
            push(number)
    return items


def count(context: Context, range_reader: RangeReader, arguments: Arguments) -> Program[int]:
    """Return the number of items in a range that belong to the requested entities."""
    count_items = 0
    for bound in range_reader.request.partitions(arguments):
        request = range_reader.request.request(bound, context.table(range_reader.plan.schema))
        while not range_reader.request.is_empty(request):
            response = yield from send(context, range_reader.plan.operation, request)
            count_items += (
                response["Count"] if range_reader.request.counts else range_reader.count_items(response["Items"], bound)
            )
            if not response.get("LastEvaluatedKey"):
                break
            request = {**request, "ExclusiveStartKey": response["LastEvaluatedKey"]}
    return count_items
