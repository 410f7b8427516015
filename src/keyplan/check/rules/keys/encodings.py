"""Rules: encodings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from uuid import UUID

from keyplan.check.field_names import is_identifier_name, is_time_name, is_time_ordered_id, words_of
from keyplan.check.finding import Finding, Severity
from keyplan.check.key_overlap import as_template
from keyplan.check.rule import design_rule
from keyplan.check.sort_order import order_of
from keyplan.check.subject import Subject
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.encodings import PERIODS_S
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.holes import BoundHole, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index


@design_rule("KP205", "error", "warning", "advice")
def delimiter_in_value(subject: Subject) -> Iterator[Finding]:
    """A value in a key may hold the separator that follows it

    In `CATEGORY#{category}#{task_id}` a category "a#b" makes keys that `begins_with CATEGORY#a#` finds, and that
    can be read back as another category. Keyplan never writes such a key: it refuses the value, so that what the
    declaration allows fails when it is written. Where two fields stand side by side with nothing between them,
    nothing can be refused, and two different pairs of values make one key: that is an error.

    Declare what the value may hold (`Field(pattern=r"^[a-z0-9-]+$")`, a Literal, UUID), or let the template escape
    it: `{category:quote}`. For identifiers that programs make this is advice.

    Source: developer guide, "Best practices for using sort keys to organize data", composite sort keys.
    """
    for _, entity in subject.entities:
        told: set[tuple[str, bool]] = set()
        for bound in (entity.key, *entity.indexes, *(rule.key for rule in entity.sentinels)):
            for part in bound.attributes:
                for name, delimiter in part.template.delimiter_risks() if part.template is not None else ():
                    if (name, bool(delimiter)) not in told:
                        told.add((name, bool(delimiter)))
                        assert part.template is not None, "it has risks"
                        yield _delimiter_finding(entity, bound, part.template, name, delimiter)


def _delimiter_finding(
    entity: EntitySpec, bound: BoundKey, template: BoundTemplate, name: str, delimiter: str
) -> Finding:
    place = bound.place.at(f"{{{name}") if f"{{{name}" in template.text else bound.place
    if not delimiter:
        return delimiter_in_value.finding(
            entity.name,
            f"nothing in {template.text} tells where {name} ends: two different pairs of values make one key",
            f"write a separator after {{{name}}}, or give it a fixed width",
            place,
            entity.place,
        )
    severity: Severity = "advice" if is_identifier_name(name) else "warning"
    return delimiter_in_value.finding(
        entity.name,
        f"{entity.name}.{name} may hold {delimiter!r}, which follows it in {template.text}: such values are refused"
        " when they are written",
        f"declare what it holds, Field(pattern=...), or escape it: {{{name}:quote}}",
        place,
        entity.place,
        severity=severity,
    )


_RANK_NAME = re.compile(r"(^|_)(priority|prio|severity|urgency|importance|level|rank|size|grade|tier)$")


@design_rule("KP206", "error", "warning")
def sort_order_not_preserved(subject: Subject) -> Iterator[Finding]:
    """A key's text sorts unlike the values it is made of

    Keys are compared as bytes. Numbers without padding sort 1, 10, 9; moments with an offset or of changing precision
    sort by their spelling; high, low, medium are in the order of the alphabet. A range over such a text leaves values
    out and takes others in, and a list in key order is not in the order of the values.

    Write holes that keep the order: `{points:010d}` for numbers, `{due_at:utc_ms}` for moments,
    `{priority:rank(urgent,high,low)}` for words with an order of their own.

    Found are ranges, and lists in the order of unpadded numbers or of words that their field's name calls a priority,
    level or the like, unless the pattern's docstring speaks of the alphabet; an order that a pattern declares
    (`ordered_by`) is KP311's.

    Source: developer guide, "Best practices for using sort keys to organize data"; naming rules, String order.
    """
    yield from subject.errors_of(sort_order_not_preserved.code)
    faulty = {finding.subject for finding in subject.errors_of(sort_order_not_preserved.code)}
    for _, pattern, plan in subject.patterns:
        hole = _ordering_hole(plan) if plan.operation == "Query" and pattern.name not in faulty else None
        if hole is None or plan.select == "count" or pattern.facts.ordered_by:
            continue
        if (
            hole.field.type is int
            and hole.spec == ""
            and hole.field.choices is None
            and not is_identifier_name(hole.name)
        ):
            said = f"order of {hole.name} as text, 10 before 9: {{{hole.name}}} is not padded"
            fix = f"write {{{hole.name}:010d}}, with as many digits as it can have"
        elif _is_rank(hole) and not _is_sorted(texts := _choice_texts(hole)) and "alphabet" not in pattern.doc:
            said = f"order of {hole.name} as text: {', '.join(sorted(texts))}"
            fix = f"write {{{hole.name}:rank({','.join(texts)})}}, in the order that is meant"
        else:
            continue
        yield sort_order_not_preserved.finding(
            pattern.name,
            f"{pattern.name} returns items in the {said}",
            fix,
            pattern.place,
            plan.entity.place,
            severity="warning",
        )


def _is_rank(hole: BoundHole) -> bool:
    return hole.spec == "" and _RANK_NAME.search(words_of(hole.name)) is not None


def _choice_texts(hole: BoundHole) -> list[str]:
    return [str(choice) for choice in hole.field.stored_choices]


def _is_sorted(texts: list[str]) -> bool:
    """Whether texts sort as they are declared, upwards or downwards."""
    return sorted(texts) in (texts, texts[::-1])


def _ordering_hole(plan: Plan) -> BoundHole | None:
    """The hole that results differ in first, where one template makes the sort key."""
    bound = plan.entity.key_in(plan.index)
    if bound is None or plan.key is None or len(bound.sort) != 1 or len(plan.entities) > 1:
        return None
    template = bound.sort[0].template
    given = {name for one in plan.key.sort for name in one.low.sources}
    return next((hole for hole in template.holes if hole.name not in given), None) if template is not None else None


_TIME_ENCODINGS = frozenset({"utc_s", "utc_ms", "utc_us", "epoch_s", "epoch_ms", *PERIODS_S})


@design_rule("KP207", "warning")
def mixed_key_encodings(subject: Subject) -> Iterator[Finding]:
    """Entities spell one thing differently at the same place of an index

    Where two entities share an index and their keys begin alike, a query reads both in one order. If one writes
    moments as `utc_ms` and the other as `epoch_s`, or one pads a number and the other does not, all items of the
    one come before all of the other, and a range finds only those that are spelled as its bounds are.

    Use one spec for the same thing in all entities of an index.

    Source: developer guide, "Best practices for using sort keys to organize data".
    """
    for table in subject.tables:
        for index in (None, *table.schema.indexes):
            for (one, ours), (other, theirs) in combinations(_keys_in(table, index), 2):
                yield from _mixed(one, ours, other, theirs, table.schema.where(index))


def _keys_in(table: Table, index: Index | None) -> list[tuple[EntitySpec, BoundKey]]:
    return [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]


def _mixed(one: EntitySpec, ours: BoundKey, other: EntitySpec, theirs: BoundKey, where: str) -> Iterator[Finding]:
    for part, its in zip(ours.attributes, theirs.attributes, strict=True):
        left, right = as_template(part), as_template(its)
        pair = _differing_encodings(left, right) if left is not None and right is not None else None
        if pair is not None:
            yield mixed_key_encodings.finding(
                other.name,
                f"{part.attribute} of {where} holds {one.name} as {part.text} and {other.name} as {its.text}, which"
                f" begin alike: {pair[0].name} is spelled {pair[0].spec or 'as it is'} by one and"
                f" {pair[1].spec or 'as it is'} by the other",
                f"write {{{pair[1].name}{':' + pair[0].spec if pair[0].spec else ''}}} in both",
                theirs.place,
                ours.place,
            )


def _differing_encodings(left: BoundTemplate, right: BoundTemplate) -> tuple[BoundHole, BoundHole] | None:
    """The first holes at one place that spell differently what may be the same."""
    for one, other in zip(left.parts, right.parts, strict=False):
        if isinstance(one, Text) or isinstance(other, Text):
            if one != other:
                return None
            continue
        names = one.encoding.name, other.encoding.name
        both_times = set(names) <= _TIME_ENCODINGS
        if names[0] != names[1] and (both_times or one.name == other.name):
            return one, other
        if one.field.type is not other.field.type:
            return None
    return None


@design_rule("KP208", "warning")
def timestamp_as_text(subject: Subject) -> Iterator[Finding]:
    """A moment is kept as text of no fixed form

    Text sorts by its characters, so moments sort right only in one form: UTC, always the same number of digits,
    always the same ending. Mixed forms go wrong quietly: `12:00:00.500Z` sorts before `12:00:00Z`, and
    `+02:00` sorts by local time. Python's own `isoformat()` leaves out zero microseconds. A str field that nothing
    binds to one form will hold several as soon as two programs write it.

    Declare it as `datetime` (stored as UTC with six digits) or `date`, use a template hole such as
    `{created_at:utc_ms}`, or bind the str with `Field(pattern=...)`.

    Source: developer guide, "Supported data types and naming rules", String as date type.
    """
    for _, entity in subject.entities:
        told: set[str] = set()
        for bound in (entity.key, *entity.indexes):
            where = entity.schema.where(bound.index)
            for name in (name for part in bound.sort for name in part.fields):
                field = entity.fields[name].declared
                free = field.type is str and field.choices is None and field.pattern is None
                if name in told or not free or not is_time_name(name):
                    continue
                told.add(name)
                yield timestamp_as_text.finding(
                    entity.name,
                    f"{entity.name}.{name} is any text, and the sort key of {where} orders by it: moments of different"
                    " forms (.500Z and Z, offsets, fewer digits) do not sort by time",
                    f"declare {name} as datetime or date, or bind its form with Field(pattern=...)",
                    entity.place.at(f"{name}: "),
                    bound.place,
                )


@design_rule("KP212", "warning", "advice")
def irreversible_key(subject: Subject) -> Iterator[Finding]:
    """A key does not give its fields back

    With `store_key_fields=False` fields that the key holds are not stored a second time; they are read back from
    the key's text. That works only as far as the text says everything: `{at:utc_s}` gives back whole seconds of a
    moment that had more, so the value changes between write and read. Where a key cannot be read back at all
    (`{name:lower}`, `{id:shard(8)}`), the fields stay stored as they are, and the option saves nothing.

    Use a hole that keeps the value (`{at:utc_us}`), or store the fields.

    Source: keyplan's own rule, about its own encodings.
    """
    for _, entity in subject.entities:
        if entity.store_key_fields:
            continue
        for part in entity.key.attributes:
            if part.template is not None:
                yield from _irreversible(entity, part, part.template)


def _irreversible(entity: EntitySpec, part: BoundKeyAttribute, template: BoundTemplate) -> Iterator[Finding]:
    if not template.reversible:
        yield irreversible_key.finding(
            entity.name,
            f"{part.attribute} of {entity.name}, {template.text}, cannot be read back, so its fields are stored"
            " although store_key_fields is False",
            "use holes that can be read back, or leave the option out",
            entity.key.place.at(template.text),
            entity.place,
            severity="advice",
        )
        return
    for hole in template.holes:
        if hole.encoding.rounds_to is not None:
            yield irreversible_key.finding(
                entity.name,
                f"{entity.name}.{hole.name} is stored in the key only, as {{{hole.name}:{hole.spec}}}, which rounds it"
                f" to the {hole.encoding.rounds_to}: what is read is not what was written",
                f"write {{{hole.name}:utc_us}}, or store the field with store_key_fields=True",
                entity.key.place.at(template.text),
                entity.place,
            )


_PLAIN_SPECS = frozenset({"", "utc_us", "date"})


@design_rule("KP213", "advice")
def synthetic_index_key(subject: Subject) -> Iterator[Finding]:
    """A made-up index key could be the fields themselves

    Global indexes take up to four attributes for each part of their key, so `GSI1SK = "{status}#{due_at:utc_ms}"`
    can be `sk=("status", "due_at")`: the index reads the fields, nothing has to be joined, escaped, or kept in step
    by updates, and the entry is smaller. A query then gives equal values for the first attributes and one range.

    That holds where one entity is in the index, always, and its key adds nothing but separators. Mind that many
    emulators and older libraries do not know multi-attribute keys yet; keyplan's engine does.

    Source: developer guide, "Multi-attribute keys" of global secondary indexes (November 2025).
    """
    for table, index in subject.indexes:
        keys = [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]
        if len(keys) != 1 or index.kind != "GSI":
            continue
        entity, bound = keys[0]
        if bound.when is None and _only_joins_fields(entity, bound):
            written = ", ".join(
                f"{role}=({', '.join(repr(name) for part in parts for name in part.fields)},)"
                for role, parts in (("pk", bound.partition), ("sk", bound.sort))
                if parts
            )
            yield synthetic_index_key.finding(
                index.name,
                f"only {entity.name} is in index {index.name}, and its key only joins fields:"
                f" {' and '.join(part.text for part in bound.attributes)}",
                f"let the index read the fields: GSI({index.name!r}, {written})",
                index.place,
                bound.place,
            )


def _only_joins_fields(entity: EntitySpec, bound: BoundKey) -> bool:
    parts = [part for part in bound.attributes if part.template is not None]
    fields = [name for part in bound.attributes for name in part.fields]
    return (
        any(len(part.fields) > 1 for part in parts)
        and all(part.fields and len(part.fields) <= _KEY_ATTRIBUTES for part in bound.attributes)
        and all(_has_plain_holes(part) for part in parts)
        and len(fields) == len(set(fields))
        and entity.store_key_fields
    )


_KEY_ATTRIBUTES = 4


def _has_plain_holes(part: BoundKeyAttribute) -> bool:
    assert part.template is not None, "the caller looked"
    return all(hole.spec in _PLAIN_SPECS for hole in part.template.holes)


@design_rule("KP214", "warning")
def order_by_random_id(subject: Subject) -> Iterator[Finding]:
    """Newest first is asked of a key that ends in a random id

    `descending=True` gives the highest sort key first. Where the first part of the key that differs between the
    results is a UUID or another random id, the highest is not the newest: the order is that of random digits, and
    the first page is any page.

    Put the moment before the id (`BOOKING#{created_at:utc_ms}#{booking_id}`), or use ids that rise with time, and say
    so by the type (pydantic's `UUID7`, a pattern of the letters of a ULID) or by `ordered_by="booking_id"`.

    Source: developer guide, "Query" (results are in the order of the sort key), ScanIndexForward.
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or not plan.descending or pattern.facts.ordered_by or plan.select == "count":
            continue
        for entity in plan.entities:
            first = next(iter(order_of(plan, entity)), None)
            stored = entity.fields.get(first.field) if first is not None else None
            if stored is None or is_time_ordered_id(stored):
                continue
            if not (stored.annotation is UUID or (stored.annotation is str and is_identifier_name(stored.name))):
                continue
            yield order_by_random_id.finding(
                pattern.name,
                f"{pattern.name} asks for the highest first, and the sort key of {entity.name} orders by {stored.name},"
                " an id: unless ids rise with time, that is no order",
                f"put a moment before {stored.name} in the sort key, or say ordered_by={stored.name!r} where ids rise",
                pattern.place,
                entity.place,
            )
