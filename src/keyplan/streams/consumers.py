"""Change consumers that are bound to a physical table, and the filters that select the changes that they receive.

The filter `changed("status")` matches a modification that changes the field, and the insertion or removal of an item
that has a value in this field. `changed("status", "done")` matches only if "done" is the new value. A condition is
evaluated on the current item or, for a removed item, on its last version.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyplan.client.codec import EntityMatcher, Reader
from keyplan.design.conditions.conditions import sources_of
from keyplan.design.conditions.evaluation import holds
from keyplan.design.declaring.consumers import (
    Changed,
    ChangeFilter,
    Consumer,
    EventName,
    Expired,
    Inserted,
    ItemChange,
    Modified,
    Removed,
)
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import OWNER, EntitySpec
from keyplan.design.parameters import Param
from keyplan.design.requests.items import absent_as_none
from keyplan.design.schema import IMAGES
from keyplan.streams.errors import ConsumerSetupError
from keyplan.streams.records import Item, StreamRecord
from keyplan.streams.streams import Shard, TableStream

Filter = Callable[[ItemChange[Any]], bool]


def filter_of(change_filter: ChangeFilter | None) -> Filter | None:
    """Return a function that checks whether a change matches the declared filter, or None if no filter is declared.

    Raises ConsumerSetupError if the filter cannot be evaluated.
    """
    if change_filter is None:
        return None
    if isinstance(change_filter, Changed):
        return lambda change: has_changed(change_filter, change)
    for source in sources_of(change_filter):
        if isinstance(source, Param):
            raise ConsumerSetupError(f"a consumer's condition compares with {source!r}, which has no value")

    def matches(change: ItemChange[Any]) -> bool:
        entity = getattr(change, "new", None) or getattr(change, "old", None)
        return holds(change_filter, entity.__dict__) is True

    return matches


def has_changed(requirement: Changed, change: ItemChange[Any]) -> bool:
    """Return True if a change satisfies the requirement `changed(...)` of a filter.

    The named field must have changed. If the requirement specifies a value, the field must now have this value.
    """
    old, new = (
        None if entity is None else absent_as_none(getattr(entity, requirement.field))
        for entity in (getattr(change, "old", None), getattr(change, "new", None))
    )
    return old != new and (requirement.becomes is None or new == requirement.becomes)


Changes = tuple[ItemChange[Any], ...]


@dataclass(frozen=True, eq=False)
class SortedRecord:
    """A stream record, and the readers that convert its old and new image to entities.

    A reader is None if the image is absent or does not belong to an entity.
    """

    record: StreamRecord
    old: Reader | None
    new: Reader | None


class RecordSorter:
    """A lookup that determines to which entities the images in stream records belong. All consumers of a table share
    it.
    """

    def __init__(self, table: Table, entities: Sequence[EntitySpec]) -> None:
        self._reader = EntityMatcher(entities, table.entities).reader
        self._by_key = table.schema.discriminator is None

    def sort(self, record: StreamRecord) -> SortedRecord:
        """Return the record and the readers that convert its images to entities."""
        old, new = record.old, record.new
        if old is None or new is None or not self._by_key or (OWNER in old) != (OWNER in new):
            return SortedRecord(record, self._reader_of(old), self._reader_of(new))
        reader = self._reader(new)  # both images have the same key, which determines the entity
        return SortedRecord(record, reader, reader)

    def _reader_of(self, image: Item | None) -> Reader | None:
        return None if image is None else self._reader(image)


@dataclass(frozen=True, eq=False)
class BoundConsumer:
    """A declared consumer that is bound to a physical table, with its checkpoint name, its entities and its compiled
    filter.
    """

    name: str
    """The name under which checkpoints are stored: the physical table name and the consumer name, such as
    orders/notify.
    """
    declaration: Consumer
    entities: frozenset[EntitySpec]
    matches: Filter | None

    def changes(self, sorted_record: SortedRecord) -> Changes:
        """Return the changes in a stream record that the consumer receives. The list can be empty.

        Each call creates new objects. Raises RunError for an image that does not match the declaration of its entity.
        Errors that the filter raises are not caught.
        """
        record = sorted_record.record
        old = sorted_record.old if sorted_record.old is not None and sorted_record.old.spec in self.entities else None
        new = sorted_record.new if sorted_record.new is not None and sorted_record.new.spec in self.entities else None
        if old is None and new is None:
            return ()
        if record.event_name == "INSERT":
            return self._changes_of_event("inserted", record, None, new)
        if record.event_name == "REMOVE":
            return self._changes_of_event("expired" if record.by_service else "removed", record, old, None)
        if old is new or record.old is None or record.new is None:
            return self._changes_of_event("modified", record, old or new, new or old)
        # The item now belongs to a different entity, or to no entity.
        return (
            *self._changes_of_event("removed", record, old, None, ":removed"),
            *self._changes_of_event("inserted", record, None, new, ":inserted"),
        )

    def needs_more_than(self, view: str) -> bool:
        """Return True if the consumer needs an image that a stream with this view type does not contain."""
        return not self.declaration.needed_images <= IMAGES.get(view, frozenset())

    def call_handler(self, changes: list[ItemChange[Any]]) -> None:
        """Call the consumer's function with the list of changes or, if it does not accept lists, once for
        each change.
        """
        function: Callable[[Any], Any] = self.declaration.function
        if self.declaration.takes_list:
            function(changes)
            return
        for change in changes:
            function(change)

    def _changes_of_event(
        self, event: EventName, record: StreamRecord, old: Reader | None, new: Reader | None, suffix: str = ""
    ) -> Changes:
        if event not in self.declaration.events or (old is None and new is None):
            return ()
        change = _CHANGE_MAKERS[event](record, old, new, record.event_id + suffix)
        return (change,) if self.matches is None or self.matches(change) else ()


def _inserted(record: StreamRecord, _old: Reader | None, new: Reader | None, event_id: str) -> ItemChange[Any]:
    assert new is not None, "an insert has an entity"
    return Inserted(record.sequence_number, event_id, record.at_s, new.entity(record.new or {}))


def _modified(record: StreamRecord, old: Reader | None, new: Reader | None, event_id: str) -> ItemChange[Any]:
    assert new is not None, "a modification has an entity"
    assert old is not None, "and had one"
    before, after = old.entity(record.old or {}), new.entity(record.new or {})
    return Modified(record.sequence_number, event_id, record.at_s, before, after)


def _removed(record: StreamRecord, old: Reader | None, _new: Reader | None, event_id: str) -> ItemChange[Any]:
    assert old is not None, "a removed item has an entity"
    return Removed(record.sequence_number, event_id, record.at_s, old.entity(record.old or {}))


def _expired(record: StreamRecord, old: Reader | None, _new: Reader | None, event_id: str) -> ItemChange[Any]:
    assert old is not None, "an expired item has an entity"
    return Expired(record.sequence_number, event_id, record.at_s, old.entity(record.old or {}))


_CHANGE_MAKERS: dict[EventName, Callable[[StreamRecord, Reader | None, Reader | None, str], ItemChange[Any]]] = {
    "inserted": _inserted,
    "modified": _modified,
    "removed": _removed,
    "expired": _expired,
}


def bind_consumers(
    table: Table, physical_name: str, consumers: Sequence[Callable[..., Any] | str] | None
) -> list[BoundConsumer]:
    """Return a bound consumer for each of the table's consumers in `consumers`, or for all of them if `consumers` is
    None.

    `consumers` contains functions or consumer names. Raises ConsumerSetupError if a consumer does not exist or cannot
    run.
    """
    selected_consumers = table.consumers if consumers is None else [_find_consumer(table, name) for name in consumers]
    if not selected_consumers:
        raise ConsumerSetupError(f"table {table.name} has no consumer: declare one with @table.on_change(...)")
    names = [consumer.name for consumer in selected_consumers]
    for consumer in selected_consumers:
        if not consumer.entities:
            raise ConsumerSetupError(
                f"{consumer.name} is declared without an entity: write @table.on_change(Order), {consumer.place}"
            )
        if names.count(consumer.name) > 1:
            raise ConsumerSetupError(
                f"table {table.name} has two consumers named {consumer.name}, which would share checkpoints;"
                f" rename one: {consumer.place}"
            )
    for consumer in selected_consumers:
        _check_callable(consumer.name, consumer.function)
    return [
        BoundConsumer(
            f"{physical_name}/{consumer.name}",
            consumer,
            frozenset(consumer.entities),
            filter_of(consumer.filter),
        )
        for consumer in selected_consumers
    ]


def with_handlers(
    table: Table, consumers: Sequence[BoundConsumer], handlers: Mapping[Callable[..., Any] | str, Callable[[Any], Any]]
) -> list[BoundConsumer]:
    """Return copies of the consumers that call the functions in `handlers` instead of their declared functions."""
    by_name = {_find_consumer(table, key).name: handler for key, handler in handlers.items()}
    for name, handler in by_name.items():
        _check_callable(name, handler)
    return [
        replace(
            consumer,
            declaration=replace(
                consumer.declaration, function=by_name.get(consumer.declaration.name, consumer.declaration.function)
            ),
        )
        for consumer in consumers
    ]


def _check_callable(name: str, function: Callable[..., Any]) -> None:
    if inspect.iscoroutinefunction(function):
        raise ConsumerSetupError(
            f"{name} is a coroutine function, which a runner does not await:"
            " pass a function that runs it with asyncio.run(...)"
        )


def sorter_of(table: Table, consumers: Sequence[BoundConsumer]) -> RecordSorter:
    """Return a record sorter for all entities whose changes the consumers of a table receive."""
    return RecordSorter(
        table, list(dict.fromkeys(spec for consumer in consumers for spec in consumer.declaration.entities))
    )


def _find_consumer(table: Table, name: Callable[..., Any] | str) -> Consumer:
    for consumer in table.consumers:
        if name in (consumer.name, consumer.function):
            return consumer
    names = ", ".join(consumer.name for consumer in table.consumers) or "none"
    raise ConsumerSetupError(f"table {table.name} has no consumer {name}; it has: {names}")


def check_destinations(consumers: Sequence[BoundConsumer], destinations: Container[str]) -> None:
    """Raise ConsumerSetupError if a consumer sends failed records to a destination whose name is not in
    `destinations`.
    """
    for consumer in consumers:
        destination = consumer.declaration.on_failure
        if destination is not None and destination not in destinations:
            raise ConsumerSetupError(
                f'{consumer.name} sends failed records to "{destination}", which the runner does not have:'
                f' pass destinations={{"{destination}": JsonLinesFolder(...)}}'
            )


def check_views(consumer: BoundConsumer, shards: Sequence[Shard], streams: Sequence[TableStream]) -> None:
    """Raise ConsumerSetupError if the consumer needs an image that the stream of one of the shards does not contain.

    `streams` contains the streams of the shards.
    """
    views = {stream.arn: stream.view for stream in streams}
    for shard in shards:
        if consumer.needs_more_than(views[shard.arn]):
            images = " and ".join(sorted(consumer.declaration.needed_images))
            raise ConsumerSetupError(
                f"{consumer.name} needs the {images} image of items, but stream {shard.arn} has {views[shard.arn]}:"
                " the view of a stream cannot be changed; disable the stream, and enable a new one with the required"
                " view"
            )
