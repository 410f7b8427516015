"""Rules for the encoding of values in keys: separators, order and reversibility."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from uuid import UUID

from keyplan.check.field_names import (
    is_identifier,
    is_identifier_name,
    is_time_name,
    is_time_ordered_id,
    kind_of,
    words_of,
)
from keyplan.check.finding import Finding, Severity
from keyplan.check.key_overlap import as_template, common_key
from keyplan.check.rule import design_rule
from keyplan.check.sort_order import order_of
from keyplan.check.subject import Subject
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.encodings import PERIODS_S
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.placeholders import BoundPlaceholder, Text
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index


@design_rule("KP205", "error", "warning", "advice")
def delimiter_in_value(subject: Subject) -> Iterator[Finding]:
    """Key value can contain its separator

    Finds fields in key templates whose values can contain the separator that follows them in the template. The severity
    is warning for text and advice for identifiers. The severity is error if another field follows without a separator.
    All such fields are reported in one finding.

    Why is this bad? With the template `CATEGORY#{category}#{task_id}`, a task in the category "a#b" would be returned
    by a query with `begins_with CATEGORY#a#`, and its key would be parsed as another category. keyplan therefore
    rejects writes of such values. Without a separator between two fields, writes succeed, but two different pairs of
    values can have the same key.

    Fix: restrict the values (`Field(pattern=r"^[a-z0-9-]+$")`, a `Literal` or a UUID), or escape them:
    `{category:quote}`.

    Source: developer guide, "Best practices for using sort keys to organize data" (composite sort keys).
    """
    for _, entity in subject.entities:
        reported: set[tuple[str, bool]] = set()
        for bound in (entity.key, *entity.indexes, *(rule.key for rule in entity.sentinels)):
            for part in bound.attributes:
                for name, delimiter in part.template.delimiter_risks() if part.template is not None else ():
                    if (name, bool(delimiter)) not in reported:
                        reported.add((name, bool(delimiter)))
                        assert part.template is not None, "it has risks"
                        yield _delimiter_finding(entity, bound, part.template, name, delimiter)


def _delimiter_finding(
    entity: EntitySpec, bound: BoundKey, template: BoundTemplate, name: str, delimiter: str
) -> Finding:
    place = bound.place.at(f"{{{name}") if f"{{{name}" in template.text else bound.place
    if not delimiter:
        return delimiter_in_value.finding(
            entity.name,
            f"two different pairs of values have the same key: nothing in {template.text} separates {name}"
            " from what follows",
            f"write a separator after {{{name}}}, or give it a fixed width",
            place,
            entity.place,
        )
    severity: Severity = "advice" if is_identifier(entity.fields[name]) else "warning"
    return delimiter_in_value.finding(
        entity.name,
        f"writes of {entity.name} fail if {name} contains {delimiter!r}, which follows it in {template.text}",
        f"restrict it with Field(pattern=...), or escape it: {{{name}:quote}}",
        place,
        entity.place,
        severity=severity,
        item=f"{entity.name}.{name}",
    )


_RANK_NAME = re.compile(r"(^|_)(priority|prio|severity|urgency|importance|level|rank|size|grade|tier)$")


@design_rule("KP206", "error", "warning", "advice")
def sort_order_not_preserved(subject: Subject) -> Iterator[Finding]:
    """Key does not sort in the order of its values

    Finds range conditions on keys whose text does not sort in the order of the values (error). Also finds queries whose
    results are sorted by numbers without padding (warning), and queries whose results are sorted alphabetically by a
    field with a name such as priority or level (advice). KP311 checks an order that a pattern declares with
    `ordered_by`.

    Why is this bad? DynamoDB compares keys as bytes. Numbers without padding sort as 1, 10, 9. Timestamps with UTC
    offsets or varying precision do not sort by time. Words sort alphabetically: high, low, medium. A range condition
    therefore returns some items outside the range and omits some items within it.

    Fix: use placeholders that keep the order: `{points:010d}` for numbers, `{due_at:utc_ms}` for timestamps,
    `{priority:rank(urgent,high,low)}` for words.

    Source: developer guide, "Best practices for using sort keys to organize data" and "Supported data types and naming
    rules" (order of Strings).
    """
    yield from subject.errors_of(sort_order_not_preserved.code)
    faulty = {finding.subject for finding in subject.errors_of(sort_order_not_preserved.code)}
    for _, pattern, plan in subject.patterns:
        placeholder = _ordering_placeholder(plan) if plan.operation == "Query" and pattern.name not in faulty else None
        if placeholder is None or plan.select == "count" or pattern.facts.ordered_by:
            continue
        if (
            placeholder.field.type is int
            and placeholder.spec == ""
            and placeholder.field.choices is None
            and not is_identifier_name(placeholder.name)
        ):
            severity: Severity = "warning"
            order = f"order of {placeholder.name} as text, 10 before 9: {{{placeholder.name}}} is not padded"
            fix = f"write {{{placeholder.name}:010d}}, with as many digits as it can have"
        elif _is_rank(placeholder) and not _is_sorted(texts := _choice_texts(placeholder)):
            severity = "advice"
            order = f"alphabetical order of {placeholder.name}: {', '.join(sorted(texts))}"
            fix = f"write {{{placeholder.name}:rank({','.join(texts)})}} in the intended order"
        else:
            continue
        yield sort_order_not_preserved.finding(
            pattern.name,
            f"{pattern.name} returns items in the {order}",
            fix,
            pattern.place,
            plan.entity.place,
            severity=severity,
        )


def _is_rank(placeholder: BoundPlaceholder) -> bool:
    return placeholder.spec == "" and _RANK_NAME.search(words_of(placeholder.name)) is not None


def _choice_texts(placeholder: BoundPlaceholder) -> list[str]:
    return [str(choice) for choice in placeholder.field.stored_choices]


def _is_sorted(texts: list[str]) -> bool:
    """Return True if the strings are in ascending or in descending order."""
    return sorted(texts) in (texts, texts[::-1])


def _ordering_placeholder(plan: Plan) -> BoundPlaceholder | None:
    """Return the placeholder that determines the order of results.

    Return None if the sort key does not consist of one template, the pattern returns several entities, or the key
    condition specifies all placeholders.
    """
    bound = plan.entity.key_in(plan.index)
    if bound is None or plan.key is None or len(bound.sort) != 1 or len(plan.entities) > 1:
        return None
    template = bound.sort[0].template
    fields = {name for condition in plan.key.sort for name in condition.low.sources}
    return (
        next((placeholder for placeholder in template.placeholders if placeholder.name not in fields), None)
        if template is not None
        else None
    )


_TIME_ENCODINGS = frozenset({"utc_s", "utc_ms", "utc_us", "epoch_s", "epoch_ms", *PERIODS_S})


@design_rule("KP207", "warning")
def mixed_key_encodings(subject: Subject) -> Iterator[Finding]:
    """Entities encode the same value differently in an index

    Finds pairs of entities that can share a partition of a table or index, if their sort keys start with the same text
    and continue with different encodings, such as `utc_ms` and `epoch_s`, or a padded and an unpadded number.

    Why is this bad? A query returns the items of both entities in the order of their keys. With different encodings,
    all items of one entity can come before all items of the other, regardless of the values. A range condition selects
    the intended items only for the entity whose encoding its bounds use.

    Fix: use the same format (the part after the colon) for the same value in all entities of the index.

    Source: developer guide, "Best practices for using sort keys to organize data".
    """
    for table in subject.tables:
        for index in (None, *table.schema.indexes):
            for (first, first_key), (other, other_key) in combinations(_keys_in(table, index), 2):
                yield from _differing_sort_keys(first, first_key, other, other_key, table.schema.label_of(index))


def _keys_in(table: Table, index: Index | None) -> list[tuple[EntitySpec, BoundKey]]:
    return [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]


def _differing_sort_keys(
    first: EntitySpec, first_key: BoundKey, other: EntitySpec, other_key: BoundKey, key_owner: str
) -> Iterator[Finding]:
    if common_key(first_key.partition, other_key.partition) is None:
        return
    for part, other_part in zip(first_key.sort, other_key.sort, strict=True):
        first_template, other_template = as_template(part), as_template(other_part)
        pair = (
            _differing_encodings(first_template, other_template)
            if first_template is not None and other_template is not None
            else None
        )
        if pair is not None:
            yield mixed_key_encodings.finding(
                other.name,
                f"a query of {key_owner} sorts {first.name} and {other.name} separately: {part.attribute} encodes"
                f" {pair[0].name} as {pair[0].spec or 'plain text'} in {part.text} and as"
                f" {pair[1].spec or 'plain text'} in {other_part.text}",
                f"write {{{pair[1].name}{':' + pair[0].spec if pair[0].spec else ''}}} in both",
                other_key.place,
                first_key.place,
            )


def _differing_encodings(left: BoundTemplate, right: BoundTemplate) -> tuple[BoundPlaceholder, BoundPlaceholder] | None:
    """Return the first pair of placeholders that are at the same position in two templates, and that encode the same
    field or two time fields in different formats. Return None if no such pair exists.
    """
    for first, second in zip(left.parts, right.parts, strict=False):
        if isinstance(first, Text) or isinstance(second, Text):
            if first != second:
                return None
            continue
        names = first.encoding.name, second.encoding.name
        are_times = set(names) <= _TIME_ENCODINGS
        if names[0] != names[1] and (are_times or first.name == second.name):
            return first, second
        if first.field.type is not second.field.type:
            return None
    return None


@design_rule("KP208", "advice")
def timestamp_as_text(subject: Subject) -> Iterator[Finding]:
    """Timestamp is stored as free text

    Finds `str` fields without a `pattern` in sort keys, if `Attribute(kind="timestamp")` or the name of the field
    indicates a timestamp. All such fields are reported in one finding.

    Why is this bad? Text is sorted by its characters, so timestamps are sorted by time only if all of them use UTC, the
    same number of digits and the same suffix. `12:00:00.500Z` sorts before `12:00:00Z`, and timestamps with `+02:00`
    sort by local time. Python's `isoformat()` omits the microseconds if they are 0.

    Fix: declare the field as `datetime` (stored as UTC with six digits) or `date`, use a placeholder such as
    `{created_at:utc_ms}`, or restrict the text with `Field(pattern=...)`.

    Source: developer guide, "Supported data types and naming rules" (String as date type).
    """
    for _, entity in subject.entities:
        reported: set[str] = set()
        for bound in (entity.key, *entity.indexes):
            key_owner = entity.schema.label_of(bound.index)
            for name in (name for part in bound.sort for name in part.fields):
                field = entity.fields[name].declared
                is_free_text = field.type is str and field.choices is None and field.pattern is None
                is_time = kind_of(entity.fields[name]) == "timestamp" or is_time_name(name)
                if name in reported or not is_free_text or not is_time:
                    continue
                reported.add(name)
                yield timestamp_as_text.finding(
                    entity.name,
                    f"items of {key_owner} do not sort by time if {entity.name}.{name} has several forms (.500Z and Z,"
                    " offsets): it is text without a pattern",
                    f"declare {name} as datetime or date, or restrict its form with Field(pattern=...)",
                    entity.place.at(f"{name}: "),
                    bound.place,
                    item=f"{entity.name}.{name}",
                )


@design_rule("KP212", "warning", "advice")
def irreversible_key(subject: Subject) -> Iterator[Finding]:
    """Key cannot restore its fields

    Finds entities with `store_key_fields=False` whose key contains a rounded field value (warning) or cannot be parsed
    (advice).

    Why is this bad? With this option, key fields are not stored as attributes but parsed from the key. `{at:utc_s}`
    contains only whole seconds, so the value that is read differs from the value that was written. If a key cannot be
    parsed (`{name:lower}`, `{id:shard(8)}`), its fields are stored anyway, and the option has no effect.

    Fix: use a placeholder that contains the exact value (`{at:utc_us}`), or store the fields:
    `store_key_fields=["at"]`.

    Source: design language of keyplan (not a limit of DynamoDB).
    """
    for _, entity in subject.entities:
        if entity.store_key_fields is True:
            continue
        for part in entity.key.attributes:
            if part.template is not None and not entity.stored_key_fields.issuperset(part.template.fields):
                yield from _irreversible(entity, part, part.template)


def _irreversible(entity: EntitySpec, part: BoundKeyAttribute, template: BoundTemplate) -> Iterator[Finding]:
    if not template.reversible:
        yield irreversible_key.finding(
            entity.name,
            f"store_key_fields={_declared_store_key_fields(entity)} saves nothing: {part.attribute} of"
            f" {entity.name} ({template.text})"
            " cannot be parsed, so its fields are stored",
            "use placeholders that can be read back, or remove the option",
            entity.key.place.at(template.text),
            entity.place,
            severity="advice",
        )
        return
    for placeholder in template.placeholders:
        is_stored = placeholder.name in entity.stored_key_fields
        if placeholder.encoding.rounds_to is not None and not is_stored and not _is_stored_unit(entity, placeholder):
            yield irreversible_key.finding(
                entity.name,
                f"reads return another {entity.name}.{placeholder.name} than was written: the key holds it only as"
                f" {{{placeholder.name}:{placeholder.spec}}}, rounded to the {placeholder.encoding.rounds_to}",
                f'write {{{placeholder.name}:utc_us}}, or store the field with store_key_fields=["{placeholder.name}"]',
                entity.key.place.at(template.text),
                entity.place,
            )


def _declared_store_key_fields(entity: EntitySpec) -> str:
    """Return the argument `store_key_fields=` of an entity's declaration as source code."""
    return repr(list(entity.store_key_fields)) if isinstance(entity.store_key_fields, tuple) else "False"


def _is_stored_unit(entity: EntitySpec, placeholder: BoundPlaceholder) -> bool:
    """Return True if the declared precision of a field, such as `stored="iso_ms"`, is the precision of the
    placeholder.
    """
    field = entity.fields[placeholder.name].stored
    return field is not None and field.rpartition("_")[2] == placeholder.spec.rpartition("_")[2]


_PLAIN_SPECS = frozenset({"", "utc_us", "date"})


@design_rule("KP213", "advice")
def synthetic_index_key(subject: Subject) -> Iterator[Finding]:
    """Index key could use separate attributes

    Finds templates of global index keys that only concatenate fields with separators, in an index with one entity.

    Why is this bad? Values in a concatenated key must be escaped, each update of a field must also rewrite the key, and
    items become larger. A global index accepts up to four partition key attributes and four sort key attributes:
    `sk=("status", "due_at")` can replace `GSI1SK = "{status}#{due_at:utc_ms}"`. Emulators and older libraries do not
    support such keys yet. keyplan's own engine supports them.

    Fix: use the fields themselves as key attributes of the index. A query specifies values for the leading attributes,
    and optionally a range for the next attribute.

    Source: developer guide, "Multi-attribute keys" of global secondary indexes (November 2025).
    """
    for table, index in subject.indexes:
        keys = [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]
        if len(keys) != 1 or index.kind != "GSI":
            continue
        entity, bound = keys[0]
        if bound.only_if is None and _only_joins_fields(entity, bound):
            arguments = ", ".join(
                f"{role}=({', '.join(repr(name) for part in parts for name in part.fields)},)"
                for role, parts in (("pk", bound.partition), ("sk", bound.sort))
                if parts
            )
            yield synthetic_index_key.finding(
                index.name,
                f"updates must keep the key of index {index.name} in sync although it only joins fields of"
                f" {entity.name}: {' and '.join(part.text for part in bound.attributes)}",
                f"let the index read the fields: GSI({index.name!r}, {arguments})",
                index.place,
                bound.place,
            )


def _only_joins_fields(entity: EntitySpec, bound: BoundKey) -> bool:
    parts = [part for part in bound.attributes if part.template is not None]
    fields = [name for part in bound.attributes for name in part.fields]
    return (
        any(len(part.fields) > 1 for part in parts)
        and all(part.fields and len(part.fields) <= _KEY_ATTRIBUTES for part in bound.attributes)
        and all(_has_plain_placeholders(part) for part in parts)
        and len(fields) == len(set(fields))
        and entity.store_key_fields is True
    )


_KEY_ATTRIBUTES = 4


def _has_plain_placeholders(part: BoundKeyAttribute) -> bool:
    assert part.template is not None, "the caller looked"
    return all(placeholder.spec in _PLAIN_SPECS for placeholder in part.template.placeholders)


@design_rule("KP214", "warning", "advice")
def order_by_random_id(subject: Subject) -> Iterator[Finding]:
    """Newest-first query sorts by random IDs

    Finds queries with `descending=True` whose results are sorted primarily by a UUID (warning), or by a `str` field
    that appears to be an ID because of its name (advice).

    Why is this bad? Descending order returns the highest sort key first. If sort keys start with random IDs, the
    highest sort key does not belong to the newest item, and the first page contains arbitrary items.

    Fix: put the timestamp before the ID (`BOOKING#{created_at:utc_ms}#{booking_id}`), or use IDs that increase with
    time and declare them: pydantic's `UUID7`, a pattern with the letters of a ULID, or `ordered_by="booking_id"`.

    Source: developer guide, "Query" (results are sorted by the sort key; ScanIndexForward).
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or not plan.descending or pattern.facts.ordered_by or plan.select == "count":
            continue
        for entity in plan.entities:
            first = next(iter(order_of(plan, entity)), None)
            field = entity.fields.get(first.field) if first is not None else None
            if field is None or is_time_ordered_id(field):
                continue
            if not (field.annotation is UUID or (field.annotation is str and is_identifier_name(field.name))):
                continue
            yield order_by_random_id.finding(
                pattern.name,
                f"{pattern.name} does not return the newest items first: the sort key of {entity.name} orders by"
                f" {field.name}, an ID",
                f"put a timestamp before {field.name} in the sort key, or declare ordered_by={field.name!r}"
                " if IDs increase with time",
                pattern.place,
                entity.place,
                severity="warning" if field.annotation is UUID else "advice",
            )
