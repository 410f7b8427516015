"""Effects of updates on index keys, and the attributes that an index projects.

An index key consists of fields. The value of a field is known if the update sets it, or if the update's condition
compares it with a constant. Any other field can have any value. For each index key that an update affects, the plan
must know three things: the values of the fields in the key strings, the values of the fields that decide whether the
item is in the index, and whether the other fields have a value. A parameter whose annotation excludes None is known to
have a value. If one of these things is unknown, the index could become stale, which is a fault. If an item stays in the
index under the same key, the update does not write the key.

A query on a local index can also return attributes that the index does not project: DynamoDB fetches the whole item
from the table and charges for that read. A global index does not support this. A filter cannot use an attribute that
the index does not project: DynamoDB rejects such a query, and a scan treats the attribute as absent. Source: developer
guide, "Local Secondary Indexes" and "Using Global Secondary Indexes".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product
from math import prod

from keyplan.design.conditions.builders import ItemWrite
from keyplan.design.conditions.conditions import UNKNOWN, paths_of
from keyplan.design.conditions.evaluation import holds, listed_constants, stated_values
from keyplan.design.entities import OWNER, EntitySpec
from keyplan.design.errors import Fault
from keyplan.design.keys.entity_keys import BoundIndexKey, BoundKey, BoundKeyAttribute
from keyplan.design.keys.overlaps import can_equal
from keyplan.design.parameters import WRITE_TIME, Source
from keyplan.design.planning.plan import IndexEffect, KeyValue, PatternDeclaration, Plan
from keyplan.design.schema import Index

Effects = tuple[tuple[IndexEffect, ...], list[Fault]]
_Cases = Sequence[Mapping[str, Source]]
_MAX_CASES = 1_000

_MAKES_PRESENT = frozenset({"add", "append"})


def index_effects(
    pattern: PatternDeclaration,
    write: ItemWrite,
    *,
    creates: bool,
    indexes: Sequence[BoundIndexKey] | None = None,
    omitted: Collection[str] = (),
) -> Effects:
    """Return the effects of an update on the index keys of its entity.

    `creates` is True if the update may create the item. If `indexes` is given, only these index keys are considered.
    `omitted` are the fields of a patch that a call does not provide.
    """
    entity = pattern.entities[0]
    changed_fields = {action.path.field for action in write.actions}
    if entity.version is not None:
        changed_fields.add(entity.version)
    faults = [_key_change(pattern, entity, name) for name in entity.key.fields if name in changed_fields]
    known_values = stated_values(write.required, entity.fields)
    values = {name: known_values[name] for name in known_values.keys() - changed_fields} | _values_after(write)
    if entity.version is not None:
        values[entity.version] = UNKNOWN  # the update increments it
    choices = listed_constants(write.required)
    before = _cases(known_values | write.assumed | write.key, choices)
    after = _cases(values, {name: choices[name] for name in choices.keys() - changed_fields})
    effects = []
    for bound_key in entity.indexes if indexes is None else indexes:
        if creates and _is_fixed_at_creation(bound_key, entity):
            effects.append(IndexEffect(bound_key, _sources_at_creation(bound_key, write), only_if_missing=True))
            continue
        decisive_fields = changed_fields & _deciding_fields(bound_key, entity)
        if not decisive_fields or (
            not creates and _keeps_key(bound_key, entity, decisive_fields, before=before, after=after)
        ):
            if creates and (missing_names := _default_entry_fields(bound_key, entity, values, write)):
                faults.append(_stale_index(pattern, entity, bound_key, missing_names, "creates", omitted=omitted))
            continue
        missing_names = _missing_fields(bound_key, entity, values, _present_fields(entity, write))
        if missing_names:
            verb_phrase = f"changes {', '.join(sorted(decisive_fields))} of"
            faults.append(_stale_index(pattern, entity, bound_key, missing_names, verb_phrase, omitted=omitted))
        else:
            effects.append(IndexEffect(bound_key, {name: values.get(name, UNKNOWN) for name in bound_key.depends_on}))
    return tuple(effects), faults


_MAX_OPTIONAL = 8


def patch_faults(pattern: PatternDeclaration, write: ItemWrite, *, creates: bool) -> list[Fault]:
    """Return a fault for each index key that would become stale if a call provides only some fields of a patch.

    If more than eight fields affect a key, this function checks only calls that omit at most one field or provide a
    single field. Other calls are checked when they are made.
    """
    optional = {action.path.field for action in write.actions if action.optional}
    faults = []
    for bound_key in pattern.entities[0].indexes if optional else ():
        optional_fields = [name for name in bound_key.depends_on if name in optional]
        sizes = (
            range(len(optional_fields) + 1)
            if len(optional_fields) <= _MAX_OPTIONAL
            else (0, 1, len(optional_fields) - 1)
        )
        for omitted in chain.from_iterable(combinations(optional_fields, size) for size in sizes):
            actions = tuple(
                action for action in write.actions if not (action.optional and action.path.field in omitted)
            )
            if not creates and all(action.source is WRITE_TIME for action in actions):
                continue  # the call changes nothing
            partial_change = replace(write, actions=actions)
            _, index_faults = index_effects(
                pattern, partial_change, creates=creates, indexes=(bound_key,), omitted=omitted
            )
            stale = [fault for fault in index_faults if fault.code == "KP401"]
            if stale:
                faults += stale if omitted else []  # otherwise the caller already reported it
                break
    return faults


def _key_fields(bound_key: BoundKey, entity: EntitySpec) -> set[str]:
    """Return the fields in the attributes of an index key that exist only for the index."""
    return {name for part in entity.index_only_attributes(bound_key) for name in part.fields}


def _deciding_fields(bound_key: BoundKey, entity: EntitySpec) -> set[str]:
    """Return the fields that determine whether an item is in an index, and under which key.

    Return an empty set if none of the key attributes exists only for the index.
    """
    if not entity.index_only_attributes(bound_key):
        return set()
    conditions = {path.field for path in paths_of(bound_key.only_if)}
    return (
        _key_fields(bound_key, entity)
        | conditions
        | {name for name in bound_key.fields if entity.fields[name].optional}
    )


def _is_fixed_at_creation(bound_key: BoundKey, entity: EntitySpec) -> bool:
    """Return True if an index key contains only primary key fields and fields declared with Created(). Updates never
    change these fields.
    """
    created_fields, index_attributes = (
        set(entity.write_times("created")),
        {part.attribute for part in entity.index_only_attributes(bound_key)},
    )
    other_attributes = {
        part.attribute for other_key in entity.indexes if other_key is not bound_key for part in other_key.attributes
    }
    return (
        bound_key.only_if is None
        and bool(index_attributes)
        and not index_attributes & other_attributes
        and not created_fields.isdisjoint(bound_key.fields)
        and set(bound_key.fields) <= created_fields | set(entity.key.fields)
    )


def _sources_at_creation(bound_key: BoundKey, write: ItemWrite) -> dict[str, Source]:
    return {name: write.key.get(name, WRITE_TIME) for name in bound_key.fields}


def _keeps_key(
    bound_key: BoundKey, entity: EntitySpec, decisive_fields: set[str], *, before: _Cases, after: _Cases
) -> bool:
    """Return True if an update does not change the key of an item in a sparse index, and the item stays in the index.

    `decisive_fields` are the changed fields that affect the index. `before` and `after` contain the possible field
    values before and after the update.
    """
    if bound_key.only_if is None or decisive_fields & (_key_fields(bound_key, entity) | set(bound_key.fields)):
        return False
    return all(holds(bound_key.only_if, values) is True for values in (*before, *after))


def _cases(values: Mapping[str, Source], choices: Mapping[str, tuple[Source, ...]]) -> _Cases:
    """Return all possible combinations of field values.

    `values` maps fields to their known values, and `choices` maps fields to their possible values. Each combination
    contains the known values, and one choice for every other field. If there are too many combinations, return only the
    known values.
    """
    open_choices = {name: choices[name] for name in choices.keys() - values.keys()}
    if prod(map(len, open_choices.values())) > _MAX_CASES:
        return [values]
    return [
        {**values, **dict(zip(open_choices, combination, strict=True))}
        for combination in product(*open_choices.values())
    ]


def _values_after(write: ItemWrite) -> dict[str, Source]:
    """Map each field whose value after an update is known to that value. A changed field whose new value is not known
    maps to UNKNOWN.
    """
    values: dict[str, Source] = {**write.assumed, **write.key}
    for action in write.actions:
        if len(action.path.parts) > 1 or action.name not in {"set", "remove"}:
            values[action.path.field] = UNKNOWN
        else:
            values[action.path.field] = action.source if action.name == "set" else None
    return values


def _present_fields(entity: EntitySpec, write: ItemWrite) -> set[str]:
    """Return the fields that are certain to have a value after an update."""
    return {
        name for name, field in entity.fields.items() if not (field.optional or field.is_set)
    } | _fields_with_unknown_value(write)


def _fields_with_unknown_value(write: ItemWrite) -> set[str]:
    """Return the fields that an update sets to an unknown value, such as the result of an addition."""
    return {
        action.path.field
        for action in write.actions
        if (action.name in _MAKES_PRESENT and len(action.path.parts) == 1 and action.source is not None)
        or action.source is WRITE_TIME
    }


def _missing_fields(
    bound_key: BoundKey, entity: EntitySpec, values: Mapping[str, Source], present: set[str]
) -> list[str]:
    """Return the fields that a plan must know to compute an index key, but whose values are unknown.

    `present` are the fields that are certain to have a value.
    """
    is_in_index = holds(bound_key.only_if, values)
    if is_in_index is False:
        return []  # not in the index, so its key does not matter
    if any(values.get(name, UNKNOWN) is None for name in bound_key.fields):
        return []
    key_fields = _key_fields(bound_key, entity)
    needed_fields = [name for name in bound_key.fields if name in key_fields or name not in present]
    if is_in_index is None:
        needed_fields += [path.field for path in paths_of(bound_key.only_if)]
    return [name for name in dict.fromkeys(needed_fields) if values.get(name, UNKNOWN) is UNKNOWN]


def _default_entry_fields(
    bound_key: BoundKey, entity: EntitySpec, values: Mapping[str, Source], write: ItemWrite
) -> list[str]:
    """Return the fields that are needed to compute the index key of an item that an upsert creates, but whose values
    are unknown.

    Use this function only for an index key that the update itself does not set. The list is empty if the new item is
    not in the index, given the known values and the defaults of the other fields. `values` are the field values after
    the update.
    """
    created_values = {name: values.get(name, _default(entity, name)) for name in bound_key.depends_on}
    if holds(bound_key.only_if, created_values) is False or any(
        created_values[name] is None for name in bound_key.fields
    ):
        return []
    set_fields = _fields_with_unknown_value(write) - _deciding_fields(bound_key, entity)
    return [name for name in bound_key.depends_on if values.get(name, UNKNOWN) is UNKNOWN and name not in set_fields]


def _default(entity: EntitySpec, name: str) -> Source:
    """Return the value that is read for an absent field: its default, or None if the field is required.

    Return UNKNOWN if a function creates the default.
    """
    info = entity.fields[name].info
    if info.is_required():
        return None
    return info.get_default(call_default_factory=False) if info.default_factory is None else UNKNOWN


# Faults.


def _key_change(pattern: PatternDeclaration, entity: EntitySpec, name: str) -> Fault:
    return pattern.fault(
        "KP209",
        f"{pattern.name} changes {name}, part of the primary key of {entity.name}: an update cannot change an item's"
        " key",
        "delete the item and create the new one in a transaction",
        entity.key.place,
    )


def _stale_index(
    pattern: PatternDeclaration,
    entity: EntitySpec,
    bound_key: BoundIndexKey,
    missing_names: Sequence[str],
    verb_phrase: str,
    *,
    omitted: Collection[str] = (),
) -> Fault:
    names = ", ".join(missing_names)
    unset_fields = [name for name in missing_names if name in omitted]
    if unset_fields:
        return pattern.fault(
            "KP401",
            f"calls of {pattern.name} without {', '.join(unset_fields)} {_plural(verb_phrase)} {entity.name}, and its"
            f" key of index {bound_key.index.name} ({bound_key.text}) also needs {names}: the index would go stale",
            f"require {', '.join(unset_fields)}: remove Unset from the annotation and use .set(...), or pass the stored"
            f" value with .assuming({', '.join(f'{name}=...' for name in missing_names)})",
            bound_key.place,
        )
    pronoun = "it" if len(missing_names) == 1 else "them"
    fix = f"pass {names} with .assuming({', '.join(f'{name}={name}' for name in missing_names)})"
    if verb_phrase == "creates":
        fix = f"set {pronoun} too"
    elif all(entity.fields[name].write_time is None for name in missing_names):
        fix += f", or set {pronoun} too"
    return pattern.fault(
        "KP401",
        f"{pattern.name} {verb_phrase} {entity.name}, and its key of index {bound_key.index.name} ({bound_key.text})"
        f" also needs {names}: the index would go stale",
        f"{fix}, or replace the whole item",
        bound_key.place,
    )


def _plural(verb_phrase: str) -> str:
    """Return a phrase with its first word, a verb, in the plural form. For example, "changes due of" becomes "change
    due of".
    """
    verb, _, rest = verb_phrase.partition(" ")
    return f"{verb.removesuffix('s')} {rest}".rstrip()


def missing_in_index(index: Index, spec: EntitySpec) -> list[str]:
    """Return the fields of an entity that are neither projected into an index nor contained in the index key or primary
    key.

    Return an empty list if the index never contains items of the entity.
    """
    bound_key = spec.key_in(index)
    if bound_key is None:
        return []
    templates = [part.template for part in (*spec.key.attributes, *bound_key.attributes)]
    names_in_keys = {
        name for template in templates if template is not None and template.reversible for name in template.fields
    }
    return [
        name
        for name, field in spec.fields.items()
        if not index.projects(field.attribute, spec.schema.key) and name not in names_in_keys
    ]


def missing_in_plan(plan: Plan, entity: EntitySpec) -> list[str]:
    """Return the fields that a query or scan on an index must return for an entity, but that the index does not
    contain.

    The list is empty for a hydrated read, which reads all fields from the table.
    """
    if plan.index is None or plan.hydrated:
        return []
    read_fields = set(plan.fields_read(entity))
    return [name for name in missing_in_index(plan.index, entity) if name in read_fields]


def projection_fix(index: Index, attributes: Sequence[str]) -> str:
    """Return the text of a fix that adds attributes to the projection of an index."""
    if isinstance(index.project, tuple):
        return f"add {', '.join(attributes)} to the index's project=[...], or project all"
    quoted_names = ", ".join(f'"{name}"' for name in attributes)
    return f'write project=[{quoted_names}] instead of project="keys", or project all'


def needs_whole_items(plan: Plan) -> bool:
    """Return True if a query on a local index needs attributes that the index does not project."""
    if plan.index is None or plan.index.kind != "LSI" or (plan.select == "count" and plan.residue is None):
        return False
    return any(missing_in_plan(plan, spec) for spec in plan.entities)


def fetched_attributes(plan: Plan) -> tuple[str, ...]:
    """Return the unprojected attributes that DynamoDB fetches from the table for a query on a local index."""
    index = plan.index
    if index is None or index.kind != "LSI":
        return ()
    attributes: list[str] = []
    if plan.select == "all":
        attributes += requested_attributes(plan) or ()
    if needs_whole_items(plan):
        attributes += [spec.fields[name].attribute for spec in plan.entities for name in missing_in_plan(plan, spec)]
    if plan.select == "count":  # expired items and other entities are not counted
        attributes += [plan.schema.ttl] if drops_expired(plan) and plan.schema.ttl is not None else []
        attributes += [plan.schema.discriminator] if plan.schema.discriminator is not None else []
    return tuple(dict.fromkeys(name for name in attributes if not index.projects(name, plan.schema.key)))


def requested_attributes(plan: Plan) -> tuple[str, ...] | None:
    """Return the attributes that a read of a view, or the first read of a hydrated query or scan, requests.

    Return None if the read requests every attribute, because it returns whole entities or the items have no other
    attributes. Requesting fewer attributes reduces the size of the response, but not the consumed capacity.
    """
    if plan.select == "count" or not (plan.hydrated or plan.view is not None):
        return None
    names = dict.fromkeys((*plan.schema.key, *(plan.index.attributes if plan.index is not None else ())))
    names.update(dict.fromkeys(_identifying_attributes(plan, fetches=not plan.hydrated)))
    if not plan.hydrated:
        names.update(dict.fromkeys(_view_attributes(plan)))
    stored_attributes = {field.attribute for spec in plan.entities for field in spec.fields.values()}
    omits_attributes = any(index_holds(plan, name) for name in stored_attributes - names.keys())
    return tuple(names) if omits_attributes or not all(index_holds(plan, name) for name in names) else None


def hydration_attributes(plan: Plan) -> tuple[str, ...] | None:
    """Return the attributes that a hydrated query or scan requests from the table, or None if it requests
    whole items.
    """
    return requested_attributes(replace(plan, index=None, hydrated=False))


def _identifying_attributes(plan: Plan, *, fetches: bool) -> Iterator[str]:
    """Yield the non-key attributes that identify the entity of an item or show whether the item has expired.

    With `fetches`, include attributes that DynamoDB fetches from the table for a query on a local index.
    """
    is_local = fetches and plan.index is not None and plan.index.kind == "LSI"
    expiry = plan.schema.ttl if drops_expired(plan) else None
    for name in (plan.schema.discriminator, expiry):
        if name is not None and (is_local or index_holds(plan, name)):
            yield name
    if plan.index is None and any(spec.sentinels for spec in plan.siblings):
        yield OWNER


def _view_attributes(plan: Plan) -> Iterator[str]:
    """Yield the attributes that are needed to build the objects of a plan's view."""
    spec, read_fields = plan.entity, set(plan.fields_read(plan.entity))
    fetched_fields = missing_in_index(plan.index, spec) if plan.index is not None and plan.index.kind == "LSI" else []
    for name, field in spec.fields.items():
        if name in read_fields - spec.key_only_fields and (
            name in fetched_fields or index_holds(plan, field.attribute)
        ):
            yield field.attribute
    for bound_key in spec.indexes:
        for part in bound_key.attributes:
            restores_field = (
                part.template is not None
                and part.template.reversible
                and read_fields.intersection(part.template.fields)
            )
            if restores_field and index_holds(plan, part.attribute):
                yield part.attribute  # another program may store a field only in this key


def drops_expired(plan: Plan) -> bool:
    """Return True if a read omits expired items from its results."""
    return plan.expired == "drop" and any(
        field.attribute == plan.schema.ttl for spec in plan.entities for field in spec.fields.values()
    )


def index_holds(plan: Plan, attribute: str | None) -> bool:
    """Return True if the index that a plan reads contains an attribute. For a plan that reads the table, always return
    True.
    """
    return attribute is not None and (plan.index is None or plan.index.projects(attribute, plan.schema.key))


# The entity of an index entry.


def index_holds_discriminator(plan: Plan) -> bool:
    """Return True if the items that a plan's requests return can include the discriminator.

    The table or index that the plan reads must contain it. For a local index, DynamoDB fetches it from the table.
    """
    name, index = plan.schema.discriminator, plan.index
    return index_holds(plan, name) or (name is not None and index is not None and index.kind == "LSI")


def entities_in_range(plan: Plan) -> Sequence[EntitySpec]:
    """Return all entities of the table whose items a query or scan can read, including the plan's own entities."""
    specs = plan.siblings or plan.entities
    if plan.index is None:
        return specs
    return [spec for spec in specs if spec in plan.entities or _may_be_in(plan, plan.index, spec)]


def _may_be_in(plan: Plan, index: Index, spec: EntitySpec) -> bool:
    bound_key = spec.key_in(index)
    if bound_key is None:
        return False
    return plan.key is None or all(
        _can_be_equal(*pair) for pair in zip(plan.key.partition, bound_key.partition, strict=True)
    )


def _can_be_equal(first: KeyValue | BoundKeyAttribute, second: BoundKeyAttribute) -> bool:
    if first.type_code != second.type_code:
        return False
    return first.template is None or second.template is None or can_equal(first.template, second.template) is not None


def range_faults(plan: Plan) -> list[Fault]:
    """Return a list with one fault if the plan cannot distinguish between the items of two entities in an index.

    Otherwise, return an empty list. Call this function only after all entities of the table have been declared, because
    the result depends on all of them.
    """
    index, name = plan.index, plan.schema.discriminator
    if index is None or name is None or plan.hydrated or index_holds_discriminator(plan):
        return []
    pairs = ((spec, other) for spec in plan.entities for other in entities_in_range(plan) if other is not spec)
    for spec, other in pairs:
        if all(_can_be_equal(*pair) for pair in zip(spec.key.attributes, other.key.attributes, strict=True)):
            problem = (
                f"{plan.pattern} reads {spec.name} from index {index.name}, which does not project {name}: entries of"
                f" {spec.name} and {other.name} cannot be distinguished"
            )
            fix = f"{projection_fix(index, [name])}, or give the two entities different keys"
            return [Fault("KP306", problem, fix, index.place, other.place)]
    return []


def all_faults(plan: Plan) -> tuple[Fault, ...]:
    """Return all faults of a plan, including those that depend on all entities of the table."""
    return (*plan.faults, *range_faults(plan))
