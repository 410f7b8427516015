"""Rules for consumers of streams."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, number, with_article
from keyplan.check.load import PlannedRequest
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.prices import HOURS_PER_MONTH
from keyplan.cost.selectivity import choices_of
from keyplan.design.declaring.consumers import Changed, Consumer
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.schema import IMAGES

_MAX_READERS = 2


@design_rule("KP707", "warning")
def too_many_stream_readers(subject: Subject) -> Iterator[Finding]:
    """Stream has more than two readers

    Finds tables with more than two consumers.

    Why is this bad? A shard of a stream supports two readers. If a third reader is added, requests by all readers are
    throttled. Each function that is attached to the stream is a reader, and so is the replication of a global table.

    Fix: use one reader that distributes the changes, such as a worker that calls several consumers, or a function that
    publishes to a topic.

    Source: developer guide, "Change data capture for DynamoDB Streams": no more than two processes per shard.
    """
    for table in subject.tables:
        if len(table.consumers) > _MAX_READERS:
            names = ", ".join(consumer.name for consumer in table.consumers)
            yield too_many_stream_readers.finding(
                table.name,
                f"{len(table.consumers)} consumers of table {table.name} ({names}) throttle each other if"
                f" deployed separately: a stream serves {_MAX_READERS} readers",
                "run them in one worker, which reads once, or suppress this if they are",
                table.consumers[_MAX_READERS].place,
                table.schema.place.at("stream="),
            )


@design_rule("KP708", "warning")
def unlimited_retries(subject: Subject) -> Iterator[Finding]:
    """Consumer retries without limit

    Finds consumers without `retries=`. All such consumers are reported in one finding.

    Why is this bad? A failing batch is retried until its records leave the stream after 24 hours. Until then, later
    records in the shard are not delivered. After that, the changes in the failing batch are lost.

    Fix: declare `retries=5` or similar, and `on_failure=` for changes that still fail. Unless the consumer declares
    `bisect=False`, failing batches are split in half to isolate the failing record.

    Source: Lambda developer guide, "Retain discarded records for a DynamoDB event source" and parameters of event
    source mappings.
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.retries is None:
                yield unlimited_retries.finding(
                    consumer.name,
                    f"a failing change blocks its shard for up to 24 hours and is then lost: {consumer.name}"
                    " retries without limit",
                    "declare retries=5 or similar, and on_failure= for changes that still fail",
                    consumer.place,
                    table.schema.place.at("stream="),
                    item=consumer.name,
                )


@design_rule("KP709", "warning", implied_by=("KP708",))
def no_dead_letter_destination(subject: Subject) -> Iterator[Finding]:
    """Consumer has no dead-letter destination

    Finds consumers without `on_failure=`. Consumers without `retries=` are reported only by KP708, whose fix includes
    both `retries=` and `on_failure=`.

    Why is this bad? After the last retry, or when the record expires from the stream, the change is dropped. The lost
    change is not stored anywhere, so the aggregate, search index or data lake that the consumer maintains remains
    incorrect.

    Fix: declare a destination with `on_failure="..."`: a queue, a topic or a folder. Records in this destination can be
    delivered again.

    Source: Lambda developer guide, "Retain discarded records for a DynamoDB event source".
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.on_failure is None:
                yield no_dead_letter_destination.finding(
                    consumer.name,
                    f"changes of table {table.name} that fail permanently in {consumer.name} are lost: it has no"
                    " dead-letter destination",
                    'declare on_failure="..." with the name of a queue, a topic or a folder',
                    consumer.place,
                    table.schema.place.at("stream="),
                    item=consumer.name,
                )


@design_rule("KP710", "error", "warning", conflicts=True)
def missing_stream_image(subject: Subject) -> Iterator[Finding]:
    """Stream does not contain a required image

    Finds consumers of a table without a stream, and consumers that need an old or new image that the stream's view type
    does not contain (error). Also finds consumers of a table whose view type is not declared (warning).

    Why is this bad? The view type determines what records contain: only keys, the item before the change, the item
    after it, or both. A consumer that compares the images needs both, and a consumer of deletions needs the old image.
    The view type of a stream cannot be changed: a new stream replaces the old one.

    Fix: declare `stream="NEW_AND_OLD_IMAGES"`. This view type has no additional cost.

    Source: developer guide, "Change data capture for DynamoDB Streams" (StreamViewType).
    """
    for table in subject.tables:
        for consumer in table.consumers:
            yield from _missing_image(table, consumer, _needed_images(consumer))


def _needed_images(consumer: Consumer) -> frozenset[str]:
    return frozenset({"old", "new"}) if isinstance(consumer.filter, Changed) else consumer.needed_images


def _missing_image(table: Table, consumer: Consumer, needs: frozenset[str]) -> Iterator[Finding]:
    view = table.schema.stream
    images = " and ".join(f"the {image} image" for image in ("old", "new") if image in needs)
    if view is None:
        problem = f"{consumer.name} receives nothing: table {table.name} has no stream"
    elif view == "UNSTATED":
        problem = (
            f"{consumer.name} may not receive {images}: the design does not declare the stream view of {table.name}"
        )
    elif missing := sorted(needs - IMAGES[view]):
        problem = f"{consumer.name} does not receive the {' and the '.join(missing)} image: the stream of table"
        problem += f" {table.name} is {view}"
    else:
        return
    all_images = sorted(frozenset().union(*map(_needed_images, table.consumers)))
    needs_both = len(all_images) > 1 or view in {None, "UNSTATED"}
    stream_view = "NEW_AND_OLD_IMAGES" if needs_both else f"{all_images[0].upper()}_IMAGE"
    yield missing_stream_image.finding(
        consumer.name,
        problem,
        f'declare stream="{stream_view}" on the table',
        consumer.place,
        table.schema.place.at("stream=") if view is not None else table.schema.place,
        severity="warning" if view == "UNSTATED" else "error",
    )


@design_rule("KP711", "warning")
def non_idempotent_consumer(subject: Subject) -> Iterator[Finding]:
    """Consumer is not idempotent

    Finds consumers without `idempotent=True`. All such consumers are reported in one finding.

    Why is this bad? Changes are delivered at least once: after a timeout, a deployment or a failure in a batch, changes
    that were already processed are delivered again. A consumer that sends messages, adds numbers or appends values then
    repeats these actions.

    Fix: store the result under a key that identifies the change (its `event_id`, or the item's key and
    `sequence_number`) if that key does not exist yet. Alternatively, set values instead of adding to them. Then declare
    `idempotent=True`.

    Source: Lambda developer guide, "Using Lambda to process records from Amazon DynamoDB Streams": each event is
    processed at least once, and duplicate processing can occur.
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if not consumer.idempotent:
                yield non_idempotent_consumer.finding(
                    consumer.name,
                    f"{consumer.name} can handle a change of table {table.name} twice: changes are delivered at"
                    " least once, and it is not declared idempotent",
                    "write under a key made from the change, if it does not exist, and declare idempotent=True",
                    consumer.place,
                    table.schema.place.at("stream="),
                    item=consumer.name,
                )


_DROPPED_SHARE = 0.5
_CALL_DOLLARS = 0.2e-6 * HOURS_PER_MONTH * 3600
"""The monthly cost of one Lambda call per second, at $0.20 per million calls."""


@design_rule("KP712", "advice")
def unfiltered_consumer(subject: Subject) -> Iterator[Finding]:
    """Consumer receives mostly unrelated changes

    Finds consumers without `filter=` if more than half of the table's declared writes are writes of other entities, and
    calling the consumer for these writes costs at least the design's `cost_floor` per month. All such consumers of a
    table are reported in one finding.

    Why is this bad? Without a filter, the consumer is called for all changes. Each call is billed, and unrelated
    changes delay the processing of relevant changes.

    Fix: declare the relevant changes with `filter=` (a condition, or `changed("status")`). If the consumer is a Lambda
    function, also filter its event source by the entity's key prefix and by the event type.

    Source: Lambda developer guide, "Control which events Lambda sends to your function" (event filtering).
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.filter is None:
                yield from _dropped_changes(subject, table, consumer)


def _dropped_changes(subject: Subject, table: Table, consumer: Consumer) -> Iterator[Finding]:
    table_writes = [
        write
        for write in subject.requests
        if write.plan.schema is table.schema and not write.plan.reading and write.rate is not None
    ]
    total = sum(write.rate.average for write in table_writes if write.rate is not None)
    dropped = sum(
        write.rate.average
        for write in table_writes
        if write.rate is not None and write.plan.entity not in consumer.entities
    )
    if total and dropped > _DROPPED_SHARE * total and dropped * _CALL_DOLLARS >= subject.design.cost_floor:
        names = ", ".join(entity.name for entity in consumer.entities)
        yield unfiltered_consumer.finding(
            consumer.name,
            f"{dropped / total:.0%} of the changes that {consumer.name} receives are dropped:"
            f" {number(dropped)} of {number(total)} writes per second to table {table.name} are not of"
            f" {names}",
            "filter at the event source by key prefix, or give the entities their own table and stream",
            consumer.place,
            table.schema.place.at("stream="),
            item=consumer.name,
            cause=table.name,
        )


@design_rule("KP713", "warning")
def expiry_events_ignored(subject: Subject) -> Iterator[Finding]:
    """Consumer ignores expiry

    Finds consumers that handle `Removed` but not `Expired` for an entity that expires.

    Why is this bad? In the stream, the expiry of an item appears as a deletion by the DynamoDB service. If a consumer
    that maintains a copy of the data handles only `Removed`, the copy still contains the expired items. The two events
    are separate, so that a consumer can distinguish an expiry from a deletion by a user.

    Fix: handle `Expired[...]` as well as `Removed[...]`.

    Source: developer guide, "DynamoDB Streams and time to live": records of expired items contain the identity of the
    service.
    """
    for table in subject.tables:
        names = {ttl.attribute for ttl in table.schema.ttls}
        for consumer in table.consumers:
            if "removed" not in consumer.events or "expired" in consumer.events:
                continue
            expiring_entities = [
                entity.name
                for entity in consumer.entities
                if any(field.attribute in names for field in entity.fields.values())
            ]
            if expiring_entities:
                yield expiry_events_ignored.finding(
                    consumer.name,
                    f"the copy of {consumer.name} keeps expired items: it handles removals of"
                    f" {' or '.join(map(with_article, expiring_entities))}, but not expiry by"
                    f" {', '.join(sorted(names))}",
                    f"handle Expired[{expiring_entities[0]}] too",
                    consumer.place,
                    table.schema.place.at("ttl="),
                )


@design_rule("KP715", "warning")
def modifications_ignored(subject: Subject) -> Iterator[Finding]:
    """Consumer ignores modifications

    Finds consumers that handle `Inserted` but not `Modified` for an entity, if writes to existing items of this entity
    change a field that has a fixed set of values.

    Why is this bad? If a put replaces an existing item, or its state changes, the change is delivered as `Modified`.
    For example, a consumer that handles only `Inserted` receives each attempt when its status is "in-progress", but
    never when it becomes "completed".

    Fix: handle `Modified` too, with `filter=changed("status", becomes="completed")`. This filter matches items that
    change to this value and items that are created with it. The filter requires that stream records contain both the
    old and the new image.

    Source: developer guide, "Change data capture for DynamoDB Streams" (INSERT, MODIFY and REMOVE records).
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if "inserted" not in consumer.events or "modified" in consumer.events:
                continue
            for entity in consumer.entities:
                change = next(_changes(subject.writes_of(entity), entity), None)
                if change is not None:
                    write, state = change
                    yield modifications_ignored.finding(
                        consumer.name,
                        f"{consumer.name} never sees when {write.pattern.name} changes {state} of an existing"
                        f" {entity.name}: this is delivered as Modified",
                        f'handle Modified[{entity.name}] too, with filter=changed("{state}", becomes=...)',
                        consumer.place,
                        write.pattern.place,
                    )


def _changes(writes: list[PlannedRequest], entity: EntitySpec) -> Iterator[tuple[PlannedRequest, str]]:
    """Yield each of the given writes that can change a field with declared choices in an existing item, together with
    the name of the field.
    """
    for name, field in entity.fields.items():
        if choices_of(field) and field.type_code != "BOOL":
            yield from ((write, name) for write in writes if _can_change(write, name))


def _can_change(write: PlannedRequest, state: str) -> bool:
    if write.plan.operation in {"PutItem", "BatchWriteItem"}:
        return write.plan.item is not None and write.plan.exists != "must_not"
    return any(action.path.field == state for action in write.plan.actions)


@design_rule("KP717", "advice", of_absence=True)
def stream_without_consumer(subject: Subject) -> Iterator[Finding]:
    """Stream has no consumer

    Finds tables with `stream=` and at least one pattern, if the design declares no consumer of the stream.

    Why is this bad? Stream records are deleted after 24 hours. Changes that no consumer reads within this time are
    lost, and a consumer that is added later does not receive them. If a function outside the design reads the stream,
    keyplan cannot check which images and events the function needs, or how it handles failures.

    Fix: declare the consumer (`@table.on_change(Task)`), or remove `stream=`: a stream can be enabled later without
    downtime. Suppress the finding if a program outside the design reads the stream.

    Source: developer guide, "Change data capture for DynamoDB Streams" (records are retained for 24 hours).
    """
    for table in subject.tables:
        if table.schema.stream is not None and table.patterns and not table.consumers:
            yield stream_without_consumer.finding(
                table.name,
                f"changes of table {table.name} are lost after 24 hours: it has a stream, and no declared consumer"
                " reads it",
                "declare the consumer with on_change(...), or leave out stream=",
                table.schema.place.at("stream="),
            )
