"""Rules for time to live."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from keyplan.check.field_names import words_of
from keyplan.check.finding import Finding, Severity
from keyplan.check.relations import (
    always_expires,
    belongs_to,
    entities_with_consumer,
    guarded_writes,
    guards_of,
    may_expire,
    share_partition,
    steps_in,
)
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.patterns import Pattern
from keyplan.design.declaring.tables import Table
from keyplan.design.errors import Place
from keyplan.design.fields.stored import StoredField
from keyplan.design.schema import TTL

ttl_not_a_number = fault_rule(
    "KP701",
    "ttl-not-a-number",
    """Expiry is not a Number

    Finds fields that are stored in the table's TTL attribute but do not have the type Number.

    Why is this bad? DynamoDB deletes an item after the time in its TTL attribute, a Number of seconds since 1970. It
    ignores other types without an error: if `expires_at` is an ISO 8601 string, no item is ever deleted.

    Fix: declare the field as `datetime`, which is stored as seconds if it is the table's TTL attribute, or as an `int`
    in seconds.

    Source: developer guide, "Using time to live (TTL)": the attribute must be a Number of epoch seconds.
    """,
)


_MILLISECOND_NAME = re.compile(r"_(ms|millis|milliseconds)$")
_TOO_LARGE_FOR_SECONDS = 10**11
"""The smallest number that is assumed to be in milliseconds. As a number of seconds, it is a time in the year 5138."""


@design_rule("KP702", "error", "advice")
def ttl_in_milliseconds(subject: Subject) -> Iterator[Finding]:
    """Expiry is in milliseconds

    Finds TTL fields that are stored in milliseconds. The finding is an error for fields with
    `Attribute(stored="epoch_ms")`, and for fields whose default, minimum or example (`Field(examples=[...])`) is too
    large for seconds. The severity is advice if the name of the field, such as `until_ms`, is the only sign of
    milliseconds.

    Why is this bad? DynamoDB reads the value as seconds. A value in milliseconds is a time about 50,000 years in the
    future, so the item never expires.

    Fix: store seconds: declare a `datetime` field without `stored=`, or an `int` in seconds.

    Source: developer guide, "Using time to live (TTL)": seconds, not milliseconds.
    """
    for table, entity in subject.entities:
        for field in entity.fields.values():
            severity = _millisecond_evidence(field) if field.attribute == table.schema.ttl else None
            if severity is None:
                continue
            yield ttl_in_milliseconds.finding(
                entity.name,
                f"items of table {table.name} never expire: {entity.name}.{field.name} is in milliseconds, and"
                " TTL reads seconds",
                "store seconds: declare it as datetime without stored=, or as int seconds",
                entity.place.at(f"{field.name}:"),
                table.schema.place.at("ttl="),
                severity=severity,
            )


def _millisecond_evidence(field: StoredField) -> Severity | None:
    """Return the severity of a finding for a field that appears to contain milliseconds, or None for other fields.

    The severity is advice if the name of the field is the only sign of milliseconds.
    """
    if field.stored == "epoch_ms":
        return "error"
    if field.type_code != "N" or field.stored is not None:
        return None
    values = (field.declared.minimum, field.info.default, *(field.info.examples or ()))
    if any(isinstance(value, (int, float)) and value >= _TOO_LARGE_FOR_SECONDS for value in values):
        return "error"
    return "advice" if _MILLISECOND_NAME.search(words_of(field.name)) else None


multiple_ttl_attributes = fault_rule(
    "KP703",
    "multiple-ttl-attributes",
    """Table has several TTL attributes

    Finds tables that declare more than one TTL attribute.

    Why is this bad? A table can have only one TTL attribute. To change it, TTL must be disabled and enabled again,
    which takes up to an hour and affects the expiry of all items.

    Fix: store the expiry of all entities in the same attribute. The expiry time can be computed separately for each
    entity.

    Source: API reference, UpdateTimeToLive; developer guide, "Enable time to live (TTL)".
    """,
)


@design_rule("KP704", "warning")
def expired_items_read(subject: Subject) -> Iterator[Finding]:
    """Read returns expired items

    Finds reads of expiring entities in a table with `literal=True`, which disables keyplan's additions to requests. All
    such patterns of a table are reported in one finding. In other tables, reads omit expired items unless they declare
    `expired=True`.

    Why is this bad? DynamoDB deletes expired items in the background within a few days. Until then, reads return
    expired sessions and offers as if they were valid.

    Fix: remove `literal=True`. Reads then omit expired items. Suppress the finding if the program needs expired items,
    for example to clean up.

    Source: developer guide, "Working with expired items and time to live (TTL)".
    """
    for table, pattern, plan in subject.patterns:
        if not plan.reading or plan.expired != "keep" or not table.schema.literal:
            continue
        names = {ttl.attribute for ttl in table.schema.ttls}
        expiry_fields = [
            (entity.name, field.attribute)
            for entity in plan.entities
            for field in entity.fields.values()
            if field.attribute in names
        ]
        if expiry_fields:
            entity_name, attribute = expiry_fields[0]
            yield expired_items_read.finding(
                pattern.name,
                f"{pattern.name} returns expired items: {entity_name} items stay readable for days after"
                f" {attribute} has passed",
                "remove literal=True, or suppress this if the program needs expired items",
                pattern.place,
                table.schema.place.at("ttl="),
                item=pattern.name,
                cause=table.name,
            )


@design_rule("KP705", "error", conflicts=True)
def ttl_as_event(subject: Subject) -> Iterator[Finding]:
    """Expiry is used as an event

    Finds tables with `TTL(sets=...)`, which declares that fields change when an item expires. Also finds reads with
    `expired=True` and `decides=`, unless the write that depends on the read (`guards=`) has a condition on the expiry.

    Why is this bad? DynamoDB may take up to several days to delete an expired item. It never changes fields or sets
    states when an item expires, and it does not end sessions on time.

    Fix: compare the expiry with the current time. keyplan's reads omit expired items automatically. Add the expiry to
    conditions on writes (`.condition(F.expires_at > now)`), and derive a state such as "expired" when reading. If the
    state must be stored, set it with a background job.

    Source: developer guide, "Using time to live (TTL)" and "Working with expired items".
    """
    for table in subject.tables:
        for ttl in table.schema.ttls:
            yield from _expected_changes(table, ttl)
    for table, pattern, plan in subject.patterns:
        has_expiry = any(field.attribute == table.schema.ttl for field in plan.entity.fields.values())
        if not (plan.reading and plan.expired == "keep" and pattern.facts.decides and has_expiry):
            continue
        if not all(_compares_expiry(write) for write in guarded_writes(subject, pattern)):
            yield ttl_as_event.finding(
                pattern.name,
                f"{pattern.name} decides about {pattern.facts.decides} by expired items: they exist for days"
                f" after {table.schema.ttl} has passed",
                f"remove {'literal' if table.schema.literal else 'expired'}=True, and compare the expiry in the"
                " condition of the following write",
                pattern.place,
                table.schema.place.at("ttl="),
            )


def _compares_expiry(write: Pattern[..., Any]) -> bool:
    return any(
        step.entity.fields[path.field].attribute == step.entity.expiry_attribute
        for step in steps_in(write)
        for path in paths_of(step.condition)
    )


def _expected_changes(table: Table, ttl: TTL) -> Iterator[Finding]:
    if ttl.sets:
        names = ", ".join(f"{name} = {value}" for name, value in ttl.sets.items())
        yield ttl_as_event.finding(
            table.name,
            f"expiry by {ttl.attribute} does not set {names} in table {table.name}: it deletes the item",
            f"derive it from {ttl.attribute} and the clock when reading, or set it with a job and keep the item longer",
            table.schema.place.at("ttl="),
        )


_LONG_PAST = datetime(2021, 11, 1, tzinfo=UTC)
"""A time five years before this rule was written. DynamoDB ignores earlier expiry times."""


@design_rule("KP706", "warning")
def ttl_too_old(subject: Subject) -> Iterator[Finding]:
    """Expiry is more than five years in the past

    Finds TTL fields that are durations, or whose default or maximum is a time before November 2021. Also finds writes
    that set a TTL field to a constant time before November 2021.

    Why is this bad? DynamoDB ignores a TTL value more than five years in the past, so the item is never deleted. An
    expiry of 0 or 1 does not delete an item immediately, and a duration of 7,200 seconds is read as a time in 1970.

    Fix: set the expiry to the current or a future time, or delete the item.

    Source: developer guide, "Using time to live (TTL)": items with a timestamp older than five years are not deleted.
    """
    for table, entity in subject.entities:
        for field in entity.fields.values():
            problem = _past_value(field) if field.attribute == table.schema.ttl else None
            if problem is not None:
                cause = f"{entity.name}.{field.name} {problem}"
                yield _ignored_expiry(cause, entity.name, entity.place.at(f"{field.name}:"), table.schema.place)
    for table, pattern, plan in subject.patterns:
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            if field.attribute == table.schema.ttl and action.name == "set" and _is_too_old(action.source):
                cause = f"{pattern.name} sets {field.name} to {action.source!r}"
                yield _ignored_expiry(cause, pattern.name, pattern.place, table.schema.place)


def _past_value(field: StoredField) -> str | None:
    """Return the reason why a TTL field can contain a time that DynamoDB ignores, such as its default or maximum, or
    None if no reason is found. The reason completes a sentence that starts with the name of the field.
    """
    default = field.info.default
    if field.annotation is timedelta:
        return "is a duration, which TTL reads as a time in 1970"
    if _is_too_old(default):
        return f"is {default!r} by default"
    read = field.declared
    return f"is at most {read.maximum}" if read.type is int and _is_too_old(read.maximum) else None


def _is_too_old(value: object) -> bool:
    if isinstance(value, datetime):
        return value.astimezone(UTC) < _LONG_PAST
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool) and value < _LONG_PAST.timestamp()


def _ignored_expiry(cause: str, subject: str, place: Place, table_place: Place) -> Finding:
    return ttl_too_old.finding(
        subject,
        f"the item never expires: {cause}, and TTL ignores values more than five years in the past",
        "set it to the current or a future time, or delete the item",
        place,
        table_place.at("ttl="),
    )


@design_rule("KP714", "warning")
def guard_without_ttl(subject: Subject) -> Iterator[Finding]:
    """Item and its uniqueness guard expire separately

    Finds guard entities if only the guard item or only its owner expires. An item of a guard entity reserves a unique
    value for its owner: for example, an item with the key `EMAIL#{email}` reserves the email address of a user.

    Why is this bad? If only the owner expires, the value cannot be used again. If only the guard expires, another item
    can use the value while the owner still exists.

    Fix: set the same expiry for the guard item and its owner in one transaction. Guard items that `unique=` creates
    expire together with their owners.

    Source: developer guide, "Using time to live (TTL)": expiry is per item; AWS blog, "Simulating Amazon DynamoDB
    unique constraints using transactions".
    """
    for reservation in guards_of(subject):
        guarded, guard = (entity.expiry_attribute is not None for entity in (reservation.guarded, reservation.guard))
        if guarded == guard:
            continue
        permanent, expiring = (
            (reservation.guard, reservation.guarded) if guarded else (reservation.guarded, reservation.guard)
        )
        consequence = "a value stays taken permanently" if guarded else "a value can be taken while it is in use"
        yield guard_without_ttl.finding(
            reservation.guard.name,
            f"{consequence}: {expiring.name} expires by {expiring.schema.ttl} and {permanent.name} does not, but"
            f" {reservation.guard.name} keeps {', '.join(reservation.fields)} of {reservation.guarded.name} unique",
            "give both the same expiry in the same transaction, or declare unique=(...)",
            reservation.guard.place,
            reservation.guarded.place,
        )


@design_rule("KP716", "warning", "advice", of_absence=True)
def expiry_orphans_children(subject: Subject) -> Iterator[Finding]:
    """Expiry leaves orphaned items

    Finds child entities without an expiry whose owner expires, unless a consumer handles the owner's `Expired` event.
    An item is a child if it is in the owner's partition, and its key contains all key fields of the owner and at least
    one more field. If it is in another partition, it is a child only if the owner's key has two or more fields, or if
    the only field of that key is named after the owner (`question_id` for a Question). For children in another
    partition, the severity is advice, because the fields could refer to another entity.

    Why is this bad? DynamoDB deletes only the expired item. The answers to a question or the lines of an order remain,
    are billed, and are read as if the question or order still existed.

    Fix: give the children an expiry too, or delete the children when the stream reports that their owner expired. An
    optional expiry field is sufficient if it is set whenever the owner has an expiry.

    Source: developer guide, "Using time to live (TTL)": items expire individually.
    """
    entities = [entity for _, entity in subject.entities]
    consumed = entities_with_consumer(subject, "expired")
    for owner in entities:
        if not always_expires(owner) or owner.name in consumed or not owner.key.fields:
            continue
        for part in entities:
            if part is not owner and not may_expire(part) and belongs_to(part, owner):
                yield expiry_orphans_children.finding(
                    part.name,
                    f"{part.name} items become orphaned when their {owner.name} expires by {owner.schema.ttl}:"
                    f" they belong to it by {', '.join(owner.key.fields)} and do not expire",
                    f"give {part.name} an expiry too, or handle Expired[{owner.name}] in a consumer and delete them",
                    part.place,
                    owner.place,
                    severity="warning" if share_partition(part, owner) else "advice",
                )
