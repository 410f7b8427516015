"""Functions that plan queries and scans: they select the key or index, the key range and the filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from keyplan.design.conditions.builders import KeyCondition
from keyplan.design.conditions.conditions import FieldPath, paths_of
from keyplan.design.errors import DesignError, Fault
from keyplan.design.keys.entity_keys import BoundKey, BoundKeyAttribute, find_index, unknown_field_error
from keyplan.design.keys.overlaps import can_equal
from keyplan.design.parameters import Each, EveryShard, Source
from keyplan.design.planning.indexes import missing_in_index, projection_fix
from keyplan.design.planning.plan import KeySelection, KeyValue, PatternDeclaration, Plan, key_value
from keyplan.design.planning.sort_keys import named_sort_fields, plan_sort
from keyplan.design.schema import Index


def plan_query(pattern: PatternDeclaration, key_condition: KeyCondition, draft: Plan) -> Plan:
    """Plan a query. `draft` contains the options that need no planning."""
    _check_fields(pattern, key_condition)
    index = _find_index(pattern)
    draft = replace(draft, index=index, filter=key_condition.filter_condition)
    bound_key = next((key for entity in pattern.entities if (key := entity.key_in(pattern.index)) is not None), None)
    if bound_key is None:
        return replace(
            draft, key=_text_partition(pattern, index, key_condition), faults=(_not_in_index_fault(pattern, index),)
        )
    partition, walk, faults = _plan_partition(pattern, bound_key, key_condition)
    sort = plan_sort(pattern, bound_key, key_condition)
    draft = replace(draft, key=KeySelection(partition, sort.conditions), walk=walk, residue=sort.residue)
    faults += [
        *_other_partition_faults(pattern, bound_key, key_condition),
        *sort.faults,
        *read_faults(pattern, index, draft),
    ]
    return replace(
        draft, faults=tuple(faults), notes=(*read_notes(draft, index), *_partial_item_notes(pattern, index, draft))
    )


def plan_scan(pattern: PatternDeclaration, key_condition: KeyCondition, draft: Plan) -> Plan:
    """Plan a scan, which reads every item and selects the results with a filter.

    `draft` contains the options that need no planning.
    """
    _check_fields(pattern, key_condition)
    if (
        key_condition.partition
        or key_condition.sort
        or key_condition.range
        or key_condition.partition_text
        or key_condition.sort_text
    ):
        raise DesignError(
            "a scan has no key condition",
            place=pattern.place,
            fix="use @table.query, or everything().filter(...) for a filter",
        )
    index = _find_index(pattern)
    draft = replace(draft, index=index, filter=key_condition.filter_condition)
    return replace(draft, faults=tuple(read_faults(pattern, index, draft)), notes=read_notes(draft, index))


def _check_fields(pattern: PatternDeclaration, key_condition: KeyCondition) -> None:
    """Raise DesignError if a condition names a field that none of the pattern's entities has."""
    field_places = [
        (name, pattern.place_of(name, key_condition.places))
        for name in (*key_condition.partition, *named_sort_fields(key_condition))
    ]
    field_places += [(path.field, pattern.place_of_path(path)) for path in paths_of(key_condition.filter_condition)]
    for name, place in field_places:
        if all(name not in entity.fields for entity in pattern.entities):
            known_fields = dict.fromkeys(field for entity in pattern.entities for field in entity.fields)
            raise unknown_field_error(
                name, known_fields, " and ".join(entity.name for entity in pattern.entities), place
            )


def _find_index(pattern: PatternDeclaration) -> Index | None:
    return None if pattern.index is None else find_index(pattern.schema, pattern.index, pattern.place)


def _not_in_index_fault(pattern: PatternDeclaration, index: Index | None) -> Fault:
    names = ", ".join(entity.name for entity in pattern.entities)
    assert index is not None, "every entity has a primary key"
    return pattern.fault(
        "KP301",
        f"{names} is never in index {index.name}: no item has {', '.join(index.attributes)}",
        f'give it a key there: indexes={{"{index.name}": key(...)}}, or fields stored under these attributes',
        index.place,
    )


def _text_partition(
    pattern: PatternDeclaration, index: Index | None, key_condition: KeyCondition
) -> KeySelection | None:
    """Return the key selection for a query on an index that contains none of the pattern's entities.

    The key selection consists of the partition key, which the pattern declares as a string. Return None if the query
    reads the table or declares the partition key with fields.
    """
    if index is None or key_condition.partition_text is None:
        return None
    return KeySelection((pattern.text_value(index.partition[0], key_condition.partition_text),))


# The partition.

Walk = tuple[str, Source] | None


def _plan_partition(
    pattern: PatternDeclaration, bound_key: BoundKey, key_condition: KeyCondition
) -> tuple[tuple[KeyValue, ...], Walk, list[Fault]]:
    if key_condition.partition_text is not None:
        return (pattern.text_value(bound_key.partition[0].attribute, key_condition.partition_text),), None, []
    key_fields = [name for part in bound_key.partition for name in part.fields]
    missing = [name for name in key_fields if name not in key_condition.partition]
    extra = [name for name in key_condition.partition if name not in key_fields]
    faults = [_partition_key_fault(pattern, bound_key, missing, extra)] if missing or extra else []
    values = tuple(key_value(part, key_condition.partition) for part in bound_key.partition)
    walk = plan_walk(pattern, key_condition.partition)
    if walk is not None and isinstance(walk[1], EveryShard):
        _check_shards(pattern, bound_key, walk[0])
    return values, walk, faults


def _check_shards(pattern: PatternDeclaration, bound_key: BoundKey, name: str) -> None:
    """Raise DesignError if the pattern passes every_shard() for a field that is not sharded in the partition key."""
    templates = [part.template for part in bound_key.partition if part.template is not None]
    placeholders = [
        placeholder for template in templates for placeholder in template.placeholders if placeholder.name == name
    ]
    if not placeholders or any(placeholder.encoding.choices is None for placeholder in placeholders):
        raise DesignError(
            f"{pattern.name} queries every shard of {name}, but {pattern.schema.label_of(bound_key.index)} does not"
            " shard it",
            place=pattern.place.at("every_shard("),
            other=bound_key.place,
            fix=f"write {{{name}:shard(n)}} in the key's template, or each(values) for values that the caller knows",
        )


def _other_partition_faults(
    pattern: PatternDeclaration, bound_key: BoundKey, key_condition: KeyCondition
) -> list[Fault]:
    """Return a fault for each entity whose items can never be in the queried partition."""
    if key_condition.partition_text is not None:
        return []
    faults = []
    for entity in pattern.entities:
        other_key = entity.key_in(bound_key.index)
        if other_key is None or all(
            _can_match(*pair) for pair in zip(bound_key.partition, other_key.partition, strict=True)
        ):
            continue
        first, second = (", ".join(part.text for part in key.partition) for key in (bound_key, other_key))
        faults.append(
            pattern.fault(
                "KP301",
                f"{pattern.name} reads partition {first} of {pattern.schema.label_of(bound_key.index)}, and"
                f" {entity.name} is in {second}: none of its items can be found there",
                f"leave {entity.name} out and read it by a separate pattern, or give it the same partition key",
                other_key.place,
            )
        )
    return faults


def _can_match(first: BoundKeyAttribute, second: BoundKeyAttribute) -> bool:
    """Return True if the key attributes of two entities can have the same value."""
    if first.template is None or second.template is None or first.text == second.text:
        return True
    return can_equal(first.template, second.template) is not None


def plan_walk(pattern: PatternDeclaration, fields: dict[str, Source]) -> Walk:
    """Return the key field that has several values, and the each(...) or every_shard() that provides these values.

    Return None if every key field has a single value. Raises DesignError if several fields have several values.
    """
    repeated_fields = [(name, source) for name, source in fields.items() if isinstance(source, (Each, EveryShard))]
    if len(repeated_fields) > 1:
        raise DesignError(
            f"{pattern.name} passes several values for {repeated_fields[0][0]} and for {repeated_fields[1][0]}:"
            " only one field may vary",
            place=pattern.place.at("each("),
            fix="pass a single value for one of them, or declare a pattern for each",
        )
    return repeated_fields[0] if repeated_fields else None


def _partition_key_fault(
    pattern: PatternDeclaration, bound_key: BoundKey, missing: Sequence[str], extra: Sequence[str]
) -> Fault:
    owner = pattern.schema.label_of(bound_key.index)
    shape = " and ".join(f"{part.attribute} = {part.text}" for part in bound_key.partition)
    if missing:
        names = ", ".join(missing)
        problem = f"{pattern.name} does not state {names}, which the partition key of {owner} requires ({shape})"
        fix = f"pass {names}, or add an index whose partition key requires only fields that the pattern states"
        sharded = [name for name in missing if _is_sharded(bound_key, name)]
        if sharded:
            fix = f"query all shards with pk({sharded[0]}=every_shard()), or {fix}"
        code = "KP308" if len(bound_key.partition) > 1 else "KP301"
        return pattern.fault(code, problem, fix, bound_key.place)
    names = ", ".join(extra)
    problem = f"{pattern.name} states {names}, which the partition key of {owner} does not contain ({shape})"
    fix = f"use an index whose partition key contains {names}, or .filter(...) to filter the items read"
    return pattern.fault("KP301", problem, fix, bound_key.place)


def _is_sharded(bound_key: BoundKey, name: str) -> bool:
    """Return True if the partition key contains the field only as a shard number."""
    templates = [part.template for part in bound_key.partition if part.template is not None]
    shards = [
        placeholder.shards
        for template in templates
        for placeholder in template.placeholders
        if placeholder.name == name
    ]
    return bool(shards) and all(shards)


# Limits of indexes.


def read_faults(pattern: PatternDeclaration, index: Index | None, draft: Plan) -> list[Fault]:
    """Return a fault for each reason why DynamoDB would reject the read, and for each field that the index cannot
    provide.
    """
    faults = []
    if draft.consistent and index is not None and index.kind == "GSI":
        faults.append(
            pattern.fault(
                "KP304",
                f"{pattern.name} requests a consistent read of {index.name}: global secondary indexes do not support"
                " it",
                "read the table or a local secondary index, or drop consistent=True and accept a short delay",
                index.place,
            )
        )
    keys = index.attributes if index is not None else pattern.schema.key
    for path in paths_of(draft.filter):
        attribute = _attribute_of(pattern, path)
        if attribute in keys and draft.operation == "Query":
            faults.append(
                pattern.fault(
                    "KP318",
                    f"{pattern.name} filters by {path.field}, a key attribute of the queried table or index: the"
                    " service rejects such filters",
                    f"put {path.field} into the key condition with pk(...) or .sk(...)",
                )
            )
    if index is not None:
        faults += _unprojected_faults(pattern, index, draft)
    return faults


def _attribute_of(pattern: PatternDeclaration, path: FieldPath) -> str:
    entity = next(entity for entity in pattern.entities if path.field in entity.fields)  # fields were already checked
    return entity.fields[path.field].attribute


def _unprojected_faults(pattern: PatternDeclaration, index: Index, draft: Plan) -> list[Fault]:
    """Return a fault for each field that a query filters by or returns, but that the index does not project."""
    faults = []
    filtered_fields = {path.field for path in paths_of(draft.filter)}
    compared_fields = {path.field for path in paths_of(draft.residue)}
    is_count = draft.select == "count" and draft.residue is None
    for entity in pattern.entities:
        unprojected = missing_in_index(index, entity) if index.kind == "GSI" and not draft.hydrated else ()
        read_fields = set(draft.fields_read(entity))
        not_in_view = sorted(compared_fields - read_fields)
        if not_in_view:
            faults.append(
                pattern.fault(
                    "KP306",
                    f"{pattern.name} compares {', '.join(not_in_view)} on returned items, but its view does not have"
                    " the field",
                    f"add {', '.join(not_in_view)} to the view",
                    index.place,
                )
            )
        missing_fields = [
            name
            for name, field in entity.fields.items()
            if (name in filtered_fields and not index.projects(field.attribute, pattern.schema.key))
            or (
                name in unprojected
                and (name in compared_fields or (name in read_fields and field.info.is_required() and not is_count))
            )
        ]
        if missing_fields:
            fix = projection_fix(index, [entity.fields[name].attribute for name in missing_fields])
            if not is_count and not filtered_fields.union(compared_fields).intersection(missing_fields):
                fix += "; or read a View of projected fields, or fetch whole items with hydrate=True"
            faults.append(
                pattern.fault(
                    "KP306",
                    f"{pattern.name} reads {entity.name} from index {index.name}, which does not project"
                    f" {', '.join(missing_fields)}",
                    fix,
                    index.place,
                )
            )
    return faults


def _partial_item_notes(pattern: PatternDeclaration, index: Index | None, draft: Plan) -> Iterator[str]:
    """Yield notes about fields that the index does not project, for example that a read returns their
    default values.
    """
    if index is None or index.kind != "GSI" or draft.hydrated:
        return
    verb = "are returned" if draft.select == "all" else "are counted"
    for entity in pattern.entities:
        optional = [name for name in missing_in_index(index, entity) if not entity.fields[name].info.is_required()]
        expiry = [name for name in optional if entity.fields[name].attribute == pattern.schema.ttl]
        read_fields = set(draft.fields_read(entity))
        missing = [name for name in optional if name in read_fields]
        if missing and draft.select == "all":
            yield (
                f"{index.name} does not project {', '.join(missing)} of {entity.name}: they are returned as their"
                " defaults"
            )
        if expiry and draft.expired == "drop":
            yield f"{index.name} does not project {expiry[0]}: expired items of {entity.name} {verb} until deleted"


def read_notes(draft: Plan, index: Index | None) -> tuple[str, ...]:
    """Return notes about the limitations of a read's results, such as eventual consistency."""
    notes = []
    if index is not None and index.kind == "GSI":
        notes.append(
            f"{index.name} lags behind the table, usually by less than a second: a recent write may be missing"
        )
    elif not draft.consistent:
        notes.append("an eventually consistent read: a write of the last second may be missing")
    if draft.hydrated:
        notes.append(
            "items are read after their index entries: an item that changed in between is returned with its new values"
        )
    if draft.expired == "drop" and any(entity.expiry_attribute is not None for entity in draft.entities):
        notes.append(
            f"items whose {draft.schema.ttl} has passed are left out; the service deletes them within a few days"
        )
    return tuple(notes)
