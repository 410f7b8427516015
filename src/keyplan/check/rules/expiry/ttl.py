"""Rules: ttl."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from keyplan.check.field_names import words_of
from keyplan.check.finding import Finding
from keyplan.check.relations import always_expires, belongs, entities_with_consumer, guards_of, may_expire
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.design.declaring.tables import Table
from keyplan.design.errors import Place
from keyplan.design.fields.stored import StoredField
from keyplan.design.schema import TTL

ttl_not_a_number = fault_rule(
    "KP701",
    "ttl-not-a-number",
    """An expiry that is not a Number

    The service deletes an item when the attribute named for expiry is a Number of seconds since 1970 that has passed.
    Any other type is ignored without a word: a table that stores `expires_at` as ISO 8601 text keeps everything for
    ever.

    Declare the field as `datetime`, which is stored as seconds when it is the table's expiry, or as `int` seconds.

    Source: developer guide, "Using time to live (TTL)": the attribute must be a Number of epoch seconds.
    """,
)


_MILLISECOND_NAME = re.compile(r"_(ms|millis|milliseconds)$")
_TOO_LARGE_FOR_SECONDS = 10**11
"""As seconds a moment of the year 5138; as milliseconds one of 1973."""


@design_rule("KP702", "error")
def ttl_in_milliseconds(subject: Subject) -> Iterator[Finding]:
    """An expiry in milliseconds

    The expiry is compared as seconds. A value in milliseconds lies some 50,000 years ahead: nothing ever expires, and
    nothing says so.

    Store the moment in seconds: a `datetime` field of the table's expiry is, unless it is marked
    `Attribute(stored="epoch_ms")`. Found are that mark, names such as `until_ms`, and numbers whose default or least
    value is no moment in seconds.

    Source: developer guide, "Using time to live (TTL)": seconds, not milliseconds.
    """
    for table, entity in subject.entities:
        for field in entity.fields.values():
            if field.attribute != table.schema.ttl or not _millisecond_evidence(field):
                continue
            yield ttl_in_milliseconds.finding(
                entity.name,
                f"{entity.name}.{field.name} is the expiry of table {table.name} and is stored in milliseconds: read as"
                " seconds, that is tens of thousands of years ahead, and nothing expires",
                "store seconds: declare it as datetime without stored=, or as int seconds",
                entity.place.at(f"{field.name}:"),
                table.schema.place.at("ttl="),
            )


def _millisecond_evidence(field: StoredField) -> bool:
    if field.stored == "epoch_ms":
        return True
    if field.type_code != "N" or field.stored is not None:
        return False
    least = field.declared.minimum
    told = [value for value in (least, field.info.default) if isinstance(value, int)]
    return _MILLISECOND_NAME.search(words_of(field.name)) is not None or any(
        value >= _TOO_LARGE_FOR_SECONDS for value in told
    )


multiple_ttl_attributes = fault_rule(
    "KP703",
    "multiple-ttl-attributes",
    """Several attributes for expiry in one table

    A table has one attribute for expiry. To use another one, expiry is switched off and on again, which takes up to
    an hour and changes what expires for every item. A design that names two, one for sessions and one for
    archived tasks, gets only one of them.

    Give every entity that expires the same attribute; each may compute it in its own way.

    Source: API reference, UpdateTimeToLive; developer guide, "Enable time to live (TTL)".
    """,
)


@design_rule("KP704", "warning")
def expired_items_read(subject: Subject) -> Iterator[Finding]:
    """A read that shows what has expired

    Expired items are deleted in the background, within a few days. Until then they come back from every read, count in
    every page, and can be updated. A pattern with `expired=True` hands them to the program as if nothing had
    happened: closed sessions, past offers, connections that are long gone.

    Leave `expired=True` out: items whose expiry has passed are then dropped from what is read. Keep it, and accept the
    finding, where the program means to see them, for example to clean up.

    Source: developer guide, "Working with expired items and time to live (TTL)".
    """
    for table, pattern, plan in subject.patterns:
        if not plan.reading or plan.expired != "keep":
            continue
        names = {ttl.attribute for ttl in table.schema.ttls}
        expiring = [
            (entity.name, field.attribute)
            for entity in plan.entities
            for field in entity.fields.values()
            if field.attribute in names
        ]
        if expiring:
            entity_name, attribute = expiring[0]
            yield expired_items_read.finding(
                pattern.name,
                f"{pattern.name} also reads each {entity_name} whose {attribute} has passed: the service"
                " deletes them up to some days later, and until then they look alive",
                "drop expired=True; accept this where the program wants to see them",
                pattern.place,
                table.schema.place.at("ttl="),
            )


@design_rule("KP705", "error")
def ttl_as_event(subject: Subject) -> Iterator[Finding]:
    """Something is meant to happen at expiry

    Expiry deletes an item, some time after its moment, up to days. It changes no field, sets no state, ends no session
    at the second, frees no quota at once. A design that says "expired questions become EXPIRED" or "the token is
    revoked by expiry" describes something that does not happen.

    Compare the expiry with the clock wherever it matters: reads drop expired items by themselves; put it into the
    condition of writes (`when(F.expires_at > now)`); derive a state such as "expired" from it when reading. Where a
    state must be stored, let a job set it.

    Found are tables whose `TTL(sets=...)` names fields, and reads with `expired=True` that decide something.

    Source: developer guide, "Using time to live (TTL)" and "Working with expired items".
    """
    for table in subject.tables:
        for ttl in table.schema.ttls:
            yield from _expected_changes(table, ttl)
    for table, pattern, plan in subject.patterns:
        expires = any(field.attribute == table.schema.ttl for field in plan.entity.fields.values())
        if plan.reading and plan.expired == "keep" and pattern.facts.decides and expires:
            yield ttl_as_event.finding(
                pattern.name,
                f"{pattern.name} decides about {pattern.facts.decides} by items that may have expired: the service"
                f" deletes them up to days after {table.schema.ttl}, so that what should be over still counts",
                "drop expired=True, and compare the expiry in the condition of the write that follows",
                pattern.place,
                table.schema.place.at("ttl="),
            )


def _expected_changes(table: Table, ttl: TTL) -> Iterator[Finding]:
    if ttl.sets:
        names = ", ".join(f"{name} = {value}" for name, value in ttl.sets.items())
        yield ttl_as_event.finding(
            table.name,
            f"expiry by {ttl.attribute} is expected to set {names} in table {table.name}: expiry deletes the item and"
            " changes nothing",
            f"derive it when reading, from {ttl.attribute} and the clock; or let a job set it, and keep the item longer"
            " by another moment for expiry",
            table.schema.place.at("ttl="),
        )


_LONG_PAST = datetime(2021, 11, 1, tzinfo=UTC)
"""Five years before these rules were written: a constant from before it is ignored now and ever after."""


@design_rule("KP706", "warning")
def ttl_too_old(subject: Subject) -> Iterator[Finding]:
    """An expiry that lies too far back

    A value more than five years in the past is ignored: it protects tables from being emptied by a wrong unit. An
    item whose expiry is set to 0 or 1 "so that it goes at once" therefore stays for ever. So does one whose expiry is
    a duration: 7,200 seconds are a moment of 1970.

    Set the expiry to now or to a moment ahead, or delete the item. Found are defaults and constants of updates that lie
    before November 2021, numbers whose greatest value is, and fields that are durations.

    Source: developer guide, "Using time to live (TTL)": items with a timestamp older than five years are not deleted.
    """
    for table, entity in subject.entities:
        for field in entity.fields.values():
            told = _past_value(field) if field.attribute == table.schema.ttl else None
            if told is not None:
                what = f"{entity.name}.{field.name} {told}"
                yield _ignored_expiry(what, entity.name, entity.place.at(f"{field.name}:"), table.schema.place)
    for table, pattern, plan in subject.patterns:
        for action in plan.actions:
            field = plan.entity.fields[action.path.field]
            if field.attribute == table.schema.ttl and action.name == "set" and _is_too_old(action.source):
                what = f"{pattern.name} sets {field.name} to {action.source!r}"
                yield _ignored_expiry(what, pattern.name, pattern.place, table.schema.place)


def _past_value(field: StoredField) -> str | None:
    """What is wrong with every value of a field, or with its default, if anything is."""
    default = field.info.default
    if field.annotation is timedelta:
        return "is a duration, which read as a moment lies near 1970"
    if _is_too_old(default):
        return f"is {default!r} by default"
    read = field.declared
    return f"is at most {read.maximum}" if read.type is int and _is_too_old(read.maximum) else None


def _is_too_old(value: object) -> bool:
    if isinstance(value, datetime):
        return value.astimezone(UTC) < _LONG_PAST
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool) and value < _LONG_PAST.timestamp()


def _ignored_expiry(what: str, subject: str, place: Place, table: Place) -> Finding:
    return ttl_too_old.finding(
        subject,
        f"{what}, more than five years ago: the service ignores such an expiry, and the item stays",
        "set it to the present moment, or delete the item",
        place,
        table.at("ttl="),
    )


@design_rule("KP714", "warning")
def guard_without_ttl(subject: Subject) -> Iterator[Finding]:
    """An item expires, and its guard stays

    An item such as `EMAIL#{email}` keeps a value from being used twice. If the item that it stands for expires and the
    guard does not, the value is taken for ever. If the guard expires first, the value can be taken while it is in use.

    Give both the same expiry in the same transaction. The sentinels of `unique=` expire with their items.

    Source: developer guide, "Using time to live (TTL)": expiry is per item; AWS blog, "Simulating Amazon DynamoDB
    unique constraints using transactions".
    """
    for pair in guards_of(subject):
        guarded, guard = (one.expiry_attribute is not None for one in (pair.guarded, pair.guard))
        if guarded == guard:
            continue
        stays, goes = (pair.guard, pair.guarded) if guarded else (pair.guarded, pair.guard)
        harm = "the value stays taken for ever" if guarded else "the value can be taken while it is in use"
        yield guard_without_ttl.finding(
            pair.guard.name,
            f"{goes.name} expires by {goes.schema.ttl}, and {stays.name} does not, although {pair.guard.name} keeps"
            f" {', '.join(pair.fields)} of {pair.guarded.name} unique: {harm}",
            "give both the same expiry in the same transaction, or declare unique=(...)",
            pair.guard.place,
            pair.guarded.place,
        )


@design_rule("KP716", "warning")
def expiry_orphans_children(subject: Subject) -> Iterator[Finding]:
    """An item expires, and what belongs to it stays

    Expiry deletes one item. It knows nothing of the answers to a question or the lines of an order that are stored
    under its key, in this table or another: they stay, are paid for, and are read as if they still belonged to
    something.

    Give them an expiry too, written with them, or delete them when the stream reports that their owner expired. An
    optional expiry counts: it is set where the owner expires.

    What belongs to an item has all fields of its key and more, and lies in its partition, or one of these fields is
    called after it (`question_id` of a Question). A presence and a profile that share a `user_id` are parts of a user
    both.

    Source: developer guide, "Using time to live (TTL)": expiry works on single items.
    """
    entities = [entity for _, entity in subject.entities]
    told = entities_with_consumer(subject, "expired")
    for owner in entities:
        if not always_expires(owner) or owner.name in told or not owner.key.fields:
            continue
        for part in entities:
            if part is not owner and not may_expire(part) and belongs(part, owner):
                yield expiry_orphans_children.finding(
                    part.name,
                    f"each {owner.name} expires by {owner.schema.ttl}, and each {part.name} belongs to one by"
                    f" {', '.join(owner.key.fields)} and has no expiry: it stays behind for ever",
                    f"give {part.name} an expiry too, or take Expired[{owner.name}] from the stream and delete them",
                    part.place,
                    owner.place,
                )
