"""Rules for the access path of a pattern: a key, an index or a scan."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from uuid import UUID

from keyplan import limits
from keyplan.check.field_names import has_time_ordered_type
from keyplan.check.finding import Finding, number, with_article
from keyplan.check.key_overlap import common_key, may_share_partition
from keyplan.check.relations import replaced_entities, steps_in
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.cost.prices import HOURS_PER_MONTH
from keyplan.cost.selectivity import partition_fields, share_in_index
from keyplan.cost.sizes import entry_size
from keyplan.design.conditions.conditions import equal_fields
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKey, BoundKeyAttribute
from keyplan.design.planning.plan import KeyValue, Plan
from keyplan.design.schema import Index


@design_rule("KP301", "error", "warning")
def no_matching_key(subject: Subject) -> Iterator[Finding]:
    """No key or index serves the pattern

    Finds patterns that specify a partition key without values for all its fields. Also finds entities that cannot be
    looked up by the fields in `found_by`, because these fields are neither a key of the table or of an index nor
    declared as unique. The severity is warning if the fields identify a partition, because a query can then find the
    item, although it must read the whole partition. Fields in the middle of a sort key can be omitted from `found_by`:
    with the partition key `{country}` and the sort key `{state}#{city}`, `("country", "city")` is not reported.

    Why is this bad? A key condition must specify every field of the partition key, and optionally leading fields of the
    sort key. Without the partition key, only a scan of all items finds the item.

    Fix: add an index whose key starts with the known fields, or an item that maps the known value to the key, such as
    an email address to the ID of its user (`unique=` creates such items).

    Source: developer guide, "Key condition expressions for the Query operation".
    """
    yield from subject.errors_of(no_matching_key.code)
    for _, entity in subject.entities:
        for names in entity.found_by:
            if not _is_findable(entity, set(names)):
                yield _not_findable(entity, names, _queried_partition(entity, set(names)))


def _is_findable(entity: EntitySpec, names: set[str]) -> bool:
    if any(set(rule.fields) <= names for rule in entity.sentinels):
        return True
    return any(_can_find(bound, names) for bound in (entity.key, *entity.indexes))


def _can_find(bound: BoundKey, names: set[str]) -> bool:
    """Return True if one query on a key can select items by the fields in `names`. The key must contain all of these
    fields, and every required field of the partition key must be in `names`.
    """
    return _names_partition(bound, names) and names <= set(bound.fields)


def _names_partition(bound: BoundKey, names: set[str]) -> bool:
    """Return True if `names` includes every required field of a partition key. A query can then read the partition."""
    return {name for part in bound.partition for name in _required_fields(part)} <= names


def _queried_partition(entity: EntitySpec, names: set[str]) -> BoundKey | None:
    """Return the first of an entity's keys for which `names` includes every required partition key field, or None if no
    such key exists.

    A query can read the partition by this key and filter its items.
    """
    keys = (bound for bound in (entity.key, *entity.indexes) if bound.fields and bound.partition[0].fields)
    return next((bound for bound in keys if _names_partition(bound, names)), None)


def _required_fields(part: BoundKeyAttribute) -> Iterator[str]:
    """Yield the fields of a key attribute that a query must specify. Fields that only provide a shard number are
    omitted, because a query can read all shards.
    """
    if part.template is None:
        yield from part.fields
        return
    yield from (placeholder.name for placeholder in part.template.placeholders if placeholder.encoding.choices is None)


def _not_findable(entity: EntitySpec, names: tuple[str, ...], matching_key: BoundKey | None) -> Finding:
    keys = "; ".join(
        (f"index {bound.index.name}: " if bound.index is not None else "") + bound.text
        for bound in (entity.key, *entity.indexes)
    )
    field_text = " and ".join(names)
    partition = ", ".join(part.text for part in matching_key.partition) if matching_key is not None else ""
    problem = (
        f"only a scan finds {entity.name} by {field_text}"
        if matching_key is None
        else f"finding {entity.name} by {field_text} reads all items of one {partition} in"
        f" {entity.schema.label_of(matching_key.index)}"
    )
    return no_matching_key.finding(
        entity.name,
        f"{problem}: no key or index starts with {field_text} ({keys})",
        f"add an index on {field_text}, or a pointer item with {field_text} as its key: unique={list(names)!r}"
        f" keeps one",
        entity.place.at("found_by"),
        entity.schema.place,
        severity="error" if matching_key is None else "warning",
    )


@design_rule("KP302", "warning")
def full_table_scan(subject: Subject) -> Iterator[Finding]:
    """Pattern scans the whole table

    Finds scans of tables and indexes whose size exceeds one page (1 MB) or is unknown. Scans of sparse indexes are not
    reported, and neither are scans that cost less than the design's `cost_floor` per month at their declared rate. All
    such scans of a table or index are reported in one finding.

    Why is this bad? A scan reads every item and is billed for every item, including items that a filter removes. Each
    GB uses 131,072 read units with eventual consistency, and twice as many with strong consistency. A scan of a large
    table takes minutes, and its cost grows with the table.

    Fix: add an index that contains the requested items, or maintain a counter that each write updates. For reports and
    full-text search, read an export of the table or its stream.

    Source: developer guide, "Working with scans in DynamoDB" and "Best practices for querying and scanning data".
    """
    for table, pattern, plan in subject.patterns:
        if plan.operation != "Scan":
            continue
        total = _scanned_bytes(table, plan)
        if total is not None and total <= limits.PAGE_BYTES:
            continue
        if plan.index is not None and _is_sparse(table, plan.index):
            continue
        target = table.schema.label_of(plan.index)
        units = None if total is None else total / limits.READ_UNIT_BYTES / (1 if plan.consistent else 2)
        rate = pattern.facts.rate
        if rate is not None and units is not None:
            price = units * rate.average * HOURS_PER_MONTH * 3600 * subject.book["read_unit"]
            if price < subject.design.cost_floor:
                continue
        size = (
            f"{total / 1e6:,.1f} MB, {number(units)} read units each time"
            if total is not None and units is not None
            else "and its size is not declared (volume=Volume(...))"
        )
        yield full_table_scan.finding(
            pattern.name,
            f"{pattern.name} reads all of {target}, {size}, and every entity in it: the cost grows with the table",
            "add an index with the requested items, keep a counter, or read an export",
            pattern.place,
            table.schema.place_of(plan.index),
            item=pattern.name,
            cause=target,
        )


_SPARSE_SHARE = 0.5


def _is_sparse(table: Table, index: Index) -> bool:
    """Return True if an index contains only a small or an unknown share of the items of every entity in the index."""
    keys = [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]
    for entity, bound in keys:
        optional = any(entity.fields[name].optional for name in bound.fields)
        declared = entity.volume is not None and bool(entity.volume.present or entity.volume.distinct)
        if not (optional or bound.only_if is not None):
            return False
        if declared and share_in_index(entity, bound) > _SPARSE_SHARE:
            return False
    return bool(keys)


def _scanned_bytes(table: Table, plan: Plan) -> float | None:
    """Return the number of bytes that a scan reads, or None if the number of items of an entity is not declared."""
    total = 0.0
    for entity in table.entities:
        bound = entity.key_in(plan.index)
        if bound is None:
            continue
        if entity.volume is None:
            return None
        total += entity.volume.count * share_in_index(entity, bound) * entry_size(entity, bound).average
    return total


multi_attribute_key_query = fault_rule(
    "KP308",
    "multi-attribute-key-query",
    """Query skips attributes of a multi-attribute key

    Finds queries on an index with several key attributes that omit a partition key attribute, skip a sort key
    attribute, or use a range for a sort key attribute that is not the last one in the condition.

    Why is this bad? DynamoDB rejects such a query. It requires `=` conditions on all partition key attributes, and
    accepts conditions on the sort key attributes from the first one on, without gaps. Only the last of these conditions
    can be a range.

    Fix: pass values for the missing attributes, or add an index whose key starts with the known attributes.

    Source: developer guide, "Multi-attribute keys" of global secondary indexes (querying).
    """,
)


@design_rule("KP314", "warning")
def mixed_entity_read(subject: Subject) -> Iterator[Finding]:
    """Query also reads other entities

    Finds queries for a whole partition, if it contains items of entities that the pattern does not return. Also finds
    patterns that return several entities if neither the keys nor a discriminator distinguish their items.

    Why is this bad? Items of other entities are read, billed and removed from the result: pages contain fewer items,
    and the cost grows with the number of other items. Items that cannot be distinguished are returned as the wrong
    entity.

    Fix: add a condition on the entity's sort key prefix, give the sort keys of the entities different prefixes, or add
    the other entities to the pattern.

    Source: developer guide, "Best practices for using sort keys to organize data".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None or plan.faults:
            continue
        unrequested = _unrequested_entities(plan) if not plan.key.sort else []
        if unrequested:
            yield mixed_entity_read.finding(
                pattern.name,
                f"{pattern.name} pays for items of {', '.join(unrequested)} and drops them: it reads a whole"
                f" partition for {', '.join(entity.name for entity in plan.entities)}",
                "add a prefix of the sort key to the condition, or add these entities to the pattern",
                pattern.place,
                plan.schema.place_of(plan.index),
                item=pattern.name,
                cause=" ".join([*(entity.name for entity in plan.entities), "", *unrequested]),
            )
        yield from _indistinguishable(pattern.name, plan)


def _unrequested_entities(plan: Plan) -> list[str]:
    assert plan.key is not None, "the caller looked"
    unrequested = []
    for other in plan.siblings:
        bound = other.key_in(plan.index) if other not in plan.entities else None
        if bound is not None and may_share_partition(plan.key.partition, bound.partition):
            unrequested.append(f"{other.name} ({bound.text})")
    return unrequested


def _indistinguishable(name: str, plan: Plan) -> Iterator[Finding]:
    if plan.schema.discriminator is not None:
        return
    for first, second in combinations(plan.entities, 2):
        overlap = common_key(first.key.attributes, second.key.attributes)
        if overlap is not None and overlap.plain:
            yield mixed_entity_read.finding(
                name,
                f"{name} can return items of {first.name} as {second.name}, or the reverse: neither keys nor a"
                " discriminator distinguish them",
                'declare the table with discriminator="entity_type", or give both a prefix',
                second.key.place,
                first.key.place,
            )


@design_rule("KP322", "warning")
def filter_served_by_index(subject: Subject) -> Iterator[Finding]:
    """Existing index serves the filter

    Finds queries and scans that filter for one value of a field, if an index contains this field in its partition key
    or at the start of its sort key, and can serve the same query without the filter.

    Why is this bad? A filter removes items that were already read and billed. A query on the index reads only the items
    that it returns.

    Fix: query the index with `index="..."` and the field in `pk(...)` or `.sk(...)`. A global index is updated after
    the table: keep the filter if the result must include the most recent writes.

    Source: developer guide, "Querying tables in DynamoDB" (a filter is applied after the read) and "Best practices for
    using secondary indexes".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation not in {"Query", "Scan"} or plan.consistent or len(plan.entities) > 1:
            continue
        match = _serving_index(plan)
        if match is not None:
            field, bound = match
            yield filter_served_by_index.finding(
                pattern.name,
                f"{pattern.name} pays for items that its filter by {field} drops; index {bound.index.name}"
                f" ({bound.text}) finds the same items by key",
                f'declare index="{bound.index.name}" and move {field} into the key condition',
                pattern.place,
                bound.place,
            )


def _serving_index(plan: Plan) -> tuple[str, BoundIndexKey] | None:
    filtered = equal_fields(plan.filter)
    fields = partition_fields(plan, plan.entity)
    for bound in plan.entity.indexes:
        if bound.only_if is not None or bound.index is plan.index:
            continue
        partition = [name for part in bound.partition for name in part.fields]
        leading = [*partition, *(bound.sort[0].fields[:1] if bound.sort else ())]
        filtered_fields = [name for name in leading if name in filtered]
        if (
            filtered_fields
            and partition
            and all(name in fields or name in filtered for name in partition)
            and fields <= set(leading)
        ):
            return filtered_fields[0], bound
    return None


@design_rule("KP323", "advice")
def query_for_single_item(subject: Subject) -> Iterator[Finding]:
    """Query reads a single item

    Finds queries that specify every field of an item's primary key. Index queries that
    specify additional fields are not reported, because these fields can serve as a check, for example of the item's
    owner.

    Why is this bad? Such a query returns at most one result, and cannot be part of a batch. If it has no condition on
    the sort key, it reads the whole partition. On an index, it can also return an outdated item.

    Fix: declare the pattern with `@table.get` and `item(...)`. With `consistent=True`, it returns the latest write.

    Source: API reference, GetItem and Query; developer guide, "DynamoDB read consistency".
    """
    for _, pattern, plan in subject.patterns:
        single = len(plan.entities) == 1 and plan.select == "all"
        if plan.operation != "Query" or not single or plan.walk is not None or plan.faults:
            continue
        key = plan.entity.key
        fixed_fields = _fixed_fields(plan)
        # A query with more fields than the key also checks them, for example the owner. A get does not.
        if key.fields and (set(key.fields) == fixed_fields or (plan.index is None and set(key.fields) <= fixed_fields)):
            yield query_for_single_item.finding(
                pattern.name,
                f"{pattern.name} queries for a single item, {with_article(plan.entity.name)} with its"
                f" {', '.join(key.fields)}: a get reads it alone, and consistently if needed",
                f"use @table.get(...) and item({', '.join(f'{name}=...' for name in key.fields)})",
                pattern.place,
                key.place,
            )


def _fixed_fields(plan: Plan) -> set[str]:
    """Return the fields for which a query requires one value. The result is empty for an index that does not project
    whole items.
    """
    bound = plan.entity.key_in(plan.index)
    if bound is None or plan.key is None or bound.only_if is not None:
        return set()
    if plan.index is not None and plan.index.project not in {"all", None}:
        return set()
    equal = [*plan.key.partition, *(condition.low for condition in plan.key.sort if condition.op == "=")]
    whole_values = {value.attribute: value for value in equal if value.part == "whole"}
    fixed_parts = [
        part
        for part in bound.attributes
        if part.attribute in whole_values and _has_same_template(whole_values[part.attribute], part)
    ]
    if plan.index is None and len(fixed_parts) == len(bound.attributes):
        return set(bound.fields)
    lossy = {
        placeholder.name
        for part in fixed_parts
        if part.template
        for placeholder in part.template.placeholders
        if not placeholder.encoding.reversible
    }
    return {name for part in fixed_parts for name in part.fields} - lossy


def _has_same_template(value: KeyValue, part: BoundKeyAttribute) -> bool:
    """Return True if the value of a key condition has the same template as the entity's key attribute."""
    return part.template is None or (value.template is not None and value.template.text == part.template.text)


@design_rule("KP327", "advice", of_absence=True)
def entity_never_used(subject: Subject) -> Iterator[Finding]:
    """Entity is never written, or never read

    Finds entities that no pattern writes, provided that a pattern writes at least one other entity of the table. Also
    finds entities that no pattern reads, provided that a pattern reads at least one other entity of the table.
    Conditions, checks, returned items and consumers are treated as reads. A `create` pattern whose key can already
    exist is also treated as a read, because it keeps a value unique. If a table has a stream but no declared consumer,
    its entities do not need a pattern that reads them. If a transaction replaces items of one entity with
    items of another, the replaced entity is treated as obsolete and does not need a pattern that writes it.

    Why is this bad? Access patterns are the specification of a DynamoDB table. If a pattern is missing, a program
    cannot read or write data that it needs. A pattern that is added when the table is already in use can require a new
    index and a backfill.

    Fix: declare the missing pattern, or remove the entity. Suppress the finding if another program writes or reads the
    entity.

    Source: developer guide, "First steps for modeling relational data in DynamoDB" (list the access patterns first).
    """
    outdated = {old for old, _ in replaced_entities(subject)}
    for table in subject.tables:
        steps = [
            step for pattern in subject.design.patterns for step in steps_in(pattern) if step.schema is table.schema
        ]
        stored_entities = {entity for step in steps if _stores_item(step) for entity in step.entities}
        read_by_patterns = {entity for step in steps if step.reading for entity in step.entities}
        read_entities = read_by_patterns | {step.entity for step in steps if _depends_on_item(step)}
        read_entities |= {entity for consumer in table.consumers for entity in consumer.entities}
        has_unknown_readers = table.schema.stream is not None and not table.consumers
        for entity in table.entities:
            unwritten = bool(stored_entities) and entity not in stored_entities | outdated
            unread = bool(read_by_patterns) and entity not in read_entities and not has_unknown_readers
            if unwritten or unread:
                verb = "writes or reads" if unwritten and unread else "writes" if unwritten else "reads"
                yield entity_never_used.finding(
                    entity.name,
                    f"no pattern {verb} {entity.name}",
                    f"declare the pattern that {verb} it, which can need another key or index, or remove the entity",
                    entity.place,
                    table.schema.place,
                    item=entity.name,
                    cause=f"{table.name} {verb}",
                )


def _stores_item(step: Plan) -> bool:
    return step.operation in {"PutItem", "UpdateItem"} or (step.operation == "BatchWriteItem" and step.item is not None)


def _depends_on_item(step: Plan) -> bool:
    """Return True if the outcome of a write depends on the stored item."""
    if step.condition is not None or step.replaceable is not None or step.version is not None or step.assumed:
        return True
    if step.operation == "PutItem":
        return step.exists == "must_not" and not _has_generated_key(step.entity)
    return step.operation == "ConditionCheck" or (step.operation == "UpdateItem" and step.returns == "new")


def _has_generated_key(entity: EntitySpec) -> bool:
    """Return True if the type of a key field makes the key of each item unique, such as a UUID or the time of the
    write.
    """
    return any(
        entity.fields[name].annotation is UUID
        or entity.fields[name].write_time is not None
        or has_time_ordered_type(entity.fields[name])
        for name in entity.key.fields
    )
