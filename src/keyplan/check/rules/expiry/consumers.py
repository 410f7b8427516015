"""Rules: consumers."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding, number, with_article
from keyplan.check.load import Work
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.declaring.consumers import Changed, Consumer
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.schema import IMAGES

_MOST_READERS = 2


@design_rule("KP707", "warning")
def too_many_stream_readers(subject: Subject) -> Iterator[Finding]:
    """More than two readers of one stream

    A stream's shards serve two readers at a time; with a third, all of them are throttled and fall behind. Each
    function that is attached to the stream by itself is a reader, and so is the replication of a global table.

    Let one reader take the changes and hand them on: one worker that calls several consumers, or a topic behind a
    single function.

    Source: developer guide, "Change data capture for DynamoDB Streams": no more than two processes per shard.
    """
    for table in subject.tables:
        if len(table.consumers) > _MOST_READERS:
            names = ", ".join(consumer.name for consumer in table.consumers)
            yield too_many_stream_readers.finding(
                table.name,
                f"{len(table.consumers)} consumers take changes of table {table.name} ({names}), and a stream serves"
                f" {_MOST_READERS} readers: deployed one by one, they throttle each other",
                "run them in one worker, which reads once; accept this where it does",
                table.consumers[_MOST_READERS].place,
                table.schema.place.at("stream="),
            )


@design_rule("KP708", "warning")
def unlimited_retries(subject: Subject) -> Iterator[Finding]:
    """A failing change is retried until it is lost

    By default a batch of changes that a consumer fails on is tried again and again, for the 24 hours that the stream
    keeps it. Meanwhile nothing behind it in the shard is delivered: one record that can never succeed stops a part of
    the table's changes for a day, and is then dropped.

    Declare `retries=5` or the like, with `on_failure=` for what still fails. Batches are halved to find the record at
    fault unless `bisect=False`.

    Source: Lambda developer guide, "Retain discarded records for a DynamoDB event source" and parameters of event
    source mappings.
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.retries is None:
                yield unlimited_retries.finding(
                    consumer.name,
                    f"{consumer.name} retries a failing change without end: for up to 24 hours nothing behind it in the"
                    " shard is delivered, and then it is lost",
                    "declare retries=5 or the like, and on_failure= for what still fails",
                    consumer.place,
                    table.schema.place.at("stream="),
                )


@design_rule("KP709", "warning")
def no_dead_letter_destination(subject: Subject) -> Iterator[Finding]:
    """A change that failed for good goes nowhere

    When a consumer's retries are used up, or the stream no longer keeps the record, the change is dropped. Without a
    destination for failures nobody sees which one it was, and what the consumer keeps (an aggregate, a search index, a
    lake) is wrong from then on.

    Name a destination with `on_failure="..."`: a queue, a topic, a folder. Records that are there can be delivered
    again.

    Source: Lambda developer guide, "Retain discarded records for a DynamoDB event source".
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.on_failure is None:
                yield no_dead_letter_destination.finding(
                    consumer.name,
                    f"{consumer.name} names no destination for changes of table {table.name} that fail for good: they"
                    " are dropped, and nobody knows which",
                    'declare on_failure="..." with the name of a queue, a topic or a folder',
                    consumer.place,
                    table.schema.place.at("stream="),
                )


@design_rule("KP710", "error", "warning")
def missing_stream_image(subject: Subject) -> Iterator[Finding]:
    """A stream that does not carry what its consumers need

    A stream's view decides what its records hold: only keys, the item before the change, after it, or both. A consumer
    that compares old and new needs both; one that is told of deletions needs the old item, since there is no new one.
    The view cannot be changed: the stream is switched off and on again, and is then another stream.

    Declare `stream="NEW_AND_OLD_IMAGES"` unless you know better. It costs nothing more.

    It is an error where the declared view lacks an image or the table has no stream, and a warning where the design
    does not say which view it is.

    Source: developer guide, "Change data capture for DynamoDB Streams" (StreamViewType).
    """
    for table in subject.tables:
        for consumer in table.consumers:
            yield from _missing_image(table, consumer, _needed_images(consumer))


def _needed_images(consumer: Consumer) -> frozenset[str]:
    return frozenset({"old", "new"}) if isinstance(consumer.when, Changed) else consumer.needs


def _missing_image(table: Table, consumer: Consumer, needs: frozenset[str]) -> Iterator[Finding]:
    view = table.schema.stream
    images = " and ".join(f"the {image} image" for image in ("old", "new") if image in needs)
    if view is None:
        problem = f"{consumer.name} takes changes of table {table.name}, which has no stream"
    elif view == "UNSTATED":
        problem = f"{consumer.name} needs {images}, and the design does not say what the stream of {table.name} holds"
    elif lacking := sorted(needs - IMAGES[view]):
        problem = f"{consumer.name} needs {images}, and the stream of table {table.name} is {view}: the"
        problem += f" {' and the '.join(lacking)} image is not in its records"
    else:
        return
    of_all = sorted(frozenset().union(*map(_needed_images, table.consumers)))
    both = len(of_all) > 1 or view in {None, "UNSTATED"}
    best = "NEW_AND_OLD_IMAGES" if both else f"{of_all[0].upper()}_IMAGE"
    yield missing_stream_image.finding(
        consumer.name,
        problem,
        f'declare stream="{best}" on the table',
        consumer.place,
        table.schema.place.at("stream=") if view is not None else table.schema.place,
        severity="warning" if view == "UNSTATED" else "error",
    )


@design_rule("KP711", "warning")
def non_idempotent_consumer(subject: Subject) -> Iterator[Finding]:
    """A consumer that counts a change twice

    Changes are delivered at least once: after a timeout, a deployment, or a failure late in a batch, the same changes
    come again, and those that had already been handled with them. A consumer that sends, adds or appends does it again.

    Make it come to the same end: write under a key that is made from the change (its `event_id`, or the item's key and
    `sequence_number`) on the condition that it is not there; or set values instead of adding to them. Then
    declare `idempotent=True`.

    Source: Lambda developer guide, "Using Lambda to process records from Amazon DynamoDB Streams": each event is
    processed at least once, and duplicate processing can occur.
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if not consumer.idempotent:
                yield non_idempotent_consumer.finding(
                    consumer.name,
                    f"{consumer.name} does not say that a change of table {table.name} may reach it twice, and changes"
                    " are delivered at least once",
                    "write under a key made from the change, if it is not there, and declare idempotent=True",
                    consumer.place,
                    table.schema.place.at("stream="),
                )


_DROPPED_SHARE = 0.5


@design_rule("KP712", "advice")
def unfiltered_consumer(subject: Subject) -> Iterator[Finding]:
    """Changes that are delivered only to be dropped

    A consumer that takes the changes of one entity of several, or only insertions, is still called for batches of
    everything where nothing filters before it. Each call costs, and the batches that matter wait behind those that do
    not. Found where more than half of the declared writes are of others.

    Say which changes count with `when=` (a condition, or `changed("status")`), and let the export of the consumer put
    the entity's key prefix and the kind of change into the filter of the event source.

    Source: Lambda developer guide, "Control which events Lambda sends to your function" (event filtering).
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if consumer.when is None:
                yield from _dropped_changes(subject, table, consumer)


def _dropped_changes(subject: Subject, table: Table, consumer: Consumer) -> Iterator[Finding]:
    writes = [
        work
        for work in subject.works
        if work.plan.schema is table.schema and not work.plan.reading and work.rate is not None
    ]
    total = sum(work.rate.average for work in writes if work.rate is not None)
    other = sum(
        work.rate.average for work in writes if work.rate is not None and work.plan.entity not in consumer.entities
    )
    if total and other > _DROPPED_SHARE * total:
        names = ", ".join(entity.name for entity in consumer.entities)
        yield unfiltered_consumer.finding(
            consumer.name,
            f"{consumer.name} takes changes of {names}, and {number(other)} of {number(total)} writes a second to table"
            f" {table.name} are of others: {other / total:.0%} of what it is handed is dropped",
            "filter at the event source by the key's prefix, or give the entities a table with a stream of its own",
            consumer.place,
            table.schema.place.at("stream="),
        )


@design_rule("KP713", "warning")
def expiry_events_ignored(subject: Subject) -> Iterator[Finding]:
    """Deletions by expiry are overlooked

    Expired items leave the table through the stream too, as deletions by the service. A consumer that is told of
    `Removed` items and not of `Expired` ones never learns of them: its copy keeps sessions that are over and tasks that
    were archived. If both were taken for the same, archived items would look deleted by their owners.

    Take `Expired[...]` beside `Removed[...]`, and decide what each means.

    Source: developer guide, "DynamoDB Streams and time to live": records of expiry carry the service's own identity.
    """
    for table in subject.tables:
        names = {ttl.attribute for ttl in table.schema.ttls}
        for consumer in table.consumers:
            if "removed" not in consumer.events or "expired" in consumer.events:
                continue
            expiring = [
                entity.name
                for entity in consumer.entities
                if any(field.attribute in names for field in entity.fields.values())
            ]
            if expiring:
                yield expiry_events_ignored.finding(
                    consumer.name,
                    f"{consumer.name} is told when {' or '.join(map(with_article, expiring))} is removed, and not when"
                    f" one expires by {', '.join(sorted(names))}: its copy keeps what is gone",
                    f"take Expired[{expiring[0]}] too, and decide how it differs from a deletion",
                    consumer.place,
                    table.schema.place.at("ttl="),
                )


@design_rule("KP715", "warning")
def modifications_ignored(subject: Subject) -> Iterator[Finding]:
    """A consumer of new items that misses what becomes of them

    A consumer that takes `Inserted` alone sees an item once, as it was first written. Where the item is then put again
    or its state is changed, that comes as `Modified`, and the consumer never hears of it: an attempt that begins as
    "in-progress" and is "completed" later is only seen unfinished.

    Take `Modified` as well, and act on what it became: `when=changed("status", becomes="completed")` counts an
    insertion that begins so as well. It needs the old and the new image.

    Source: developer guide, "Change data capture for DynamoDB Streams" (INSERT, MODIFY and REMOVE records).
    """
    for table in subject.tables:
        for consumer in table.consumers:
            if "inserted" not in consumer.events or "modified" in consumer.events:
                continue
            for entity in consumer.entities:
                state = _state_field(entity)
                works = [work for work in subject.writes_of(entity) if state and _can_change(work, state)]
                if works:
                    yield modifications_ignored.finding(
                        consumer.name,
                        f"{consumer.name} takes new {entity.name} items alone, and {works[0].pattern.name} can give one"
                        f" that is there another {state}: that comes as Modified, and is never seen",
                        f'take Modified[{entity.name}] too, with when=changed("{state}", becomes=...)',
                        consumer.place,
                        works[0].pattern.place,
                    )


def _state_field(entity: EntitySpec) -> str | None:
    """The field with a few declared values whose name says that it is a state."""
    return next(
        (
            name
            for name, field in entity.fields.items()
            if name.lower().endswith(("status", "state", "stage", "phase")) and choices_of(field)
        ),
        None,
    )


def _can_change(work: Work, state: str) -> bool:
    if work.plan.operation in {"PutItem", "BatchWriteItem"}:
        return work.plan.item is not None and work.plan.exists != "must_not"
    return any(action.path.field == state for action in work.plan.actions)
