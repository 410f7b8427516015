"""Rules: access paths."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, takewhile

from keyplan import limits
from keyplan.check.finding import Finding, number, with_article
from keyplan.check.key_overlap import partition_shared, shared
from keyplan.check.rule import design_rule, fault_rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import partition_fields, share_in_index
from keyplan.cost.sizes import entry_size
from keyplan.design.conditions.conditions import equal_fields
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKey, BoundKeyAttribute
from keyplan.design.planning.plan import KeyValue, Plan


@design_rule("KP301", "error")
def no_matching_key(subject: Subject) -> Iterator[Finding]:
    """Nothing in the design can answer this

    A key condition gives every field of the partition key, and then leading fields of the sort key. A pattern that
    knows less cannot be served by the key or index that it names, however few items it wants. An entity that must
    be found by some fields (`found_by`) and has no key, index or unique value that begins with them can only be
    found by reading all of them.

    Add an index whose key begins with what is known, or an item that points from the one to the other, such as an
    idempotency key or an e-mail address with the id that it belongs to (`unique=` keeps such items).

    Source: developer guide, "Key condition expressions for the Query operation".
    """
    yield from subject.errors_of(no_matching_key.code)
    for _, entity in subject.entities:
        for names in entity.found_by:
            if not _is_findable(entity, set(names)):
                yield _not_findable(entity, names)


def _is_findable(entity: EntitySpec, names: set[str]) -> bool:
    if any(set(rule.fields) <= names for rule in entity.sentinels):
        return True
    return any(_can_find(bound, names) for bound in (entity.key, *entity.indexes))


def _can_find(bound: BoundKey, names: set[str]) -> bool:
    """Whether a key condition on this key can say all of the names."""
    needed = {name for part in bound.partition for name in _required_fields(part)}
    in_partition = {name for part in bound.partition for name in part.fields}
    order = [name for part in bound.sort for name in part.fields]
    leading = set(takewhile(names.__contains__, order))
    return needed <= names and names - in_partition <= leading


def _required_fields(part: BoundKeyAttribute) -> Iterator[str]:
    """Fields that must be known; what has few values, such as a shard, can be asked for one by one."""
    if part.template is None:
        yield from part.fields
        return
    yield from (hole.name for hole in part.template.holes if hole.encoding.choices is None)


def _not_findable(entity: EntitySpec, names: tuple[str, ...]) -> Finding:
    keys = "; ".join(
        (f"index {bound.index.name}: " if bound.index is not None else "") + bound.text
        for bound in (entity.key, *entity.indexes)
    )
    wanted = " and ".join(names)
    return no_matching_key.finding(
        entity.name,
        f"{entity.name} must be found by {wanted}, and no key or index begins with {wanted} ({keys})",
        f"add an index on {wanted}, or a pointer item whose key is made of {wanted}: unique={list(names)!r} keeps one",
        entity.place.at("found_by"),
        entity.schema.place,
    )


@design_rule("KP302", "warning")
def full_table_scan(subject: Subject) -> Iterator[Finding]:
    """A pattern reads the whole table

    A scan reads, and bills, every item of the table or index, whatever its filter lets through: 131,072 read units
    for each gigabyte, half of that when eventually consistent, and minutes instead of milliseconds. The cost grows
    with the table, not with the answer. Tables of less than one page (1 MB) are left alone.

    Give the pattern a key: an index that holds only what it wants, a counter that writes keep, an export of the
    table or its stream for reports and full-text search.

    Source: developer guide, "Working with scans in DynamoDB" and "Best practices for querying and scanning data".
    """
    for table, pattern, plan in subject.patterns:
        if plan.operation != "Scan":
            continue
        total = _scanned_bytes(table, plan)
        if total is not None and total <= limits.PAGE_BYTES:
            continue
        what = table.schema.where(plan.index)
        units = None if total is None else total / limits.READ_UNIT_BYTES / (1 if plan.consistent else 2)
        size = (
            f"{total / 1e6:,.1f} MB, {number(units)} read units each time"
            if total is not None and units is not None
            else "and its size is not declared (items=Items(...))"
        )
        yield full_table_scan.finding(
            pattern.name,
            f"{pattern.name} reads all of {what}, {size}, and every entity in it: the cost grows with the table",
            "add an index that holds what it wants, keep a counter, or read an export",
            pattern.place,
            table.schema.place_of(plan.index),
        )


def _scanned_bytes(table: Table, plan: Plan) -> float | None:
    """What a scan reads; None where an entity does not say how many items it has."""
    total = 0.0
    for entity in table.entities:
        bound = entity.key_in(plan.index)
        if bound is None:
            continue
        if entity.items is None:
            return None
        total += entity.items.count * share_in_index(entity, bound) * entry_size(entity, bound).average
    return total


multi_attribute_key_query = fault_rule(
    "KP308",
    "multi-attribute-key-query",
    """A multi-attribute key is asked for in a way it does not answer

    A query of an index with several partition attributes gives an equal value for every one of them. Of several
    sort attributes it names the first ones, without gaps, all equal but the last, which may be a range. The service
    refuses anything else: these keys have no way to skip an attribute.

    Pass the attributes that lack, or add an index in whose key the attributes that are asked for come first.

    Source: developer guide, "Multi-attribute keys" of global secondary indexes, querying.
    """,
)


@design_rule("KP314", "warning")
def mixed_entity_read(subject: Subject) -> Iterator[Finding]:
    """A query reads a whole partition in which other entities live

    Without a condition on the sort key a query returns everything under the partition key: also items of entities
    that the pattern does not name. They are read, billed and dropped, so that pages come back short, and the cost
    grows with what others write there. A pattern that names all entities but cannot tell their items apart, because
    keys and discriminator say nothing, gives one for the other.

    Ask for the entity's own prefix of the sort key, give entities of one partition prefixes, or name the others in
    the pattern where they are wanted too.

    Source: developer guide, "Best practices for using sort keys to organize data".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation != "Query" or plan.key is None or plan.faults:
            continue
        strangers = _unrequested_entities(plan) if not plan.key.sort else []
        if strangers:
            yield mixed_entity_read.finding(
                pattern.name,
                f"{pattern.name} reads a whole partition for {', '.join(entity.name for entity in plan.entities)}, in"
                f" which {', '.join(strangers)} can lie too: they are read, paid for and dropped",
                "ask for a prefix of the sort key, or name them in the pattern",
                pattern.place,
                plan.schema.place_of(plan.index),
            )
        yield from _indistinguishable(pattern.name, plan)


def _unrequested_entities(plan: Plan) -> list[str]:
    assert plan.key is not None, "the caller looked"
    found = []
    for other in plan.siblings:
        bound = other.key_in(plan.index) if other not in plan.entities else None
        if bound is not None and partition_shared(plan.key.partition, bound.partition):
            found.append(f"{other.name} ({bound.text})")
    return found


def _indistinguishable(name: str, plan: Plan) -> Iterator[Finding]:
    if plan.schema.discriminator is not None:
        return
    for one, other in combinations(plan.entities, 2):
        found = shared(one.key.attributes, other.key.attributes)
        if found is not None and found.plain:
            yield mixed_entity_read.finding(
                name,
                f"{name} returns {one.name} and {other.name}, and neither their keys nor a discriminator tell which is"
                " which",
                'declare the table with discriminator="entity_type", or give both a prefix',
                other.key.place,
                one.key.place,
            )


@design_rule("KP322", "warning")
def filter_served_by_index(subject: Subject) -> Iterator[Finding]:
    """A filter does what an index is there for

    A filter drops items that were read and paid for. Where the design already has an index whose key begins with the
    field that is filtered by, under the same partition, the same question asked there reads only what it returns.

    Ask the index: `index="..."`, with the field in `pk(...)` or `sk(...)`. Mind that a global index lags a moment
    behind the table; where the answer must show a write just made, the filter may be right.

    Source: developer guide, "Querying tables in DynamoDB" (a filter is applied after the read) and "Best practices for
    using secondary indexes".
    """
    for _, pattern, plan in subject.patterns:
        if plan.operation not in {"Query", "Scan"} or plan.consistent or len(plan.entities) > 1:
            continue
        found = _serving_index(plan)
        if found is not None:
            field, bound = found
            yield filter_served_by_index.finding(
                pattern.name,
                f"{pattern.name} reads a whole range and filters by {field}, and index {bound.index.name}"
                f" ({bound.text}) finds the same items by their key",
                f'declare index="{bound.index.name}" and put {field} into the key condition',
                pattern.place,
                bound.place,
            )


def _serving_index(plan: Plan) -> tuple[str, BoundIndexKey] | None:
    asked = equal_fields(plan.filter)
    known = partition_fields(plan, plan.entity)
    for bound in plan.entity.indexes:
        if bound.when is not None or bound.index is plan.index:
            continue
        partition = [name for part in bound.partition for name in part.fields]
        leading = [*partition, *(bound.sort[0].fields[:1] if bound.sort else ())]
        used = [name for name in leading if name in asked]
        if used and partition and all(name in known or name in asked for name in partition) and known <= set(leading):
            return used[0], bound
    return None


@design_rule("KP323", "advice")
def query_for_single_item(subject: Subject) -> Iterator[Finding]:
    """A query for the one item that a get reads

    Where an entity's sort key is one text, or the table has none, its partition key names one item; elsewhere partition
    and sort key together do. A query for it gives a page with at most one result, reads whatever else lies in the
    partition if the sort key is not said, and cannot be part of a batch. A get is one read of one item, and
    `consistent=True` makes it right after a write. Through an index that has the same fields the other way round the
    query lags behind the table too.

    Declare it with `@table.get` and `key_of(...)`.

    Source: API reference, GetItem and Query; developer guide, "DynamoDB read consistency".
    """
    for _, pattern, plan in subject.patterns:
        single = len(plan.entities) == 1 and plan.select == "all"
        if plan.operation != "Query" or not single or plan.walk is not None or plan.faults:
            continue
        key = plan.entity.key
        if key.fields and set(key.fields) <= _pinned_fields(plan):
            yield query_for_single_item.finding(
                pattern.name,
                f"{pattern.name} queries for {with_article(plan.entity.name)}, of which there is one for each"
                f" {', '.join(key.fields)}: a get reads it, alone and consistently if it must",
                f"use @table.get(...) and key_of({', '.join(f'{name}=...' for name in key.fields)})",
                pattern.place,
                key.place,
            )


def _pinned_fields(plan: Plan) -> set[str]:
    """Fields that a query pins to one value each, of a table or of an index that holds the same items whole."""
    bound = plan.entity.key_in(plan.index)
    if bound is None or plan.key is None or bound.when is not None:
        return set()
    if plan.index is not None and plan.index.project not in {"all", None}:
        return set()
    equal = [*plan.key.partition, *(one.low for one in plan.key.sort if one.op == "=")]
    given = {value.attribute: value for value in equal if value.part == "whole"}
    named = [
        part for part in bound.attributes if part.attribute in given and _is_made_alike(given[part.attribute], part)
    ]
    if plan.index is None and len(named) == len(bound.attributes):
        return set(bound.fields)
    lossy = {
        hole.name for part in named if part.template for hole in part.template.holes if not hole.encoding.reversible
    }
    return {name for part in named for name in part.fields} - lossy


def _is_made_alike(value: KeyValue, part: BoundKeyAttribute) -> bool:
    """Whether a value is made as the entity makes it, and not by a text that is written out otherwise."""
    return part.template is None or (value.template is not None and value.template.text == part.template.text)
