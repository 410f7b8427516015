"""Rules for unnecessary indexes: unread, redundant, or larger than required."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import eq

from keyplan.check.finding import Finding
from keyplan.check.key_overlap import as_template
from keyplan.check.load import index_units_per_second, monthly_price
from keyplan.check.rule import design_rule
from keyplan.check.subject import Subject
from keyplan.cost.sizes import item_size
from keyplan.design.conditions.conditions import paths_of
from keyplan.design.declaring.tables import Table
from keyplan.design.entities import EntitySpec
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute
from keyplan.design.keys.overlaps import extends_template
from keyplan.design.keys.templates import BoundTemplate
from keyplan.design.planning.indexes import missing_in_index, requested_attributes
from keyplan.design.planning.plan import Plan
from keyplan.design.schema import Index


@design_rule("KP402", "advice", of_absence=True)
def unused_index(subject: Subject) -> Iterator[Finding]:
    """Index is not read

    Finds indexes that no pattern reads. Tables without patterns are ignored.

    Why is this bad? Every item in an index is written and stored a second time, and an index with too little capacity
    causes throttling of writes to the table. A global index can be added later, when a pattern needs it.

    Fix: remove the index, or declare the pattern that reads it.

    Source: developer guide, "Best practices for using secondary indexes in DynamoDB".
    """
    for table, index in subject.indexes:
        if not table.patterns or subject.readers_of(table, index):
            continue
        write_units = index_units_per_second(subject.requests, table.schema, index.name)
        cost = f", ${monthly_price(write_units):,.2f} per month" if write_units else ""
        yield unused_index.finding(
            index.name,
            f"every write pays for index {index.name}{cost}, and no pattern of table {table.name} reads it",
            "drop it, or declare the pattern that reads it",
            index.place,
            table.schema.place,
        )


@design_rule("KP403", "advice")
def redundant_index(subject: Subject) -> Iterator[Finding]:
    """Index is redundant

    Finds indexes whose key is equal to the key of another index or of the table, or to the start of such a key.

    Why is this bad? The longer key serves the same queries: an index on user and status also serves queries by user.
    DynamoDB writes and stores the items of each index separately.

    Fix: keep the index with the longer key, and project the attributes that the patterns of both indexes need.

    Source: developer guide, "Best practices for using secondary indexes in DynamoDB".
    """
    for table in subject.tables:
        redundant: set[str] = set()
        for index in table.schema.indexes:
            replacement = next(
                (
                    candidate
                    for candidate in (None, *table.schema.indexes)
                    if _replaces(table, index, candidate, redundant)
                ),
                index,
            )
            if replacement is index:
                continue
            redundant.add(index.name)
            name = f"index {replacement.name}" if replacement is not None else f"table {table.name} itself"
            yield redundant_index.finding(
                index.name,
                f"every write pays for index {index.name}, but {name} serves the same queries: its key starts the same",
                f"drop {index.name}",
                index.place,
                replacement.place if replacement is not None else table.schema.place,
            )


def _replaces(table: Table, index: Index, replacement: Index | None, redundant: set[str]) -> bool:
    """Return True if `replacement` can replace `index`. If `replacement` is None, the table can replace it.

    For every entity in `index`, its key in `index` must be the start of its key in the replacement. Indexes in
    `redundant` are not used as a replacement.
    """
    if replacement is index or (replacement is not None and replacement.name in redundant):
        return False
    if replacement is not None and index.kind == "LSI" and replacement.kind == "GSI":
        return False  # only local indexes can be read consistently
    members = [(entity, bound) for entity in table.entities if (bound := entity.key_in(index)) is not None]
    return bool(members) and all(_is_prefix(entity, bound, replacement) for entity, bound in members)


def _is_prefix(entity: EntitySpec, bound: BoundKey, replacement: Index | None) -> bool:
    replacement_key = entity.key_in(replacement)
    if replacement_key is None or bound.only_if is not None or replacement_key.only_if is not None:
        return False
    if len(bound.partition) != len(replacement_key.partition) or len(bound.sort) > len(replacement_key.sort):
        return False
    if not all(_is_same_attribute(*pair, eq) for pair in zip(bound.partition, replacement_key.partition, strict=True)):
        return False
    if not bound.sort:
        return not any(entity.fields[name].optional for part in replacement_key.sort for name in part.fields)
    pairs = list(zip(bound.sort, replacement_key.sort, strict=False))
    return all(_is_same_attribute(*pair, eq) for pair in pairs[:-1]) and _is_same_attribute(
        *pairs[-1], extends_template
    )


def _is_same_attribute(
    first: BoundKeyAttribute, other: BoundKeyAttribute, accepts: Callable[[BoundTemplate, BoundTemplate], bool]
) -> bool:
    """Return True if two key attributes store the same field, or if the function `accepts` returns True for their
    templates.
    """
    first_template, other_template = as_template(first), as_template(other)
    if first_template is None or other_template is None:
        return first.field is not None and first.field is other.field
    return accepts(first_template, other_template)


_SMALL_BYTES = 1024


@design_rule("KP404", "warning", of_absence=True)
def over_projection(subject: Subject) -> Iterator[Finding]:
    """Index contains items that are never read

    Finds entities that are in an index although no query on the index returns them. Also finds indexes that project
    whole items of more than 1 KB, if patterns only count these items or read only some of their fields (a view).

    Why is this bad? Each item in the index is a copy that is written, stored and billed. An item is in the index if it
    has the index's key attributes, even if this is unintended: a field of another entity can have the same name as a
    key attribute.

    Fix: keep the entity out of the index (with another attribute name, or a key with `only_if=`), or project only the
    attributes that are read.

    Source: developer guide, "Best practices for using secondary indexes" (choosing projections).
    """
    for table, index in subject.indexes:
        readers = subject.readers_of(table, index)
        read_entities = {entity.name for pattern in readers for entity in pattern.plan.entities}
        for entity in table.entities if readers else ():
            bound = entity.key_in(index)
            if bound is None or entity.name in read_entities:
                continue
            write_units = index_units_per_second(subject.requests, table.schema, index.name, entity)
            cost = f", ${monthly_price(write_units):,.2f} per month" if write_units else ""
            yield over_projection.finding(
                entity.name,
                f"writes pay for {entity.name} in index {index.name}{cost}, and none of its readers"
                f" ({', '.join(pattern.name for pattern in readers)}) returns {entity.name}",
                f"keep {entity.name} out of the index, or declare the pattern that reads it there",
                bound.place,
                index.place,
            )
        large_entities = [entity for entity in table.entities if entity.name in read_entities and _is_large(entity)]
        needed = _needed_attributes([pattern.plan for pattern in readers], index)
        if readers and needed is not None and index.project == "all" and large_entities:
            only_counts = all(pattern.plan.select == "count" for pattern in readers)
            usage = "count them" if only_counts else f"read {', '.join(needed) or 'keys'}"
            projection = ", ".join(f'"{name}"' for name in needed)
            yield over_projection.finding(
                index.name,
                f"writes pay for whole items in index {index.name} ({large_entities[0].name}:"
                f" {item_size(large_entities[0]).average:,} bytes), and patterns only {usage}",
                f"declare project=[{projection}]" if needed else 'declare project="keys"',
                index.place,
                readers[0].place,
            )


def _needed_attributes(plans: Sequence[Plan], index: Index) -> list[str] | None:
    """Return the non-key attributes that reads of an index use, or None if one of the reads returns whole items."""
    needed: dict[str, None] = {}
    for plan in plans:
        requested = requested_attributes(plan)
        if plan.select == "count" and plan.filter is None:
            continue
        if requested is None:
            return None
        filter_fields = [spec.fields.get(path.field) for spec in plan.entities for path in paths_of(plan.filter)]
        needed.update(dict.fromkeys((*requested, *(field.attribute for field in filter_fields if field is not None))))
    narrow = replace(index, project="keys")
    field_names = {
        field.attribute: name for plan in plans for spec in plan.entities for name, field in spec.fields.items()
    }
    unprojected = {name for plan in plans for spec in plan.entities for name in missing_in_index(narrow, spec)}
    keys = {*index.attributes, *(plans[0].schema.key if plans else ())}
    return [
        name for name in needed if name not in keys and (name not in field_names or field_names[name] in unprojected)
    ]


def _is_large(entity: EntitySpec) -> bool:
    """Return True if an index that contains only keys would use fewer write units per item than an index that contains
    whole items of the entity.
    """
    return item_size(entity).average > _SMALL_BYTES


@design_rule("KP411", "advice", of_absence=True)
def local_index_without_consistent_read(subject: Subject) -> Iterator[Finding]:
    """Local index is never read consistently

    Finds local indexes that patterns read, but never with `consistent=True`.

    Why is this bad? Strongly consistent reads are the only advantage of a local index. A local index must be created
    together with the table, cannot be deleted, limits every item collection to 10 GB, and prevents DynamoDB from
    splitting an item collection across partitions.

    Fix: replace the local index with a global index that has the same keys, or declare `consistent=True` on the reads
    that require strong consistency.

    Source: developer guide, "Best practices for using secondary indexes in DynamoDB" (global or local).
    """
    for table, index in subject.indexes:
        readers = subject.readers_of(table, index)
        if index.kind == "LSI" and readers and not any(pattern.plan.consistent for pattern in readers):
            yield local_index_without_consistent_read.finding(
                index.name,
                f"local index {index.name} limits item collections to 10 GB for no benefit:"
                f" {', '.join(pattern.name for pattern in readers)} never read it consistently",
                f"make it global: GSI({index.name!r}, pk={table.schema.partition!r}, sk={index.sort[0]!r})",
                index.place,
                readers[0].place,
            )
